"""What the next actions of a conversation need, and which texts hold it.

Computed once for a conversation and shared by all replays of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import or_

from compactlab.sim.conversation import Conversation, Rewind
from compactlab.sim.identifiers import used, words_among
from compactlab.sim.message import Message, Part

AHEAD = (1, 5, 20)  # actions: project's notes on metrics, section 4, FNC@k


def bits(numbers: Iterable[int]) -> int:
    """Numbers as a set that is counted and compared whole: bit n stands for number n."""
    return sum(1 << number for number in set(numbers))


@dataclass
class _Path:
    """The messages on the way to here: the words in them, and what was known at each call."""

    known: int
    calls: list[tuple[str, int]]

    def copy(self) -> _Path:
        return _Path(self.known, list(self.calls))


class ForwardNeeds:
    """Words that recorded actions use and that had appeared before, numbered.

    Parameters
    ----------
    conversation
        The script.
    ahead
        How many actions are looked ahead: several figures, found in one pass.

    Attributes
    ----------
    wanted
        By how many actions are looked ahead, and by the id of a call's answer: the words that this
        action and the next ones use and that had appeared before the call, as bits.
    sizes
        How many words that are, the same way.
    names
        The words by number.
    size
        How many numbers there are.
    due
        For each call, counted from 0, and for the time after the last: the words that its action
        or a later one uses, as bits.
    stated
        By message, the places in it where facts are stated, and the last call that needs each.
    """

    def __init__(self, conversation: Conversation, ahead: Sequence[int] = AHEAD) -> None:
        uses = {answer.id: used(answer) for answer in conversation.calls}
        self._numbers = {w: i for i, w in enumerate(sorted(frozenset().union(*uses.values())))}
        self.names = tuple(self._numbers)
        self.size = len(self._numbers)
        acts = {id: bits(self._numbers[w] for w in words) for id, words in uses.items()}
        in_turn = [acts[answer.id] for answer in conversation.calls]
        self.due = [*accumulate(reversed(in_turn), or_, initial=0)][::-1]
        self.stated = _stated(conversation)
        self._held: dict[str, tuple[int, ...]] = {}
        self._bits_in: dict[int, tuple[Message, int]] = {}
        self.wanted = self._wanted(conversation, acts, ahead)
        self.sizes = {
            k: {id: words.bit_count() for id, words in of_calls.items()}
            for k, of_calls in self.wanted.items()
        }

    def _wanted(
        self, conversation: Conversation, acts: dict[str, int], ahead: Sequence[int]
    ) -> dict[int, dict[str, int]]:
        """For each call, what its action and the next use of what had appeared before it.

        What was taken back has not appeared, and an action on another branch is none of the next.
        """
        wanted = {k: dict.fromkeys(acts, 0) for k in ahead}
        furthest = max(ahead)
        path = _Path(bits(self.held_by(conversation.system)), [])
        paths = {"": path.copy()}
        targets = {event.to for event in conversation.events if isinstance(event, Rewind)}
        for event in conversation.events:
            if isinstance(event, Rewind):
                path = paths[event.to].copy()
            elif isinstance(event, Message):
                if event.call is not None:
                    path.calls.append((event.id, path.known))
                    action = acts[event.id]
                    for distance, (id, known) in enumerate(path.calls[: -furthest - 1 : -1]):
                        for k in ahead:
                            if distance < k:
                                wanted[k][id] |= action & known
                path.known |= self.bits_in(event)
                if event.id in targets:
                    paths[event.id] = path.copy()
        return wanted

    def held(self, part: Part) -> tuple[int, ...]:
        """Numbers of the words that stand in a part."""
        known = self._held.get(part.text)
        if known is None:
            numbers = self._numbers
            found = sorted(numbers[word] for word in words_among(part.text, numbers))
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
    stated that calls are labelled to need. Each is a bit.

    Parameters
    ----------
    conversation
        The script.
    call
        The first call that counts, from 0: those before have been made.
    """

    def __init__(self, conversation: Conversation, call: int) -> None:
        self.call = call
        self._needs = forward_needs(conversation)
        self._due = self._needs.due[min(call, len(self._needs.due) - 1)]

    def held_in(self, message: Message) -> int:
        """The things in a message that this call or a later one needs, as bits."""
        held = self._needs.bits_in(message) & self._due
        for thing, last in self._needs.stated.get(message.id, ()):
            if last >= self.call:
                held |= 1 << (self._needs.size + thing)
        return held

    def held_by(self, parts: Iterable[Part]) -> int:
        """The same of parts of the system prompt; facts are never stated there."""
        return bits(self._needs.held_by(parts)) & self._due


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
