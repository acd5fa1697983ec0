"""Extractive summarisers: units of the text, chosen within a budget, with exact sources."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.limits import at_least, finite
from compactlab.sim.core.message import Message, Part
from compactlab.sim.core.notes import Remembered
from compactlab.sim.core.stream import stream
from compactlab.sim.facts.needs import identifiers
from compactlab.sim.replay.summarize import Count, Summarizer, SummaryRequest, TurnRequest, Written
from compactlab.strategies.summarizers.writer import (
    BINDING,
    BROKEN,
    DECIDED,
    WORD,
    Bound,
    Unbound,
    Unit,
    distinct,
    fitting,
    is_spoken,
    noted,
    promising,
    quoted,
    topic_of,
    units_of,
    words,
)

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


# LexRank: quote the sentences and lines that are most similar to the others. It is extractive and
# needs no model: nothing is paraphrased, so every line of the summary has an exact source. It does
# not show a real agent's costs. It shows the content of a conversation that remains if the most
# central lines are copied.

_DAMPING = 0.85  # Erkan and Radev 2004, section 3.2: between 0.8 and 0.9
_ROUNDS = 100  # 0.85 ** 100 = 9e-8, too small to change the order of two units


@dataclass(frozen=True)
class Lexrank(Extractive):
    """Quote the most central sentences and lines, in their original order, within the budget.

    The ranking is continuous LexRank (Erkan and Radev, "LexRank: Graph-based Lexical Centrality as
    Salience in Text Summarization", 2004): the stationary distribution of a walk between units
    along the cosines of their TF-IDF vectors. As in that paper, units similar to a chosen one are
    skipped. :class:`~.extractive.Extractive` defines units and parameters.

    Examples
    --------
    >>> from compactlab.sim.core.message import Message, verbatim
    >>> from compactlab.sim.replay.summarize import SummaryRequest
    >>> said = Message("m1", "user", (verbatim("m1", "text", "Use tabs. Never touch main.py."),))
    >>> (part,) = Lexrank().summarize(SummaryRequest((said,), max_tokens=30), len)
    >>> part.text, part.sources
    ('Use tabs.', (Source(id='m1', part=0, start=0, end=9),))
    """

    def choose(self, units: Sequence[Unit], budget: int, count: Count) -> Iterable[int]:
        cosines = Cosines([unit.text for unit in units])
        return best_first(_ranks(cosines), units, budget, count, cosines)


def _ranks(cosines: Cosines) -> Vector:
    """Rank texts by LexRank: the stationary distribution of the walk, with mean 1."""
    ranks = np.ones(cosines.shape[0])
    degrees = cosines.times(ranks)
    for _ in range(_ROUNDS):
        ranks = 1 - _DAMPING + _DAMPING * cosines.times(ranks / degrees)
    return np.round(ranks, 9)


@dataclass(frozen=True)
class Centroid(Extractive):
    """Quote the units nearest to the centroid, in their original order, within the budget.

    The centroid value of MEAD (Radev, Jing, Stys and Tam, "Centroid-based summarization of multiple
    documents", Information Processing & Management 40, 2004): the centroid is the mean TF-IDF
    vector without its light words, and the score of a unit is the sum of the centroid's weights of
    its words. MEAD's scores for position and for similarity to the first sentence are left out,
    because the first sentence of a conversation does not state its subject. The IDF is from the
    units, not from a corpus. As in MEAD, units that repeat a better one are skipped.

    Parameters
    ----------
    units, tokens
        See :class:`~.extractive.Extractive`.
    words
        Number of words in the centroid. A guess: MEAD uses a threshold, which depends on its
        corpus.
    """

    words: Annotated[int, at_least(1)] = 100

    def choose(self, units: Sequence[Unit], budget: int, count: Count) -> Iterable[int]:
        cosines = Cosines([unit.text for unit in units])
        scores = np.round(cosines.sums(cosines.centroid(self.words)), 9)
        return best_first(scores, units, budget, count, cosines)


# By role; lines of the previous summary were already selected once. Guesses.
_ROLES = {"user": 1.0, "assistant": 0.5, "tool": 0.0, "": 0.5}
_DECISION, _ERROR = words(*DECIDED, *BINDING), words(*BROKEN)


@dataclass(frozen=True)
class Salience(Extractive):
    """Quote the most salient units, in their original order, within the budget.

    A unit's salience is the weighted sum of five scores between 0 and 1: speaker (a person 1, the
    agent and the previous summary 0.5, a tool 0); recency (the position of its message); rarity of
    its rarest identifier (1 if no other unit has it, 0 if all have it); a cue of a decision or a
    rule; an error, by a cue or by the tool's report. The cues are in ``units.py``. Synthetic
    conversations avoid them on purpose: a rule that shared its words with the generator would win
    by construction.

    The value of a unit is its salience times its tokens, otherwise the shortest would always win.
    So the greedy filling by value per token is by salience; units that do not fit are skipped. The
    best filling is worth at most one unit more (Dantzig 1957).

    Parameters
    ----------
    units, tokens
        See :class:`~.extractive.Extractive`.
    role, recency, rarity, decision, error
        Weights of the scores. Guesses.
    """

    role: Annotated[float, finite(0)] = 1.0
    recency: Annotated[float, finite(0)] = 0.5
    rarity: Annotated[float, finite(0)] = 0.5
    decision: Annotated[float, finite(0)] = 1.0
    error: Annotated[float, finite(0)] = 0.5

    def choose(self, units: Sequence[Unit], budget: int, count: Count) -> Iterable[int]:
        scores = self.scores(units)
        ranked = sorted(range(len(units)), key=lambda index: -scores[index])
        return filling(ranked, units, budget, count)

    def scores(self, units: Sequence[Unit]) -> list[float]:
        """Return the salience of each unit, rounded to 1e-9."""
        return [
            round(
                self.role * _ROLES.get(unit.role, 0.0)
                + self.recency * unit.place
                + self.rarity * rare
                + self.decision * (_DECISION.search(unit.text) is not None)
                + self.error * (unit.failed or _ERROR.search(unit.text) is not None),
                9,
            )
            for unit, rare in zip(units, _rarities(units), strict=True)
        ]


def _rarities(units: Sequence[Unit]) -> list[float]:
    """Return the rarity of each unit's rarest identifier, between 0 and 1."""
    named = [identifiers(unit.text) for unit in units]
    spread = Counter(name for names in named for name in names)
    most = math.log(max(2, len(units)))
    return [max((1 - math.log(spread[n]) / most for n in names), default=0.0) for names in named]


@dataclass(frozen=True)
class Lead(Sized, Quoting):
    """Quote the oldest sentences and lines until the budget is spent.

    See :class:`~.extractive.Extractive` for units. The first summary stays forever, because the
    previous summary's lines are the oldest.
    """

    def choose(self, units: Sequence[Unit], budget: int, count: Count) -> Iterable[int]:
        return _until_full(range(len(units)), units, budget, count)


@dataclass(frozen=True)
class Tail(Sized, Quoting):
    """Quote the newest sentences and lines until the budget is spent."""

    def offered(self, units: Iterable[Unit]) -> list[Unit]:
        """Return all units, each at its last position."""
        return list(distinct(reversed(list(units))))[::-1]

    def choose(self, units: Sequence[Unit], budget: int, count: Count) -> Iterable[int]:
        return _until_full(reversed(range(len(units))), units, budget, count)


def _until_full(
    ranked: Iterable[int], units: Sequence[Unit], budget: int, count: Count
) -> Iterator[int]:
    """Yield units up to the first that does not fit."""
    for index in ranked:
        budget -= count(units[index].text + "\n")
        if budget < 0:
            return
        yield index


@dataclass(frozen=True)
class Random(Unbound, Sized):
    """Quote sentences and lines at random, in their original order, within the budget.

    See :class:`~.extractive.Extractive` for units. The draws depend on the experiment's seed, the
    conversation and the messages to summarise.
    """

    simulated: ClassVar[str] = "quotations are drawn at random"
    matched: ClassVar[bool] = True

    def bound(self, conversation: Conversation, seed: int) -> Summarizer:
        return BoundRandom(conversation, seed, self.spec, self.tokens)


@dataclass(frozen=True, eq=False)
class BoundRandom(Bound, Quoting):
    """A :class:`Random` with a seed."""

    tokens: int  # target length of a summary
    simulated: ClassVar[str] = Random.simulated

    def summarize(self, request: SummaryRequest, count: Count) -> tuple[Part, ...]:
        units = self.offered(units_of(request))
        budget = min(request.max_tokens, self.tokens)
        asked = (message.id for message in request.messages)
        order = self._shuffled(len(units), "random summary", *asked)
        return written(units, filling(order, units, budget, count), budget, count)

    def choose(self, units: Sequence[Unit], budget: int, count: Count) -> Iterable[int]:
        stretch = dict.fromkeys(source.id for unit in units for source in unit.sources)
        order = self._shuffled(len(units), "random notes", *stretch)
        return filling(order, units, budget, count)

    def _shuffled(self, n: int, *purpose: str) -> list[int]:
        order = list(range(n))
        stream(self.seed, self.conversation.id, *purpose).shuffle(order)
        return order
