"""OpenHands: a pinned head with recent events, and amortised forgetting of the middle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated

from compactlab.sim.core.limits import at_least
from compactlab.sim.core.messages import Messages
from compactlab.sim.core.view import View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Lifetime, Strategy


def recent(
    messages: Messages, keep_first: int, max_events: int, *, mended: bool = False
) -> Messages:
    """The first messages and the newest, as ``RecentEventsCondenser`` (openhands-ai 0.62.0).

    Unless it is mended, head and tail are put together without a look at whether they overlap: a
    history that fits has its head twice, and where the head fills the window the tail is all.
    """
    head = messages[:keep_first]
    length = max(0, max_events - len(head))
    if mended:
        start = max(len(messages) - length, len(head))
        return messages if start == len(head) else head.branch(len(head), messages[start:])
    tail = messages[-length:] if length else messages
    return head.branch(len(head), tail)


def forgotten(length: int, keep_first: int, max_size: int) -> range:
    """Which messages go, as ``AmortizedForgettingCondenser`` (openhands-ai 0.62.0).

    None until there are more than ``max_size``; then all but the first and the newest, so that
    half of that is left.
    """
    if length <= max_size:
        return range(0)
    head = len(range(length)[:keep_first])
    tail = max_size // 2 - head
    return range(head, length - tail if tail else 0)


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

    keep_first: Annotated[int, at_least(0)] = 1
    max_events: int = 100
    mended: bool = True
    lifetime = Lifetime.REQUEST

    def __post_init__(self) -> None:
        super().__post_init__()
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
        recent_events = recent(view.messages, self.keep_first, self.max_events, mended=self.mended)
        return view.with_messages(recent_events)


@dataclass(frozen=True)
class AmortizedForgetting(Strategy):
    """When the history has grown too long, keep the first messages and the newest: half of it.

    ``AmortizedForgettingCondenser`` (openhands-ai 0.62.0): what is forgotten stays forgotten, so
    the prompt is rewritten once in a while and not at every call. Simplified in that an event is a
    message: the system prompt, an event there, is none here, and a message with several calls is
    one, not several.

    Parameters
    ----------
    max_size
        How many messages there may be.
    keep_first
        How many at the front stay; fewer than half of ``max_size``.
    """

    max_size: Annotated[int, at_least(1)] = 100
    keep_first: int = 1

    breaks = MappingProxyType(_PARTS)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.keep_first < self.max_size // 2:
            raise ValueError(
                f"keep_first must be at least 0 and below half of max_size, not {self.keep_first}"
            )

    def compact(self, view: View, host: Host) -> View:
        """Forget, if the history is too long."""
        messages = view.messages
        gone = forgotten(len(messages), self.keep_first, self.max_size)
        if not gone:
            return view
        if not gone.start:
            return view.with_messages(messages[gone.stop :])
        return view.with_messages(messages.branch(gone.start, messages[gone.stop :]))
