"""Shared code of summarisers that quote: units, budget, and writing with exact sources."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from compactlab.sim.core.limits import at_least
from compactlab.sim.core.message import Message, Part
from compactlab.sim.core.notes import Remembered
from compactlab.sim.replay.summarize import Count, Summarizer, SummaryRequest, TurnRequest, Written
from compactlab.strategies.summarizers.units import (
    WORD,
    Unit,
    distinct,
    promising,
    quoted,
    units_of,
)
from compactlab.strategies.summarizers.writer import fitting, is_spoken, noted, topic_of

Vector = NDArray[np.float64]


# Cached, because strategies and rounds summarise similar lines.
@lru_cache(maxsize=2**14)
def _bag(text: str) -> Counter[str]:
    """Count the words in a text."""
    return Counter(WORD.findall(text.lower()))


class Cosines:
    """The cosines between texts, as a matrix that is never built.

    With ``W`` the normalised TF-IDF rows, the matrix is ``W W'``. Multiplication by one word after
    the other takes time linear in the number of words. ``bincount`` adds in the order of the words,
    whereas the order of BLAS may vary.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        bags = [_bag(text) for text in texts]
        words = [*chain.from_iterable(bags)]
        spread = Counter(words)
        number = {word: index for index, word in enumerate(spread)}
        idf = np.array([1 + math.log(len(texts) / units) for units in spread.values()], np.float64)
        times = np.array([n for bag in bags for n in bag.values()], np.float64)
        self.shape = len(texts), len(number)
        self.rows = np.repeat(np.arange(len(bags)), np.array([*map(len, bags)], np.intp))
        self.columns = np.array([number[word] for word in words], np.intp)
        #: TF-IDF of each word of each text
        self.raw = times * idf[self.columns]
        norms = np.sqrt(np.bincount(self.rows, self.raw**2, self.shape[0]))
        self.weights = self.raw / norms[self.rows]

    def times(self, x: Vector) -> Vector:
        """Multiply the matrix by a vector."""
        inner = np.bincount(self.columns, self.weights * x.take(self.rows), self.shape[1])
        return self._outer(np.asarray(inner, np.float64))

    def _outer(self, inner: Vector) -> Vector:
        """Multiply the rows by a vector of words."""
        outer = np.bincount(self.rows, self.weights * inner.take(self.columns), self.shape[0])
        return np.asarray(outer, np.float64)

    def of(self, text: int) -> Vector:
        """Cosines of one text with all."""
        first, last = np.searchsorted(self.rows, (text, text + 1))
        own = np.zeros(self.shape[1])
        own[self.columns[first:last]] = self.weights[first:last]
        # Few words are shared; only these are multiplied.
        shared = np.flatnonzero(own.take(self.columns))
        inner = own.take(self.columns[shared])
        outer = np.bincount(self.rows[shared], self.weights[shared] * inner, self.shape[0])
        return np.asarray(outer, np.float64)

    def centroid(self, words: int) -> Vector:
        """Return the mean TF-IDF vector of all texts, with all but the heaviest words set to 0."""
        texts, known = self.shape
        mean = np.round(np.bincount(self.columns, self.raw, known) / max(1, texts), 9)
        mean[np.argsort(-mean, kind="stable")[words:]] = 0
        return np.asarray(mean, np.float64)

    def sums(self, weights: Vector) -> Vector:
        """For each text, add the weights of its distinct words."""
        return np.asarray(np.bincount(self.rows, weights[self.columns], self.shape[0]), np.float64)


# A model does not use its whole budget: the eleven summaries in recorded sessions of Claude Code
# and pi (2025-11 to 2026-03) have 1,300 to 5,540 tokens, median 3,900.
SHORTEST, USUAL, LONGEST = 1300, 3900, 5540

_SAME = 0.7  # cosine above which a unit repeats a chosen one


class Quoting(Summarizer):
    """Quotes lines in summaries; its notes quote the user and the agent."""

    tokens: int  # target length of a summary

    def offered(self, units: Iterable[Unit]) -> list[Unit]:
        """Return the units to choose from, in their order."""
        return list(distinct(units))

    @abstractmethod
    def choose(self, units: Sequence[Unit], budget: int, count: Count) -> Iterable[int]:
        """Choose units by their numbers, best first."""

    def summarize(self, request: SummaryRequest, count: Count) -> tuple[Part, ...]:
        units = self.offered(units_of(request))
        budget = min(request.max_tokens, self.tokens)
        return written(units, self.choose(units, budget, count), budget, count)

    def write(self, messages: Sequence[Message], request: TurnRequest, count: Count) -> Written:
        """Quote text that no visible note contains. Tool results are not read."""
        known = noted(messages)
        seen = units_of(SummaryRequest(tuple(messages), request.max_tokens))
        units = self.offered(u for u in seen if is_spoken(u) and not known.issuperset(u.sources))
        room = request.max_tokens
        chosen = ((index, units[index]) for index in self.choose(units, room, count))
        sentences = fitting(chosen, room, count).values()
        notes = (Remembered(topic_of(unit), unit.text, unit.sources) for unit in sentences)
        return Written(request.silent, tuple(notes))


@dataclass(frozen=True)
class Sized(Summarizer):
    """A summariser that aims at a length.

    Parameters
    ----------
    tokens
        Target length; a request for less gets less.
    """

    tokens: Annotated[int, at_least(1)] = USUAL


@dataclass(frozen=True)
class Extractive(Quoting):
    """Quotes sentences and lines in their original order, within the budget.

    Units are the sentences and lines of messages and tool results, and each tool call as
    ``name(arguments…)``. Thinking is left out, because providers drop it, too. Equal units count
    once, at their first position.

    Lines of the previous summary are units, too, and keep their sources. The source of a copied
    line is its original span: the n-th source of a part belongs to its n-th line. Lines of unknown
    origin (another kind of summary, a truncated result) are separate parts, with all sources of
    their original part. Text without sources (headings, labels) is left out, because it has no
    content of the conversation.

    Parameters
    ----------
    units
        Maximum number of weighed units; of more, the long ones, those with identifiers, and those
        near the beginning or the end.
    tokens
        Target length; a request for less gets less.
    """

    units: Annotated[int, at_least(1)] = 1000
    tokens: Annotated[int, at_least(1)] = USUAL

    def offered(self, units: Iterable[Unit]) -> list[Unit]:
        """Return the most promising units."""
        return promising(distinct(units), self.units)


def written(
    units: Sequence[Unit], chosen: Iterable[int], budget: int, count: Count
) -> tuple[Part, ...]:
    """Write the chosen units in their order; if they do not fit, drop the last chosen ones."""
    fitting = list(chosen)
    parts = quoted([units[index] for index in sorted(fitting)])
    # Tokens of lines may not add up to the tokens of the whole, which is decisive.
    while fitting and sum(count(part.text) for part in parts) > budget:
        fitting.pop()
        parts = quoted([units[index] for index in sorted(fitting)])
    return parts


def filling(
    ranked: Iterable[int], units: Sequence[Unit], budget: int, count: Count
) -> Iterator[int]:
    """Yield units in the order of their rank, and skip those that do not fit."""
    for index in ranked:
        if budget <= 0:
            return
        if (tokens := count(units[index].text + "\n")) <= budget:
            yield index
            budget -= tokens


def best_first(
    scores: Vector,
    units: Sequence[Unit],
    budget: int,
    count: Count,
    cosines: Cosines,
) -> list[int]:
    """Take the best units; skip those that do not fit and those similar to a chosen one.

    Of two similar units, the earlier comes first.
    """
    repeated = np.zeros(len(units), np.bool_)

    def unsaid() -> Iterator[int]:
        for index in np.argsort(-scores, kind="stable").tolist():
            if not repeated[index]:
                yield index

    chosen: list[int] = []
    for index in filling(unsaid(), units, budget, count):
        chosen.append(index)
        repeated |= np.round(cosines.of(index), 9) > _SAME
    return chosen
