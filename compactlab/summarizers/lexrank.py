"""LexRank: quote the sentences and lines that most others resemble.

Extractive and without a model: nothing is paraphrased, so every line of the summary has an exact
source. What it costs a real agent it cannot say; what is left of a conversation when the most
central lines are copied, it can.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from compactlab.sim.message import Part, Source
from compactlab.sim.summarize import SummaryRequest
from compactlab.summarizers.scripted_writer import ScriptedWriter
from compactlab.summarizers.spans import LONGEST, origin_of, place_of, spans_of

_FULL = 120  # full marks for each of length (in characters), identifiers and place
_DAMPING = 0.85  # Erkan and Radev 2004, section 3.2: between 0.8 and 0.9
_SAME = 0.7  # cosine above which a unit only says again what is chosen already
_ROUNDS = 100  # 0.85 ** 100 = 9e-8, far below what decides between two units

_Vector = NDArray[np.float64]

# A path or a dotted name is one word: else all lines about one file would be alike.
_WORD = re.compile(r"\w+(?:[./:-]+\w+)*")


class _Unit(NamedTuple):
    """A line of the summary to be: its text, and the sources that it stands for.

    It is ``exact`` if its one source is the very span that it was copied from.
    """

    text: str
    sources: tuple[Source, ...]
    exact: bool


@dataclass(frozen=True)
class Lexrank(ScriptedWriter):
    """Quote the most central sentences and lines, in their original order, within the budget.

    Units are the sentences and lines of what was said and of what tools returned, and each call
    of a tool as ``name(arguments…)``; thinking is left out, as providers drop it too. The same
    unit twice counts once, where it came first. The ranking is continuous LexRank (Erkan and
    Radev, "LexRank: Graph-based Lexical Centrality as Salience in Text Summarization", 2004):
    the stationary distribution of a walk between units along the cosines of their TF-IDF vectors.
    As in that paper, a unit much like a better one that was taken is passed over.

    Lines of the previous summary are units like all others and keep their sources. A line that
    was copied here has one source, the span that it was copied from: the n-th source of a part
    belongs to its n-th line. Lines of unknown origin (a summary of another make, a truncated
    result) stand in parts of their own, with all the sources of the part that they came from.
    What has no source (a heading, a label) is left out: it says nothing of the conversation.

    Parameters
    ----------
    units
        At most that many units enter the ranking: of more, those are taken that are long, have
        identifiers in them, and stand near the beginning or the end.
    tokens
        Length that is aimed at; a request for less gets less. A model does not fill its budget:
        the eleven summaries in the recorded sessions have 1,300 to 5,540 tokens, median 3,900.

    Examples
    --------
    >>> from compactlab.sim.message import Message, verbatim
    >>> said = Message("m1", "user", (verbatim("m1", "text", "Use tabs. Never touch main.py."),))
    >>> (part,) = Lexrank().summarize(SummaryRequest((said,), max_tokens=30), len)
    >>> part.text, part.sources
    ('Use tabs.', (Source(id='m1', part=0, start=0, end=9),))
    """

    units: int = 1000
    tokens: int = 3900

    def __post_init__(self) -> None:
        if self.units < 1 or self.tokens < 1:
            raise ValueError("units and tokens must be at least 1")

    def summarize(self, request: SummaryRequest, count: Callable[[str], int]) -> tuple[Part, ...]:
        """Summarise; see :meth:`compactlab.sim.summarize.Summarizer.summarize`."""
        units = _prefilter(_units(request), self.units)
        budget = min(request.max_tokens, self.tokens)
        chosen = _choose(units, budget, count)
        parts = _parts(units, chosen)
        # Tokens of lines need not add up to tokens of the whole: the whole decides.
        while sum(count(part.text) for part in parts) > budget:
            chosen.pop()
            parts = _parts(units, chosen)
        return parts


def _units(request: SummaryRequest) -> Iterator[tuple[int, _Unit]]:
    """Yield all units in order, each with its nearness to the beginning or the end."""
    for part in request.previous:
        if _tells(part):
            yield from ((_FULL, unit) for unit in _copied(part) or _split(part, place_of(part)))
    last = max(1, len(request.messages) - 1)
    for number, message in enumerate(request.messages):
        edge = _FULL * abs(2 * number - last) // last
        for index, part in enumerate(message.parts):
            if _tells(part):
                units = _copied(part) or _split(part, origin_of(message, index))
                yield from ((edge, unit) for unit in units)


def _tells(part: Part) -> bool:
    """Whether a part says something of the log: headings and labels stand for nothing in it."""
    return bool(part.sources) and part.type not in ("thinking", "image")


def _copied(part: Part) -> list[_Unit]:
    """Take the units out of a part that a Lexrank wrote; empty if none did."""
    lines = part.text.split("\n")
    if part.kind != "summary" or len(lines) != len(part.sources):
        return []
    pairs = list(zip(lines, part.sources, strict=True))
    if any(s.part < 0 or not 0 < s.end - s.start <= len(line) for line, s in pairs):
        return []
    return [_Unit(line, (source,), exact=True) for line, source in pairs]


def _split(part: Part, origin: Source | None) -> Iterator[_Unit]:
    spans = [(0, min(len(part.text), LONGEST))] if part.type == "tool_call" else spans_of(part.text)
    for start, end in spans:
        text = part.text[start:end]
        if part.type == "tool_call":
            cut = "…" if end < len(part.text) else ""
            text = f"{part.name}({' '.join(text.split())}{cut})"
        if origin is None or start == end:
            yield _Unit(text, part.sources, exact=False)
        else:
            at = origin.start
            source = Source(origin.id, origin.part, at + start, at + end)
            yield _Unit(text, (source,), exact=True)


def _prefilter(units: Iterable[tuple[int, _Unit]], most: int) -> list[_Unit]:
    """Keep the most promising units, in their order; linear, and holds no more than it keeps."""
    kept = heapq.nsmallest(most, _scored(units))  # positions differ, so units are never compared
    return [unit for _, _, unit in sorted(kept, key=itemgetter(1))]


def _scored(units: Iterable[tuple[int, _Unit]]) -> Iterator[tuple[int, int, _Unit]]:
    """Score each text where it comes first: the lower, the more promising."""
    seen: set[str] = set()
    for position, (edge, unit) in enumerate(units):
        text = unit.text
        words = " ".join(text.split())
        key = text if words == text else words  # one string kept, not two
        if key in seen or not _WORD.search(key):
            continue
        seen.add(key)
        joints = text.count("_") + text.count("/") + text.count(".")
        yield -(edge + min(len(text), _FULL) + _FULL * min(joints, 4) // 4), position, unit


class _Cosines:
    """The cosines between texts, as a matrix that is never formed.

    With ``W`` the normed TF-IDF rows the matrix is ``W W'``; to multiply by it one word after the
    other costs as much as there are words. And ``bincount`` adds in the order of the words, where
    BLAS would add in an order of its own.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        bags = [Counter(_WORD.findall(text.lower())) for text in texts]
        spread = Counter(word for bag in bags for word in bag)
        number = {word: index for index, word in enumerate(spread)}
        idf = {word: 1 + math.log(len(texts) / units) for word, units in spread.items()}
        self.shape = len(texts), len(number)
        self.rows = np.array([row for row, bag in enumerate(bags) for _ in bag], np.intp)
        self.columns = np.array([number[word] for bag in bags for word in bag], np.intp)
        weights = np.array([n * idf[word] for bag in bags for word, n in bag.items()], np.float64)
        norms = np.sqrt(np.bincount(self.rows, weights**2, self.shape[0]))
        self.weights = weights / norms[self.rows]

    def times(self, x: _Vector) -> _Vector:
        """Multiply the matrix by a vector."""
        texts, words = self.shape
        inner = np.bincount(self.columns, self.weights * x[self.rows], words)
        outer = np.bincount(self.rows, self.weights * inner[self.columns], texts)
        return np.asarray(outer, np.float64)

    def of(self, text: int) -> _Vector:
        """Cosines of one text with all."""
        one = np.zeros(self.shape[0])
        one[text] = 1
        return self.times(one)


def _ranks(cosines: _Cosines) -> _Vector:
    """Rank texts by LexRank: the stationary distribution of the walk, with mean 1."""
    ranks = np.ones(cosines.shape[0])
    degrees = cosines.times(ranks)
    for _ in range(_ROUNDS):
        ranks = 1 - _DAMPING + _DAMPING * cosines.times(ranks / degrees)
    return np.round(ranks, 9)


def _choose(units: Sequence[_Unit], budget: int, count: Callable[[str], int]) -> list[int]:
    """Choose units, best first; pass over what does not fit and what says the same again."""
    chosen: list[int] = []
    cosines = _Cosines([unit.text for unit in units])
    said = np.zeros(len(units), np.bool_)
    for index in np.argsort(-_ranks(cosines), kind="stable").tolist():
        if budget <= 0:
            break
        if said[index] or (tokens := count(units[index].text + "\n")) > budget:
            continue
        chosen.append(index)
        budget -= tokens
        said |= np.round(cosines.of(index), 9) > _SAME
    return chosen


def _parts(units: Sequence[_Unit], chosen: Sequence[int]) -> tuple[Part, ...]:
    """Write the chosen units in their order: a part for all neighbours of the same provenance."""
    ordered = [units[index] for index in sorted(chosen)]
    runs = (list(run) for _, run in groupby(ordered, lambda u: () if u.exact else u.sources))
    return tuple(
        Part(
            "text",
            "\n".join(unit.text for unit in run),
            "summary",
            tuple(unit.sources[0] for unit in run) if run[0].exact else run[0].sources,
        )
        for run in runs
    )
