"""Summarise the old part of the history when the window fills: pi's compaction."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from compactlab.sim.host import Host
from compactlab.sim.phase import Phase
from compactlab.sim.strategy import Strategy
from compactlab.sim.view import View
from compactlab.strategies.mechanisms.cut import keep_recent, tail
from compactlab.strategies.mechanisms.estimate import estimate
from compactlab.strategies.mechanisms.summary import split_summary, summarise, summary_first
from compactlab.strategies.mechanisms.trigger import over_reserve


@dataclass(frozen=True)
class AutoCompact(Strategy):
    """Summarise what is older than the tail as soon as the context grows into the reserve.

    After pi's compaction with OpenClaw's reserve floor; simplified in that it is asked before
    every call, and that a turn is never split in two summaries.

    Parameters
    ----------
    reserve_tokens
        Tokens of the window that the context may not grow into.
    keep_recent_tokens
        Tokens of the tail that stays as it is.
    rides
        How the request for the summary is built: ``fresh`` or ``live``.
    """

    reserve_tokens: int = 20_000
    keep_recent_tokens: int = 20_000
    rides: Literal["live", "fresh"] = "fresh"
    phases = frozenset({Phase.BEFORE_CALL, Phase.ON_OVERFLOW})

    breaks = MappingProxyType(
        {"last user message": "in a long turn the tail may begin after it; so in the original"}
    )

    def __post_init__(self) -> None:
        if min(self.reserve_tokens, self.keep_recent_tokens) < 0:
            raise ValueError("reserve_tokens and keep_recent_tokens must not be negative")

    def compact(self, view: View, host: Host) -> View:
        """Replace the old part, if it is time."""
        if host.phase is not Phase.ON_OVERFLOW and not over_reserve(
            view, host, self.reserve_tokens
        ):
            return view
        previous, messages = split_summary(view.messages)
        cut = keep_recent(messages, self.keep_recent_tokens, estimate)
        if not cut:
            return view
        summary = summarise(
            view,
            host,
            messages[:cut],
            previous=previous,
            max_tokens=int(0.8 * self.reserve_tokens),
            rides=self.rides,
        )
        return summary_first(view, host, summary, tail(messages, cut))
