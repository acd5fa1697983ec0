"""The control that cannot be beaten: it knows what will be needed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_

from compactlab.sim.host import Host
from compactlab.sim.messages import Messages
from compactlab.sim.phase import Phase
from compactlab.sim.strategy import Strategy
from compactlab.sim.view import View
from compactlab.strategies.mechanisms.cut import current_turn
from compactlab.strategies.mechanisms.exchange import exchanges


@dataclass(frozen=True)
class Oracle(Strategy):
    """Keep the current turn, and of what came before only what a later call will need.

    What is needed stands in ``host.needs``: the words that recorded actions use, and the places
    where the facts are stated that calls are labelled to use. Of a word that stands in several
    places the newest is kept, with its whole exchange; and a message of the user in front, as
    providers demand. No real agent can do this: it shows how small a context could be that forgets
    nothing, and what a strategy loses against that. It is no bound on cost: it rewrites the prompt
    whenever something has been used for the last time.

    When the prompt is too large, only the words of the user and the newest exchange of the
    current turn are kept for their own sake.
    """

    phases = frozenset({Phase.BEFORE_TURN, Phase.ON_OVERFLOW})
    sees_future = True

    def compact(self, view: View, host: Host) -> View:
        """Drop what will not be needed."""
        messages, needs = view.messages, host.needs
        kept = _current(messages, overflow=host.phase is Phase.ON_OVERFLOW)
        covered = needs.held_by(view.system)
        for message in messages:
            if id(message) in kept:
                covered |= needs.held_in(message)
        for exchange in reversed(exchanges(messages)):
            held = reduce(or_, map(needs.held_in, exchange))
            if held & ~covered or not kept.isdisjoint(map(id, exchange)):
                kept.update(map(id, exchange))
                covered |= held
        _begin_with_the_user(messages, kept)
        return view.with_messages([message for message in messages if id(message) in kept])


def _current(messages: Messages, *, overflow: bool) -> set[int]:
    """What is kept for its own sake, by identity."""
    now = current_turn(messages)
    if not overflow:
        return set(map(id, messages[now:]))
    newest = len(messages) - 1
    while newest > now and messages[newest].role != "assistant":
        newest -= 1
    return set(map(id, (*messages[now : now + 1], *messages[newest:])))


def _begin_with_the_user(messages: Messages, kept: set[int]) -> None:
    """Keep the message of the user before the first one that is kept, if that is none."""
    before = None
    for message in messages:
        if id(message) in kept:
            if message.role != "user" and before is not None:
                kept.add(id(before))
            return
        if message.role == "user":
            before = message
