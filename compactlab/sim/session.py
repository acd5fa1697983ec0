"""The state of one replay: what was said, and what the strategies made of it."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import Any

from compactlab.sim.conversation import Compaction
from compactlab.sim.errors import ContractError
from compactlab.sim.host import Compacted, Host, Recorded
from compactlab.sim.message import Message
from compactlab.sim.phase import Phase
from compactlab.sim.strategy import Lifetime, Strategy
from compactlab.sim.view import Messages, View


def loses(before: Messages, after: Messages) -> bool:
    """Whether content of the one is missing in the other."""
    gone, come = before.difference(after)
    present = {(part.type, part.text) for message in come for part in message.parts}
    return any(
        (part.type, part.text) not in present
        for message in gone
        for part in message.parts
        if part.kind != "synthetic"
    )


@dataclass
class _State:
    """What a rewind takes back."""

    view: View
    log: Messages
    notes: list[dict[str, Any]]
    turn: View | None = None
    sent: View | None = None
    heard: int = 0
    compactions: list[Compacted] = field(default_factory=list)
    recorded: tuple[Recorded, ...] = ()

    def snapshot(self) -> _State:
        notes, compactions = copy.deepcopy(self.notes), list(self.compactions)
        return replace(self, notes=notes, compactions=compactions)


@dataclass
class Session:
    """A log, and the view that the strategies keep of it.

    Parameters
    ----------
    parts
        The strategies, in the order in which they are asked.
    view
        The view before anything was said: the system blocks.
    host
        The door that the strategies are handed.
    targets
        Ids of the messages to which the script will rewind.
    """

    parts: tuple[Strategy, ...]
    view: View
    host: Host
    targets: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        notes: list[dict[str, Any]] = [{} for _ in self.parts]
        self.state = _State(self.view, Messages(), notes)
        self._snapshots = {"": self.state.snapshot()}
        self._asked = {
            (phase, lifetime): [
                (index, part)
                for index, part in enumerate(self.parts)
                if phase in part.phases and part.lifetime is lifetime
            ]
            for phase in Phase
            for lifetime in Lifetime
        }
        self._turns = any(part.lifetime is Lifetime.TURN for part in self.parts)
        self._idle = sorted({p.idle_after for p in self.parts if Phase.ON_IDLE in p.phases})
        self.now = 0.0
        self.new_turn = False

    def append(self, message: Message) -> None:
        """Something was said."""
        if self._idle and self.state.log and message.time:
            self._wait(message.time)
        self.now = max(self.now, message.time)
        state = self.state
        state.log = state.log.append(message)
        state.view = state.view.append(message)
        if state.turn is not None:
            state.turn = state.turn.append(message)
        if message.starts_turn:
            self.new_turn = True
        if message.id in self.targets:
            self._snapshots[message.id] = state.snapshot()

    def note(self, compaction: Compaction) -> None:
        """The recorded agent compacted its context here."""
        last = self.state.log[-1].id if self.state.log else ""
        self.state.recorded = (*self.state.recorded, Recorded(compaction, last))

    def rewind(self, to: str) -> None:
        """Go back to the moment after a message was said."""
        self.state = self._snapshots[to].snapshot()

    def _wait(self, until: float) -> None:
        """Let time pass, and ask whoever wants to be asked in the silence."""
        for seconds in self._idle:
            if until - self.now > seconds:
                self.host.now = self.now + seconds
                self.compact(Phase.ON_IDLE, seconds)

    def compact(self, phase: Phase, idle_after: float | None = None) -> None:
        """Ask those strategies that change the session's view."""
        if not self._asked[phase, Lifetime.SESSION]:
            return
        before = self.state.view
        after = self._ask(phase, Lifetime.SESSION, before, idle_after)
        if after is before:
            return
        if loses(before.messages, after.messages):
            tokens = self.host.count(before), self.host.count(after)
            last = self.state.log[-1].id if self.state.log else ""
            self.state.compactions.append(Compacted(*tokens, last))
        self.state.view, self.state.turn = after, None

    def project(self) -> View:
        """What is to be sent now: the session's view as turn and request parts change it."""
        view = self.state.view
        if self._turns:
            if self.new_turn:
                view = self._ask(Phase.BEFORE_TURN, Lifetime.TURN, view)
            elif self.state.turn is not None:
                view = self.state.turn
            view = self.state.turn = self._ask(Phase.BEFORE_CALL, Lifetime.TURN, view)
        if self.new_turn:
            view = self._ask(Phase.BEFORE_TURN, Lifetime.REQUEST, view)
        return self._ask(Phase.BEFORE_CALL, Lifetime.REQUEST, view)

    def _ask(
        self, phase: Phase, lifetime: Lifetime, view: View, idle_after: float | None = None
    ) -> View:
        host, state = self.host, self.state
        for index, part in self._asked[phase, lifetime]:
            if idle_after is not None and part.idle_after != idle_after:
                continue
            host.phase, host.log = phase, state.log
            host.notes, host.compactions = state.notes[index], state.compactions
            host.recorded, host.asking = state.recorded, part
            view = part.compact(view, host)
            if not isinstance(view, View):
                raise ContractError(f"{part.spec} returned {type(view).__name__}, not a View")
        return view
