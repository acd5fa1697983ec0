"""A pinned head and the newest messages: OpenHands' recent events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from compactlab.sim.host import Host
from compactlab.sim.strategy import Lifetime, Strategy
from compactlab.sim.view import View
from compactlab.strategies.mechanisms.forgetting import recent

_PARTS = {
    "pairs": "it cuts between a call and its result; openhands-ai 0.62.0",
    "last user message": "in a long turn it is neither first nor new; openhands-ai 0.62.0",
}
_TWICE = {
    "order": "the head stands twice while the history is short; openhands-ai 0.62.0",
    "size": "for the same reason",
}


@dataclass(frozen=True)
class RecentEvents(Strategy):
    """Send the first messages and the newest, for this request alone.

    ``RecentEventsCondenser`` (openhands-ai 0.62.0), exactly with ``mended=False``: then the head
    is sent twice while the history fits. Simplified in that an event is a message: the system
    prompt, an event there, is none here, and a message with several calls is one, not several;
    what the original's conversation memory does later (calls and results without their other half
    are left out) is not followed.

    Parameters
    ----------
    keep_first
        How many messages at the front stay.
    max_events
        How many messages are sent.
    mended
        Whether no message is sent twice.
    """

    keep_first: int = 1
    max_events: int = 100
    mended: bool = True
    lifetime = Lifetime.REQUEST

    def __post_init__(self) -> None:
        if self.keep_first < 0:
            raise ValueError(f"keep_first must be at least 0, not {self.keep_first}")
        if self.max_events <= self.keep_first:
            raise ValueError(
                f"max_events must be above keep_first ({self.keep_first}), not {self.max_events}"
            )

    @property
    def breaks(self) -> Mapping[str, str]:  # type: ignore[override]
        """What the original does to a history, with or without its fault."""
        return MappingProxyType(_PARTS if self.mended else _PARTS | _TWICE)

    def compact(self, view: View, host: Host) -> View:
        """Leave the middle out."""
        kept = recent(view.messages, self.keep_first, self.max_events, mended=self.mended)
        return view.with_messages(kept)
