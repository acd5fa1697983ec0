"""The null strategy at the dear end: everything is kept, whatever the window."""

from __future__ import annotations

from dataclasses import dataclass

from compactlab.sim.host import Host
from compactlab.sim.strategy import Strategy
from compactlab.sim.view import View


@dataclass(frozen=True)
class KeepAll(Strategy):
    """Send everything that was ever said.

    Forgets nothing and leaves the cached prefix alone; runs over the window, sooner or later.
    """

    def compact(self, view: View, host: Host) -> View:
        """Leave it alone."""
        return view
