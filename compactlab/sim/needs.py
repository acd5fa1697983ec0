"""What the next actions of a conversation need, and which texts hold it.

Computed once for a conversation and shared by all replays of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from compactlab.sim.conversation import Conversation, Rewind
from compactlab.sim.identifiers import used, words
from compactlab.sim.message import Message, Part

AHEAD = 5


def bits(numbers: Iterable[int]) -> int:
    """Numbers as a set that is counted and compared whole: bit n stands for number n."""
    return sum(1 << number for number in set(numbers))


@dataclass
class _Path:
    """The messages on the way to here: how many, which are calls, where words appeared first."""

    length: int
    calls: list[tuple[str, int]]
    first: dict[int, int]

    def copy(self) -> _Path:
        return _Path(self.length, list(self.calls), dict(self.first))

    def hear(self, numbers: Iterable[int]) -> None:
        """Go on by one message, in which these words stand."""
        for number in numbers:
            self.first.setdefault(number, self.length)
        self.length += 1


class ForwardNeeds:
    """Words that recorded actions use and that had appeared before, numbered.

    Parameters
    ----------
    conversation
        The script.
    ahead
        How many actions are looked ahead.

    Attributes
    ----------
    needed
        For each call, by the id of its answer: numbers of the words that this action and the next
        ones use and that had appeared before the call.
    wanted
        The same as bits.
    size
        How many numbers there are.
    last_use
        For each number, which call's action is the last to use the word, counted from 0.
    """

    def __init__(self, conversation: Conversation, ahead: int = AHEAD) -> None:
        uses = {answer.id: used(answer) for answer in conversation.calls}
        self._numbers = {w: i for i, w in enumerate(sorted(frozenset().union(*uses.values())))}
        self.size = len(self._numbers)
        self.last_use = [0] * self.size
        for call, answer in enumerate(conversation.calls):
            for word in uses[answer.id]:
                self.last_use[self._numbers[word]] = call
        self._held: dict[str, tuple[int, ...]] = {}
        self._bits_in: dict[int, tuple[Message, int]] = {}
        actions = {id: frozenset(self._numbers[w] for w in words) for id, words in uses.items()}
        wanted = self._wanted(conversation, actions, ahead)
        self.needed = {id: tuple(sorted(numbers)) for id, numbers in wanted.items()}
        self.wanted = {id: bits(numbers) for id, numbers in wanted.items()}

    def _wanted(
        self, conversation: Conversation, actions: dict[str, frozenset[int]], ahead: int
    ) -> dict[str, set[int]]:
        """For each call, what its action and the next use of what had appeared before it.

        What was taken back has not appeared, and an action on another branch is none of the next.
        """
        wanted: dict[str, set[int]] = {}
        path = _Path(0, [], {})
        path.hear(self.held_by(conversation.system))
        known = {"": path.copy()}
        targets = {event.to for event in conversation.events if isinstance(event, Rewind)}
        for event in conversation.events:
            if isinstance(event, Rewind):
                path = known[event.to].copy()
            elif isinstance(event, Message):
                if event.call is not None:
                    path.calls.append((event.id, path.length))
                    used = actions[event.id] & path.first.keys()
                    for id, place in path.calls[-ahead:]:
                        due = (number for number in used if path.first[number] < place)
                        wanted.setdefault(id, set()).update(due)
                path.hear(self.held_in(event))
                if event.id in targets:
                    known[event.id] = path.copy()
        return wanted

    def held(self, part: Part) -> tuple[int, ...]:
        """Numbers of the words that stand in a part."""
        known = self._held.get(part.text)
        if known is None:
            numbers = self._numbers
            found = sorted(numbers[w] for w in words(part.text) if w in numbers)
            known = self._held[part.text] = tuple(found)
        return known

    def held_by(self, parts: Iterable[Part]) -> Iterable[int]:
        """Numbers of the words that stand in parts, one as often as parts hold it."""
        return (number for part in parts for number in self.held(part))

    def held_in(self, message: Message) -> tuple[int, ...]:
        """Numbers of the words that stand in a message, one as often as parts hold it."""
        return tuple(self.held_by(message.parts))

    def bits_in(self, message: Message) -> int:
        """The same as bits, for one that is looked at again and again."""
        known = self._bits_in.get(id(message))
        if known is None:
            # The message is held too: an id may be given again once its object is gone.
            known = self._bits_in[id(message)] = (message, bits(self.held_in(message)))
        return known[1]


_latest: dict[str, ForwardNeeds] = {}


def forward_needs(conversation: Conversation) -> ForwardNeeds:
    """The needs of a conversation; those of the last one asked for are kept."""
    if conversation.digest not in _latest:
        _latest.clear()
        _latest[conversation.digest] = ForwardNeeds(conversation)
    return _latest[conversation.digest]


class Later:
    """What is needed from a moment on, and which messages hold it: for who may see the future.

    Those things are the words that recorded actions use, and the places where the facts are
    stated that calls are labelled to need. Words have their numbers from 0, places below.

    Parameters
    ----------
    conversation
        The script.
    call
        The first call that counts, from 0: those before have been made.
    """

    def __init__(self, conversation: Conversation, call: int) -> None:
        self.call = call
        self._stated = _stated(conversation)
        self._words = forward_needs(conversation)

    def held_in(self, message: Message) -> frozenset[int]:
        """Numbers of the things in a message that this call or a later one needs."""
        due = self._stated.get(message.id, ())
        stated = frozenset(-1 - thing for thing, last in due if last >= self.call)
        return stated | self._due(self._words.held_in(message))

    def held_by(self, parts: Iterable[Part]) -> frozenset[int]:
        """Numbers of the things in parts of the system prompt; facts are never stated there."""
        return self._due(self._words.held_by(parts))

    def _due(self, numbers: Iterable[int]) -> frozenset[int]:
        last = self._words.last_use
        return frozenset(number for number in numbers if last[number] >= self.call)


def _stated(conversation: Conversation) -> dict[str, list[tuple[int, int]]]:
    """By message, the places in it where facts are stated, and the last call that needs each."""
    place = {answer.id: call for call, answer in enumerate(conversation.calls)}
    last: dict[str, int] = {}
    for need in conversation.needs:
        last[need.fact] = max(last.get(need.fact, -1), place.get(need.at, -1))
    stated: dict[str, list[tuple[int, int]]] = {}
    things = ((fact.id, source.id) for fact in conversation.facts for source in fact.origin)
    for thing, (fact, message) in enumerate(things):
        if fact in last:
            stated.setdefault(message, []).append((thing, last[fact]))
    return stated
