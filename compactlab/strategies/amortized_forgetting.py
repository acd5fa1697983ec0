"""Forget the middle, half of the history at a time: OpenHands' amortised forgetting."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from compactlab.sim.host import Host
from compactlab.sim.strategy import Strategy
from compactlab.sim.view import View
from compactlab.strategies.mechanisms.forgetting import forgotten


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

    max_size: int = 100
    keep_first: int = 1

    breaks = MappingProxyType(
        {
            "pairs": "it cuts between a call and its result; openhands-ai 0.62.0",
            "last user message": "in a long turn it is neither first nor new; openhands-ai 0.62.0",
        }
    )

    def __post_init__(self) -> None:
        if self.max_size < 1:
            raise ValueError(f"max_size must be at least 1, not {self.max_size}")
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
