"""The null strategy at the cheap end: nothing is kept but the current turn."""

from __future__ import annotations

from dataclasses import dataclass

from compactlab.sim.host import Host
from compactlab.sim.strategy import Strategy
from compactlab.sim.view import View
from compactlab.strategies.mechanisms.cut import current_turn, tail


@dataclass(frozen=True)
class KeepNone(Strategy):
    """Send the current turn alone.

    Whatever a table shows for this one is what an empty memory is worth.
    """

    def compact(self, view: View, host: Host) -> View:
        """Cut before the last message that a person typed."""
        return view.with_messages(tail(view.messages, current_turn(view.messages)))
