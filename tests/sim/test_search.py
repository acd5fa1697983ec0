"""The search by BM25, compared with the formula written out."""

import math
import re
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.core.notes import ranked

words = st.sampled_from(["a", "b", "c", "d", "e", "fg", "ä", "7"])
texts = st.lists(st.lists(words, max_size=9).map(" ".join), max_size=9)


def scored(query: str, told: list[str]) -> list[float]:
    """Lucene's BM25 with k1 1.2 and b 0.75."""
    counts = [Counter(re.findall(r"\w+", text.lower())) for text in told]
    lengths = [count.total() for count in counts]
    mean = sum(lengths) / len(told) if told else 0.0
    scores = [0.0] * len(told)
    for word in set(re.findall(r"\w+", query.lower())):
        holding = sum(word in count for count in counts)
        rarity = math.log(1 + (len(told) - holding + 0.5) / (holding + 0.5))
        for index, count in enumerate(counts):
            if often := count[word]:
                scores[index] += (
                    rarity * often / (often + 1.2 * (0.25 + 0.75 * lengths[index] / mean))
                )
    return scores


@given(texts, texts.map(" ".join))
def test_the_best_come_first_and_what_shares_no_word_does_not_come(told, query):
    scores = [round(score, 9) for score in scored(query, told)]
    order = sorted(range(len(told)), key=lambda place: (-scores[place], place))
    assert ranked(query, told) == [place for place in order if scores[place] > 0]


def test_of_equals_the_earlier_comes_first():
    assert ranked("port", ["the port", "no", "A PORT", "the port"]) == [0, 2, 3]


def test_where_there_is_nothing_to_find_nothing_is_found():
    assert ranked("port", []) == ranked("port", ["", "..."]) == ranked("", ["port"]) == []
