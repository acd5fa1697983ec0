"""The words of messages, numbered once for a conversation and all its replays.

Imported in the functions that use it: numpy takes its time to load.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from compactlab.sim.buffer import without
from compactlab.sim.conversation import Conversation
from compactlab.sim.identifiers import identifiers
from compactlab.sim.message import Message, Part

Numbers = NDArray[np.int64]
NOTHING: Numbers = np.zeros(0, dtype=np.int64)

_WORD = re.compile(r"\w+")


class Lexicon:
    """What is found in parts, numbered in the order in which it was found.

    Parameters
    ----------
    find
        Finds the words of a part.
    """

    def __init__(self, find: Callable[[Part], Collection[str]]) -> None:
        self._find = find
        self._numbers: dict[str, int] = {}
        # The message is held too: an id may be given again once its object is gone.
        self._known: dict[int, tuple[Message, Numbers]] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def of(self, messages: Iterable[Message]) -> Numbers:
        """Numbers of what messages hold, as often as they hold it."""
        known = self._known
        found = [(known.get(id(m)) or self._learn(m))[1] for m in messages]
        return np.concatenate(found) if found else NOTHING

    def of_parts(self, parts: Iterable[Part]) -> Numbers:
        """Numbers of what parts hold, as often as they hold it."""
        numbers = self._numbers
        words = [word for part in parts for word in self._find(part)]
        for word in dict.fromkeys(words):
            if word not in numbers:
                numbers[word] = len(numbers)
        return np.array([*map(numbers.__getitem__, words)], dtype=np.int64)

    def counts(self, numbers: Numbers) -> Numbers:
        """How often each number occurs."""
        return np.bincount(numbers, minlength=len(self))

    def _learn(self, message: Message) -> tuple[Message, Numbers]:
        known = self._known[id(message)] = message, self.of_parts(message.parts)
        return known


class Terms:
    """The lexicons of a conversation; what is thought is in none.

    Parameters
    ----------
    conversation
        The script.

    Attributes
    ----------
    names
        Identifiers, each once a part.
    words
        Runs of letters, digits and underscores, in lower case, each as often as it is there.
    tools
        Names of tools, each as often as it is called.
    """

    def __init__(self, conversation: Conversation) -> None:
        self._messages = conversation.messages
        self.names = Lexicon(lambda part: identifiers(_said(part)))
        self.words = Lexicon(lambda part: _WORD.findall(_said(part).lower()))
        self.tools = Lexicon(lambda part: [part.name] if part.type == "tool_call" else [])

    def weights(self) -> Numbers:
        """How much each word tells, squared: its inverse document frequency, in tenths.

        ln((1 + n) / (1 + k)) + 1 for a word that k of the script's n messages hold. Whole numbers
        of tenths, so that sums of them are exact and the same on every machine.
        """
        holders, of_holders = self._frequencies
        new = len(self.words) - holders.size  # words that no message of the script holds
        weights: Numbers = of_holders[np.concatenate([holders, np.zeros(new, dtype=np.int64)])]
        return weights

    @cached_property
    def _frequencies(self) -> tuple[Numbers, Numbers]:
        """How many messages hold each word, and what a word weighs by how many hold it."""
        held = [np.unique(self.words.of([message])) for message in self._messages]
        total = len(self._messages)
        weights = [round(10 * (math.log((1 + total) / (1 + k)) + 1)) for k in range(total + 1)]
        return self.words.counts(np.concatenate([NOTHING, *held])), np.array(weights) ** 2


def _said(part: Part) -> str:
    return "" if part.type == "thinking" else part.text


_latest: dict[str, Terms] = {}


def terms_of(conversation: Conversation) -> Terms:
    """The terms of a conversation; those of the last one asked for are kept."""
    if conversation.digest not in _latest:
        _latest.clear()
        _latest[conversation.digest] = Terms(conversation)
    return _latest[conversation.digest]


class Context:
    """Counts what stands in a context that is looked at again: only what changed is counted.

    Parameters
    ----------
    lexicons
        What is counted.
    """

    def __init__(self, *lexicons: Lexicon) -> None:
        self._lexicons = lexicons
        self._messages: Sequence[Message] = ()
        self._counts: list[Numbers] = [NOTHING for _ in lexicons]
        self._system: tuple[Part, ...] = ()
        self._always: list[Numbers] = [NOTHING for _ in lexicons]

    def become(self, messages: Sequence[Message], system: tuple[Part, ...]) -> list[Numbers]:
        """How often each number occurs in messages and system blocks, by lexicon."""
        old, new = list(self._messages), list(messages)
        gone, come = without(old, new), without(new, old)
        self._messages = new
        if system is not self._system:
            self._system = system
            self._always = [lexicon.of_parts(system) for lexicon in self._lexicons]
        found = []
        for place, lexicon in enumerate(self._lexicons):
            added, taken = lexicon.of(come), lexicon.of(gone)
            counts = lexicon.counts(added) - lexicon.counts(taken)
            counts[: self._counts[place].size] += self._counts[place]
            self._counts[place] = counts
            found.append(counts + lexicon.counts(self._always[place]))
        return found
