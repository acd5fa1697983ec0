"""After a compaction, show the last messages once more: OpenClaw pull request 3599."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from compactlab.sim.host import Host
from compactlab.sim.message import Part
from compactlab.sim.messages import Messages
from compactlab.sim.phase import Phase
from compactlab.sim.strategy import Lifetime, Strategy
from compactlab.sim.view import View
from compactlab.strategies.mechanisms.cut import current_turn
from compactlab.strategies.mechanisms.openclaw.recovery import (
    HEADING,
    MOST,
    Counted,
    Quote,
    block,
    check,
    limit,
    newest,
    recover,
)
from compactlab.strategies.mechanisms.units import whole


@dataclass(frozen=True)
class ContextRecovery(Strategy):
    """For one turn after a compaction, put the last messages in front of the system prompt.

    After OpenClaw pull request 3599 (commit ebb53f39, never merged). It compacts nothing: it
    follows the compactions of other parts of a pipeline, as in ``auto_compact +
    context_recovery``, and comes in the turn after them. The block is read from the log, which
    still has what the compaction kept: so it repeats the tail that is in the prompt anyway. As it
    changes the system prompt for one turn, the whole prompt is written to the cache twice: with
    the block, and without it.

    Exact are the bookkeeping, which messages are asked for and quoted, and the block, but for its
    second line, which has our own words and the original's length. Simplified: the block goes
    before the whole system prompt and not before a section of it; a rewind takes the bookkeeping
    back and hides what it gave up; what a client attached to a session is not quoted, as OpenClaw
    leaves out its own system events. Halves of code pairs at a cut are not sent, as in pi.

    Parameters
    ----------
    messages
        User and assistant messages that are shown, 0 to 50. In the original it is 0, which is
        off, unless it is set; 10 is its example.
    chars
        UTF-16 code units of each that are shown; a constant in the original.
    """

    messages: int = 10
    chars: int = 500
    phases = frozenset({Phase.BEFORE_TURN, Phase.BEFORE_CALL})
    lifetime = Lifetime.TURN
    breaks = MappingProxyType({"size": "adds a block of what was said; pull request 3599"})

    def __post_init__(self) -> None:
        if not 0 <= self.messages <= MOST:
            raise ValueError(f"messages must be between 0 and {MOST}, not {self.messages}")
        if self.chars < 1:
            raise ValueError(f"chars must be at least 1, not {self.chars}")

    def compact(self, view: View, host: Host) -> View:
        """Add the block in the turn after a compaction, to each of its calls."""
        if not host.compactions:
            return view
        if host.phase is Phase.BEFORE_TURN:
            self._decide(host)
        start = host.notes.get("turn")
        if start is None or (view.system and view.system[0].text.startswith(HEADING)):
            return view
        pieces = block(self._quotes(host.log[:start]), chars=self.chars)
        parts = [
            Part("text", whole(text), "recovered" if sources else "synthetic", sources)
            for text, sources in pieces
        ]
        return view.with_system(*parts, *view.system)

    def _decide(self, host: Host) -> None:
        """Note where the turn begins, if it is one that has the block."""
        notes, start = host.notes, current_turn(host.log)
        notes.pop("turn", None)
        # What is compacted on the way to this very prompt is compacted after the original looks.
        turn = {message.id for message in host.log[start:]}
        compactions = len(host.compactions)
        while compactions and host.compactions[compactions - 1].last in turn:
            compactions -= 1
        needed, _, count = check(self.messages, Counted(compactions, notes.get("recovered", 0)))
        if needed and self._quotes(host.log[:start]):
            notes["recovered"], notes["turn"] = count, start

    def _quotes(self, history: Messages) -> list[Quote]:
        return recover(newest(history, limit(self.messages)), self.messages)
