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
    size
        How many numbers there are.
    """

    def __init__(self, conversation: Conversation, ahead: int = AHEAD) -> None:
        uses = {answer.id: used(answer) for answer in conversation.calls}
        self._numbers = {w: i for i, w in enumerate(sorted(frozenset().union(*uses.values())))}
        self.size = len(self._numbers)
        self._held: dict[str, tuple[int, ...]] = {}
        self._held_in: dict[int, tuple[Message, tuple[int, ...]]] = {}
        actions = {id: frozenset(self._numbers[w] for w in words) for id, words in uses.items()}
        wanted = self._wanted(conversation, actions, ahead)
        self.needed = {id: tuple(sorted(numbers)) for id, numbers in wanted.items()}

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
        known = self._held_in.get(id(message))
        if known is None:
            # The message is held too: an id may be given again once its object is gone.
            known = self._held_in[id(message)] = (message, tuple(self.held_by(message.parts)))
        return known[1]


_latest: dict[str, ForwardNeeds] = {}


def forward_needs(conversation: Conversation) -> ForwardNeeds:
    """The needs of a conversation; those of the last one asked for are kept."""
    if conversation.digest not in _latest:
        _latest.clear()
        _latest[conversation.digest] = ForwardNeeds(conversation)
    return _latest[conversation.digest]
