"""What the next actions of a conversation need, and which texts hold it.

Computed once for a conversation and shared by all replays of it.
"""

from __future__ import annotations

from collections.abc import Iterable

from compactlab.sim.conversation import Conversation
from compactlab.sim.identifiers import used, words
from compactlab.sim.message import Message, Part

AHEAD = 5


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
        uses = [used(answer) for answer in conversation.calls]
        self._numbers = {w: i for i, w in enumerate(sorted(frozenset().union(*uses)))}
        self.size = len(self._numbers)
        self._held: dict[str, tuple[int, ...]] = {}
        self._held_in: dict[int, tuple[Message, tuple[int, ...]]] = {}
        self.needed: dict[str, tuple[int, ...]] = {}
        actions = [frozenset(self._numbers[w] for w in action) for action in uses]
        seen = {number for part in conversation.system for number in self.held(part)}
        call = 0
        for message in conversation.messages:
            if message.call is not None:
                wanted = frozenset().union(*actions[call : call + ahead])
                self.needed[message.id] = tuple(sorted(wanted & seen))
                call += 1
            seen.update(self.held_in(message))

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
