"""The state of one replay: its messages, and the strategies' view of them."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Any

from compactlab.sim.cache.prompt import Prompt
from compactlab.sim.core.blocks import blocks_of
from compactlab.sim.core.conversation import Compaction
from compactlab.sim.core.errors import ContractError
from compactlab.sim.core.message import Message, Part
from compactlab.sim.core.view import Messages, Phase, View
from compactlab.sim.replay.host import Compacted, Host, Recorded, State
from compactlab.sim.replay.strategy import Lifetime, Strategy

_SHORTENED = ("truncated", "stub")
_CALLS = 1_000  # most calls in one silence


def loses(before: Messages, after: Messages) -> bool:
    """Whether content of one sequence is missing in the other.

    The same text in another message does not replace a lost message.
    """
    gone, come = before.difference(after)
    if not gone:
        return False
    texts = {part.text for message in come for part in message.parts}
    # Without shared storage, one of two equal messages may be gone.
    once = before.stored_with(after)
    doubtful = []
    for message in gone:
        for part in message.parts:
            if part.kind == "synthetic":
                continue
            if part.text in texts or part.kind in _SHORTENED:
                doubtful.append((message, part))
            elif once or not after.holds(message):
                return True  # the usual case: the removed message is completely gone
    missing = _missing(doubtful, come) if doubtful else ()
    return any(once or not after.holds(message) for message in missing)


def _missing(doubtful: list[tuple[Message, Part]], come: list[Message]) -> Iterator[Message]:
    """Yield the messages of parts that the new messages do not replace.

    A result that was shortened for one request and is whole again is not lost.
    """
    arrived = [part for message in come for part in message.parts]
    present = {(part.text, _origin(part)) for part in arrived}
    whole = {s.id for part in arrived if part.kind == "verbatim" for s in part.sources}
    for message, part in doubtful:
        origin = _origin(part)
        again = part.kind in _SHORTENED and whole.issuperset(origin)
        if not again and (part.text, origin) not in present:
            yield message


def _origin(part: Part) -> tuple[str, ...]:
    return tuple(source.id for source in part.sources)


@dataclass
class Session:
    """A log, and the view that the strategies keep of it.

    Every method that calls a strategy takes the host as an argument.
    """

    parts: tuple[Strategy, ...]  # in call order
    view: View  # the initial view: the system blocks
    targets: frozenset[str] = frozenset()  # ids of the messages to which the script will rewind

    def __post_init__(self) -> None:
        notes: list[dict[str, Any]] = [{} for _ in self.parts]
        self.state = State(self.view, Messages(), notes)
        self._snapshots = {"": self.state.snapshot()}
        self._asked = {
            lifetime: {
                phase: [
                    (index, part)
                    for index, part in enumerate(self.parts)
                    if phase in part.phases and part.lifetime is lifetime
                ]
                for phase in Phase
            }
            for lifetime in Lifetime
        }
        self._lasting = self._asked[Lifetime.SESSION]
        self._turns = any(part.lifetime is Lifetime.TURN for part in self.parts)
        self._requests = any(part.lifetime is Lifetime.REQUEST for part in self.parts)
        self._idle = [n for n, part in enumerate(self.parts) if Phase.ON_IDLE in part.phases]
        self.now = 0.0
        self._misjudged: list[float] = []

    def append(self, message: Message, host: Host) -> None:
        state, time = self.state, message.time
        if self._idle and state.log and time:
            self._wait(time, host)
        self.now = max(self.now, time)
        state.log = state.log.append(message)
        state.view = state.view.append(message)
        if state.turn is not None:
            state.turn = state.turn.append(message)
        state.new_turn = state.new_turn or message.starts_turn
        host.now = self.now
        if message.id in self.targets:
            self._snapshots[message.id] = state.snapshot()

    def note(self, compaction: Compaction) -> None:
        """Record a compaction of the recorded agent."""
        last = self.state.log[-1].id if self.state.log else ""
        self.state.recorded = (*self.state.recorded, Recorded(compaction, last))

    def rewind(self, to: str, host: Host) -> None:
        """Restore the state after an earlier message."""
        self.state = self._snapshots[to].snapshot()
        self.state.rewound = True
        host.state = self.state

    def _wait(self, until: float, host: Host) -> None:
        """Advance the time, and call the strategies that act when idle."""
        due: dict[float, list[int]] = {}
        for index in self._idle:
            due.setdefault(self._told(index, host).silence(host), []).append(index)
        for _ in range(_CALLS):
            seconds = min((moment for moment in due if moment >= 0), default=until)
            if until - self.now <= seconds:
                break
            host.now = self.now + seconds
            called = due.pop(seconds)
            self.compact(Phase.ON_IDLE, host, [self.parts[index] for index in called])
            for index in called:
                if (more := self._told(index, host).again(host)) > 0:
                    due.setdefault(seconds + more, []).append(index)

    def _told(self, index: int, host: Host) -> Strategy:
        """Return a strategy, whose notes the host has then."""
        part = self.parts[index]
        host.asking, host.notes = part, self.state.notes[index]
        return part

    def rest(self, host: Host) -> None:
        """Let the session idle at its end: strategies cannot know that no message follows."""
        if self._idle and self.now:
            self._wait(float("inf"), host)

    def compact(self, phase: Phase, host: Host, among: Container[Strategy] | None = None) -> None:
        """Call the strategies that change the session's view."""
        if not self._lasting[phase]:
            return
        before = self.state.view
        after = self._ask(host, phase, Lifetime.SESSION, before, among)
        if after is before:
            return
        if loses(before.messages, after.messages):
            count = blocks_of(host.model.tokenizer).of_view
            tokens = count(before), count(after)
            last = self.state.log[-1].id if self.state.log else ""
            removed = len(after.messages) < len(before.messages)
            self.state.compactions.append(Compacted(*tokens, last, removed))
        if self.state.turn is not None:
            self.state.turn = self._carried(before, after, self.state.turn)
        self.state.view = after

    @staticmethod
    def _carried(before: View, after: View, turn: View) -> View | None:
        """Extend the turn's view if the session's view only grew; else end it."""
        shared = before.messages.shared(after.messages)
        if before.system == after.system and shared == len(before.messages):
            return turn.append(*after.messages[shared:])
        return None

    def project(self, host: Host) -> View:
        """Return the prompt: the session's view as changed by strategies of turns and requests."""
        view = self.state.view
        if self._turns:
            if self.state.new_turn:
                view = self._ask(host, Phase.BEFORE_TURN, Lifetime.TURN, view)
            elif self.state.turn is not None:
                view = self.state.turn
            view = self.state.turn = self._ask(host, Phase.BEFORE_CALL, Lifetime.TURN, view)
        if not self._requests:
            return view
        if self.state.new_turn:
            view = self._ask(host, Phase.BEFORE_TURN, Lifetime.REQUEST, view)
        return self._ask(host, Phase.BEFORE_CALL, Lifetime.REQUEST, view)

    def relieve(self, prompt: View, host: Host) -> View:
        """Call the strategies once for a prompt that exceeds the window."""
        before = self.state.view
        self.compact(Phase.ON_OVERFLOW, host)
        if self.state.view is not before:
            prompt = self.project(host)
        if self._asked[Lifetime.TURN][Phase.ON_OVERFLOW]:
            turn = self.state.turn or self.state.view
            self.state.turn = self._ask(host, Phase.ON_OVERFLOW, Lifetime.TURN, turn)
            if self.state.turn is not turn:
                prompt = self._ask(host, Phase.BEFORE_CALL, Lifetime.REQUEST, self.state.turn)
        return self._ask(host, Phase.ON_OVERFLOW, Lifetime.REQUEST, prompt)

    def _ask(
        self,
        host: Host,
        phase: Phase,
        lifetime: Lifetime,
        view: View,
        among: Container[Strategy] | None = None,
    ) -> View:
        notes = self.state.notes
        host.phase = phase
        for index, part in self._asked[lifetime][phase]:
            if among is not None and part not in among:
                continue
            host.asking, host.notes, host.belief = part, notes[index], None
            before, view = view, part.compact(view, host)
            if not isinstance(view, View):
                raise ContractError(f"{part.spec} returned {type(view).__name__}, not a View")
            # A refused request was started by its size, not by an estimate of it.
            if view is before or host.belief is None or phase is Phase.ON_OVERFLOW:
                continue
            if loses(before.messages, view.messages):
                believed, weighed = host.belief
                prompt = Prompt(host.model.tokenizer, strips=host.model.strips_thinking)
                prompt.move(weighed)
                self._misjudged.append(believed - prompt.tokens)
        return view

    def misjudged(self) -> tuple[float, ...]:
        """Return by how much estimates that started compactions were too large, since last asked.

        Strategies declare their estimates by :meth:`.Host.believe`.
        """
        taken, self._misjudged = tuple(self._misjudged), []
        return taken
