"""Which notes have to do with what is asked."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

_WORD = re.compile(r"\w+")
# The usual constants of BM25: how soon a repeated word stops to count, and how much length does.
_SATURATION, _LENGTH = 1.2, 0.75


@lru_cache(maxsize=4096)
def _words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.lower()))


def ranked(query: str, texts: Sequence[str]) -> list[int]:
    """Places of the texts that share a word with a query, the best first, by BM25.

    Scores are rounded to 1e-9, and of equals the earlier is the better.

    Examples
    --------
    >>> ranked("where is the parser?", ["tests pass", "the parser is slow", "the end"])
    [1, 2]
    """
    counts = [_words(text) for text in texts]
    lengths = [count.total() for count in counts]
    mean = sum(lengths) / len(texts) if texts else 0.0
    scores = [0.0] * len(texts)
    for word in sorted(_words(query)):
        holding = [place for place, count in enumerate(counts) if word in count]
        rarity = math.log(1 + (len(texts) - len(holding) + 0.5) / (len(holding) + 0.5))
        for place in holding:
            often = counts[place][word]
            damped = _SATURATION * (1 - _LENGTH + _LENGTH * lengths[place] / mean)
            scores[place] += rarity * often * (_SATURATION + 1) / (often + damped)
    found = [place for place, score in enumerate(scores) if score > 0]
    return sorted(found, key=lambda place: (-round(scores[place], 9), place))
