"""Send the newest messages only."""

from __future__ import annotations

from dataclasses import dataclass

from compactlab.sim.host import Host
from compactlab.sim.strategy import Strategy
from compactlab.sim.view import View


@dataclass(frozen=True)
class SlidingWindow(Strategy):
    """Send only the newest messages."""

    keep: int = 20

    def compact(self, view: View, host: Host) -> View:
        """Cut off the front."""
        return view.with_messages(view.messages[-self.keep :])
