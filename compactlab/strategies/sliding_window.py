"""Send the newest messages only."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from compactlab.sim.host import Host
from compactlab.sim.strategy import Strategy
from compactlab.sim.view import View
from compactlab.strategies.mechanisms.cut import tail


@dataclass(frozen=True)
class SlidingWindow(Strategy):
    """Send the newest messages only.

    Cheap in tokens and unkind to the cache: from the moment that the window is full, the prompt
    begins with another message at every call, so nothing of it can be read.

    Parameters
    ----------
    keep
        How many messages; fewer where the first would be a result without its call, and more
        where there would be nothing but results.
    """

    keep: int = 20

    breaks = MappingProxyType({"last user message": "in a long turn the tail may begin after it"})

    def __post_init__(self) -> None:
        if self.keep < 1:
            raise ValueError(f"keep must be at least 1, not {self.keep}")

    def compact(self, view: View, host: Host) -> View:
        """Cut off the front."""
        messages = view.messages
        if len(messages) <= self.keep:
            return view
        return view.with_messages(tail(messages, len(messages) - self.keep))
