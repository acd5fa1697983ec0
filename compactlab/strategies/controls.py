"""Bounds and other controls: keep all, keep none, random, the oracle, as recorded."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Annotated

from compactlab.sim.core.limits import between
from compactlab.sim.core.view import Messages, Phase, View
from compactlab.sim.replay.host import Host, Recorded
from compactlab.sim.replay.recording import compacted
from compactlab.sim.replay.strategy import Act, Strategy
from compactlab.strategies.mechanisms.cut import current_turn, exchanges, tail, unasked


@dataclass(frozen=True)
class KeepAll(Strategy):
    """Send all messages.

    Forgets nothing and keeps the cached prefix, but exceeds the context window sooner or later.
    """

    waits = "nothing"

    def compact(self, view: View, host: Host) -> View:
        return view


@dataclass(frozen=True)
class KeepNone(Strategy):
    """Send only the current turn.

    Its figures show what an empty memory is worth.
    """

    does = (Act.TRUNCATE,)
    waits = "a new turn"

    def compact(self, view: View, host: Host) -> View:
        return view.with_messages(tail(view.messages, current_turn(view.messages)))


@dataclass(frozen=True)
class RandomKeep(Strategy):
    """Keep the current turn, and each earlier exchange with a fixed probability.

    A strategy that keeps as much and recalls no more selects no better than chance. Each exchange
    is drawn once, when its turn is over.

    Parameters
    ----------
    share
        Probability that an exchange is kept, 0 to 1.
    """

    does = (Act.TRUNCATE,)
    waits = "nothing: at every call"

    share: Annotated[float, between(0, 1)] = 0.5
    phases = frozenset({Phase.BEFORE_TURN})

    def compact(self, view: View, host: Host) -> View:
        messages, now = view.messages, current_turn(view.messages)
        start = self._tossed(messages, host)
        new = exchanges(messages[start:now])
        if start and any(exchange[0].role == "tool" for exchange in new):
            start, new = 0, exchanges(messages[:now])  # a late result, whose call is earlier
        dropped = {
            message.id
            for exchange in new
            if host.rng(exchange[0].id).random() >= self.share
            for message in exchange
        }
        left = (
            [message for message in messages if message.id not in dropped] if dropped else messages
        )
        index = now - len(dropped)
        host.notes["tossed"] = [index, left[index - 1].id if index else ""]
        if any(message.role == "tool" for message in messages[now:]):
            # A late result is kept or removed with its call, which may be gone.
            late = set(map(id, unasked(left))) & set(map(id, messages[now:]))
            left = [message for message in left if id(message) not in late]
        return view.with_messages(left)

    @staticmethod
    def _tossed(messages: Messages, host: Host) -> int:
        """Count the leading messages that were drawn and kept; another draw gives the same."""
        index, id = host.notes.get("tossed", (0, ""))
        stands = 0 < index <= len(messages) and messages[index - 1].id == id
        return index if stands else 0


@dataclass(frozen=True)
class Oracle(Strategy):
    """Keep the current turn, and only those earlier messages that later calls need.

    ``host.needs`` has the needs: words that recorded actions use, and statements of the facts that
    labels name. Of several statements the newest is kept, with its whole exchange. A user message
    comes first, as providers require. No real agent can do this: it shows the smallest context that
    forgets nothing. It is not a bound on cost, because it rewrites the prompt after the last use of
    each statement.

    If the prompt is too large, only the user's message and the newest exchange of the current turn
    are kept without being needed.
    """

    does = (Act.TRUNCATE,)
    waits = "nothing: at every call"

    phases = frozenset({Phase.BEFORE_TURN, Phase.ON_OVERFLOW})
    sees_future = True

    def compact(self, view: View, host: Host) -> View:
        return _needed(view, host)


@dataclass(frozen=True)
class TaskEnd(Strategy):
    """Compact at the end of a task, with hindsight, to the messages that later calls need.

    An agent that compacts by itself (Amp's handoff, Codex' ``new_context``) chooses the moment and
    the content; no log has these decisions. This is an upper bound on their memory. A task ends
    before a user message if most of the prompt is not needed again. Then it keeps what
    :class:`Oracle` keeps, free of charge and without a summary. In between the prompt only grows.
    It is not a strict bound on cost, because ``gain`` is a setting.

    Parameters
    ----------
    gain
        Share of the prompt that is not needed again when a task ends; 0 is the oracle.
    """

    does = (Act.TRUNCATE,)
    waits = "a new turn, when most is not needed again"

    gain: Annotated[float, between(0, 1)] = 0.5
    phases = frozenset({Phase.BEFORE_TURN, Phase.ON_OVERFLOW})
    sees_future = True

    def compact(self, view: View, host: Host) -> View:
        after, refused = _needed(view, host), host.phase is Phase.ON_OVERFLOW
        enough = host.count(after) <= (1 - self.gain) * host.count(view)
        return after if refused or enough else view


def _needed(view: View, host: Host) -> View:
    """Return the view with the current turn, and the earlier messages that later calls need."""
    messages, needs = view.messages, host.needs
    retained = _current(messages, overflow=host.phase is Phase.ON_OVERFLOW)
    covered = needs.held_by(view.system)
    for message in messages:
        if id(message) in retained:
            covered |= needs.held_in(message)
    for exchange in reversed(exchanges(messages)):
        held = reduce(or_, map(needs.held_in, exchange))
        if held & ~covered or not retained.isdisjoint(map(id, exchange)):
            retained.update(map(id, exchange))
            covered |= held
    _begin_with_the_user(messages, retained)
    return view.with_messages([message for message in messages if id(message) in retained])


def _current(messages: Messages, *, overflow: bool) -> set[int]:
    """Return the object ids of messages that are always kept."""
    now = current_turn(messages)
    if not overflow:
        return set(map(id, messages[now:]))
    newest = len(messages) - 1
    while newest > now and messages[newest].role != "assistant":
        newest -= 1
    return set(map(id, (*messages[now : now + 1], *messages[newest:])))


def _begin_with_the_user(messages: Messages, retained: set[int]) -> None:
    """Keep the user message before the first kept message, if that is not the user's."""
    before = None
    for message in messages:
        if id(message) in retained:
            if message.role != "user" and before is not None:
                retained.add(id(before))
            return
        if message.role == "user":
            before = message


@dataclass(frozen=True)
class AsRecorded(Strategy):
    """Compact when the recorded agent did, with the recorded result.

    The session as recorded. It keeps everything in synthetic conversations. A compaction has its
    cost in the log, or none if the log lacks it; reports count these.
    """

    waits = "the recorded agent"

    def compact(self, view: View, host: Host) -> View:
        done = host.notes.get("done", 0)
        for recorded in host.recorded[done:]:
            if recorded.compaction.call is not None:
                host.charge(view, recorded.compaction.call)
            view = view.with_messages(_repeat(view.messages, recorded, host.log))
        host.notes["done"] = len(host.recorded)
        return view


def _repeat(messages: Messages, recorded: Recorded, log: Messages) -> Messages:
    """Compact when the recorded agent did; later messages are kept."""
    later: set[str] = set()
    for message in reversed(log):
        if message.id == recorded.last:
            break
        later.add(message.id)
    then = len(messages)
    while then and messages[then - 1].id in later:
        then -= 1
    return compacted(messages[:then], recorded.compaction).append(*messages[then:])
