"""How far a compaction moves the context: descriptive, because any removal moves it."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property
from statistics import fmean
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from compactlab.sim.core.conversation import Conversation, keep_latest
from compactlab.sim.core.message import Message, Part
from compactlab.sim.core.view import without
from compactlab.sim.facts.needs import identifiers
from compactlab.sim.metrics.context import moments
from compactlab.sim.metrics.metric import metric
from compactlab.sim.metrics.run_data import RunData, shared

_LIN = "J. Lin, Divergence Measures Based on the Shannon Entropy, IEEE Trans. Inf. Theory 37, 1991"
_OF_SOME = "mean over compactions, 50 at most"
_TF_IDF = "cosine of TF-IDF vectors; K. Sparck Jones, Journal of Documentation 28, 1972"


@metric("share", "neither", _OF_SOME, _TF_IDF)
def drift_words(data: RunData) -> float | None:
    """Change of the words of the context at a compaction: one less their cosine.

    *Before* is the previous prompt with all messages added to the log since; *after* is the prompt
    of the compaction's call. Both have the system blocks, neither has thinking. Words are runs of
    letters, digits and underscores in lower case. A word's weight is its count times its inverse
    document frequency: ln((1 + n) / (1 + k)) + 1, if k of the n messages of the script have it,
    rounded to tenths. 0 if nothing changed, 1 if no word is left. Every removal raises it, so
    neither direction is good. At most 50 compactions are evaluated, evenly spread over the run.
    """
    return _mean(drift.words for drift in _drifts(data))


@metric("share", "neither", _OF_SOME, _LIN)
def drift_identifiers(data: RunData) -> float | None:
    """Change of the identifiers at a compaction: their Jensen-Shannon divergence.

    The distributions are of *identifiers* (see below), each weighted by the number of parts that
    have it, over the same contexts as ``drift_words``, to the base 2. 0 if they are equal, 1 if
    they are disjoint.
    """
    return _mean(drift.names for drift in _drifts(data))


@metric("share", "neither", _OF_SOME, _LIN)
def drift_tools(data: RunData) -> float | None:
    """Change of the called tools at a compaction: their Jensen-Shannon divergence."""
    return _mean(drift.tools for drift in _drifts(data))


class _Drift(NamedTuple):
    """How far one compaction moved the context."""

    words: float
    names: float
    tools: float


@shared
def _drifts(data: RunData) -> list[_Drift]:
    looked_at = moments(data)
    if not looked_at:
        return []

    terms = terms_of(data.conversation)
    terms.weights()  # numbers all words of the script, so that only summaries bring new ones
    context = Context(terms.words, terms.names, terms.tools)
    drifts = []
    for step, before, system, prompt in looked_at:
        was = context.become(before, system)
        now = context.become(prompt, step.system)
        words, names, tools = zip(map(_padded, was, now), now, strict=True)
        drifts.append(
            _Drift(_turned(terms.weights(), *words), _diverged(*names), _diverged(*tools))
        )
    return drifts


def _padded(was: Numbers, now: Numbers) -> Numbers:
    """Counts from before the lexicon grew."""
    return np.concatenate([was, np.zeros(len(now) - len(was), dtype=np.int64)])


def _turned(weights: Numbers, was: Numbers, now: Numbers) -> float:
    """One less the cosine of two vectors of counts."""
    product = int((weights * was * now).sum())
    lengths = int((weights * was * was).sum()) * int((weights * now * now).sum())
    if not lengths:
        return float(was.any() != now.any())
    return max(0.0, 1 - product / math.sqrt(lengths))


def _diverged(was: Numbers, now: Numbers) -> float:
    there = (was + now).nonzero()[0]
    return divergence(zip(was[there].tolist(), now[there].tolist(), strict=True))


def divergence(counts: Iterable[tuple[int, int]]) -> float:
    """Jensen-Shannon divergence of two distributions, to the base 2."""
    # Many counts are equal; and the result of fsum does not depend on the order.
    alike = Counter(counts)
    here = sum(one * times for (one, _), times in alike.items())
    there = sum(other * times for (_, other), times in alike.items())
    if not here or not there:
        return float(here != there)
    terms = []
    for (one, other), times in alike.items():
        p, q = one / here, other / there
        terms += [times * share * math.log2(2 * share / (p + q)) for share in (p, q) if share]
    return min(1.0, max(0.0, math.fsum(terms) / 2))


def _mean(values: Iterable[float]) -> float | None:
    numbers = list(values)
    return fmean(numbers) if numbers else None


# The words of messages, numbered once for a conversation and all its replays.

Numbers = NDArray[np.int64]
NOTHING: Numbers = np.zeros(0, dtype=np.int64)

_WORD = re.compile(r"\w+")
# Maximum numbers that a lexicon caches by message, 8 bytes each, plus the overhead of arrays.
_REMEMBERED, _ITSELF = 4_000_000, 40


class Lexicon:
    """Terms in parts, numbered in the order of their discovery."""

    def __init__(self, find: Callable[[Part], Collection[str]]) -> None:
        self._find = find
        self._numbers: dict[str, int] = {}
        # The message is stored, too, because the id of a deleted object may be reused. The cache is
        # cleared when it is full.
        self._known: dict[int, tuple[Message, Numbers]] = {}
        self._size = 0

    def __len__(self) -> int:
        return len(self._numbers)

    def of(self, messages: Iterable[Message]) -> Numbers:
        """The numbers of all terms in messages, with repetitions."""
        known = self._known
        vectors = [(known.get(id(m)) or self._learn(m))[1] for m in messages]
        return np.concatenate(vectors) if vectors else NOTHING

    def of_parts(self, parts: Iterable[Part]) -> Numbers:
        """The numbers of all terms in parts, with repetitions."""
        numbers = self._numbers
        words = [word for part in parts for word in self._find(part)]
        for word in dict.fromkeys(words):
            if word not in numbers:
                numbers[word] = len(numbers)
        return np.array([*map(numbers.__getitem__, words)], dtype=np.int64)

    def counts(self, numbers: Numbers) -> Numbers:
        """The number of occurrences of each term."""
        return np.bincount(numbers, minlength=len(self))

    def _learn(self, message: Message) -> tuple[Message, Numbers]:
        known = message, self.of_parts(message.parts)
        self._size += _ITSELF + known[1].size
        if self._size > _REMEMBERED:
            self._known.clear()
            self._size = _ITSELF + known[1].size
        self._known[id(message)] = known
        return known


class Terms:
    """The lexicons of a conversation, without thinking."""

    def __init__(self, conversation: Conversation) -> None:
        self._messages = conversation.messages
        # Identifiers count once per part, words and tools at each occurrence.
        self.names = Lexicon(lambda part: identifiers(_text_of(part)))
        self.words = Lexicon(lambda part: _WORD.findall(_text_of(part).lower()))
        self.tools = Lexicon(lambda part: [part.name] if part.type == "tool_call" else [])

    def weights(self) -> Numbers:
        """The squared weight of each word: its inverse document frequency, in tenths.

        ln((1 + n) / (1 + k)) + 1 for a word in k of the script's n messages. Tenths are whole
        numbers, so sums are exact and equal on every machine.
        """
        holders, of_holders = self._frequencies
        new = len(self.words) - holders.size  # words in no message of the script
        weights: Numbers = of_holders[np.concatenate([holders, np.zeros(new, dtype=np.int64)])]
        return weights

    @cached_property
    def _frequencies(self) -> tuple[Numbers, Numbers]:
        """The number of messages with each word, and the weight of a word by that number."""
        holders: Counter[int] = Counter()
        for message in self._messages:
            holders.update({*self.words.of([message]).tolist()})
        held = np.array([holders[number] for number in range(len(self.words))], dtype=np.int64)
        total = len(self._messages)
        weights = [round(10 * (math.log((1 + total) / (1 + k)) + 1)) for k in range(total + 1)]
        return held, np.array(weights) ** 2


def _text_of(part: Part) -> str:
    return "" if part.type == "thinking" else part.text


@keep_latest
def terms_of(conversation: Conversation) -> Terms:
    """The terms of a conversation; those of the last one are cached."""
    return Terms(conversation)


class Context:
    """Counts the terms of a changing context; only changes are counted."""

    def __init__(self, *lexicons: Lexicon) -> None:
        self._lexicons = lexicons
        self._messages: Sequence[Message] = ()
        self._counts: list[Numbers] = [NOTHING for _ in lexicons]
        self._system: tuple[Part, ...] = ()
        self._always: list[Numbers] = [NOTHING for _ in lexicons]

    def become(self, messages: Sequence[Message], system: tuple[Part, ...]) -> list[Numbers]:
        """Update to messages and system blocks; return the counts by lexicon."""
        old, new = list(self._messages), list(messages)
        gone, come = without(old, new), without(new, old)
        self._messages = new
        if system is not self._system:
            self._system = system
            self._always = [lexicon.of_parts(system) for lexicon in self._lexicons]
        vectors = []
        for index, lexicon in enumerate(self._lexicons):
            added, taken = lexicon.of(come), lexicon.of(gone)
            counts = lexicon.counts(added) - lexicon.counts(taken)
            counts[: self._counts[index].size] += self._counts[index]
            self._counts[index] = counts
            vectors.append(counts + lexicon.counts(self._always[index]))
        return vectors
