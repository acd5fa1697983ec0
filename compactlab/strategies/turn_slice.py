"""Keep the newest turns: OpenClaw's limitHistoryTurns."""

from __future__ import annotations

from dataclasses import dataclass

from compactlab.sim.host import Host
from compactlab.sim.phase import Phase
from compactlab.sim.strategy import Lifetime, Strategy
from compactlab.sim.view import View
from compactlab.strategies.mechanisms.cut import last_turns, tail


@dataclass(frozen=True)
class TurnSlice(Strategy):
    """Send the newest turns, whole, the current one among them.

    After OpenClaw's ``limitHistoryTurns`` (2026.1.29 to 2026.3.13), which is asked once a turn.
    The original has no default limit and slices only where one is configured; ours needs one.
    A summary in front of the history is dropped like anything else.

    Parameters
    ----------
    turns
        How many turns at most.
    """

    turns: int = 10
    phases = frozenset({Phase.BEFORE_TURN})
    lifetime = Lifetime.TURN

    def __post_init__(self) -> None:
        if self.turns < 1:
            raise ValueError(f"turns must be at least 1, not {self.turns}")

    def compact(self, view: View, host: Host) -> View:
        """Cut before the oldest turn that is kept."""
        return view.with_messages(tail(view.messages, last_turns(view.messages, self.turns)))
