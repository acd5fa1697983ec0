"""The provider compacts within a request: Anthropic's and OpenAI's compaction blocks."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from compactlab.sim.host import Host
from compactlab.sim.message import Part, Source
from compactlab.sim.strategy import Strategy
from compactlab.sim.summarize import SummaryRequest
from compactlab.sim.view import View
from compactlab.strategies.mechanisms.handover import (
    INSTRUCTIONS,
    split_previous,
    summary_message,
)

LEAST = 50_000  # the API takes no smaller trigger
_MAX_TOKENS = 16_000  # how long a block may get is not documented


@dataclass(frozen=True)
class ServerCompaction(Strategy):
    """Let the provider put a compaction block in front of its answer, and ignore what was before.

    After ``compact_20260112`` of Anthropic's API (beta ``compact-2026-01-12``), by its
    documentation and the types of the Python SDK (2.12): when a request has more input tokens
    than the trigger, an extra sampling pass over the whole prompt writes the block, which is
    billed as an iteration of its own and reads the cache; the answer goes on from the block alone,
    and so do all later requests. A pass that fails gives a block without content, which changes
    nothing. With ``opaque=True`` the block is encrypted, as OpenAI's compaction item
    (``context_management`` with ``compact_threshold``): no text of it is known to anybody.

    Simplified: the block stands in a message of its own in front of the answer; what the provider
    really asks for and writes is not known; pausing after a compaction is not built.

    Parameters
    ----------
    trigger
        Input tokens above which it compacts; at least 50,000.
    instructions
        What is asked for instead of the provider's own prompt; only its length matters.
    opaque
        Whether the block's text is hidden.
    """

    trigger: int = 150_000
    instructions: str = ""
    opaque: bool = False

    breaks = MappingProxyType(
        {"last user message": "all before the block is ignored; compact_20260112"}
    )

    def __post_init__(self) -> None:
        if self.trigger < LEAST:
            raise ValueError(f"trigger must be at least {LEAST}, not {self.trigger}")

    def compact(self, view: View, host: Host) -> View:
        """Put a block in the place of everything, if the request is large enough."""
        if host.count(view) <= self.trigger:
            return view
        previous, told = split_previous(view.messages)
        asked = self.instructions or INSTRUCTIONS
        most = host.model.max_output or _MAX_TOKENS
        summary = host.summarize(
            view, SummaryRequest(tuple(told), most, previous, asked, rides="live")
        )
        if not summary:
            return view
        block = (_sealed(summary, host),) if self.opaque else summary
        return view.with_messages([summary_message(host, block, "assistant", lead="")])


def _sealed(summary: tuple[Part, ...], host: Host) -> Part:
    """A summary whose text nobody sees: what it weighs, and what it stands for."""
    tokens = sum(map(host.count, summary)) / host.model.tokenizer.factor
    sources: tuple[Source, ...] = tuple(dict.fromkeys(s for p in summary for s in p.sources))
    return Part("text", "", "opaque", sources, name="compaction", size=round(tokens))
