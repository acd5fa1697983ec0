"""Compaction by providers within a request: a block in front of the answer."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated

from compactlab.sim.core.limits import Limit
from compactlab.sim.core.view import View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Strategy
from compactlab.strategies.mechanisms.handover import INSTRUCTIONS, live_request, summary_message
from compactlab.strategies.mechanisms.sealed import Item, sealed
from compactlab.strategies.mechanisms.trigger import Trigger, tokens_at

LEAST = 50_000  # the API takes no smaller trigger
# OpenAI's, by what OpenClaw 2026.9.6 sends at least.
OPAQUE_LEAST = 1000
_COMPACTS = 150_000  # input tokens, by the documentation
_PASS = Limit(
    f"at least {LEAST} tokens, or a share of the window", lambda value: not 1 < value < LEAST
)
_MAX_TOKENS = 16_000  # the maximum length of a block is not documented


@dataclass(frozen=True)
class ServerCompaction(Strategy):
    """Let the provider begin its answer with a summary, and ignore everything before it.

    After ``compact_20260112`` of Anthropic's API (beta ``compact-2026-01-12``), by its
    documentation and the types of the Python SDK (2.12): if a request exceeds the trigger, an extra
    sampling pass over the whole prompt writes a compaction block. It is billed as a separate
    iteration and reads the cache. The answer and all later requests start from the block. A failed
    pass gives an empty block, which changes nothing. With ``opaque=True`` the block is encrypted,
    like OpenAI's compaction item (``context_management`` with ``compact_threshold``), so its text
    is unknown.

    Simplified: the block is a separate message before the answer; the provider's real prompt and
    summary are unknown; pausing after a compaction is not built.

    Parameters
    ----------
    trigger
        Input tokens, or the share of the window, above which it compacts; None for 150,000, the
        API's default. The API's minimum is 50,000 (OpenAI's 1,000); smaller shares are raised to
        it.
    instructions
        Replacement for the provider's prompt; only its length matters.
    opaque
        Whether the block's text is hidden.
    item
        The kind of a hidden block: its size is that of a simulated summary and its content unknown,
        or both are as measured (:mod:`~compactlab.strategies.mechanisms.sealed`).
    """

    does = (Act.SUMMARISE,)

    trigger: Annotated[Trigger, _PASS] = _COMPACTS
    instructions: str = ""
    opaque: bool = False
    item: Item = "unknown"

    breaks = MappingProxyType(
        {"last user message": "all before the block is ignored; compact_20260112"}
    )

    def compact(self, view: View, host: Host) -> View:
        least = OPAQUE_LEAST if self.opaque else LEAST
        if host.count(view) <= max(least, tokens_at(self.trigger, host, _COMPACTS)):
            return view
        most = host.model.max_output or _MAX_TOKENS
        asked = self.instructions or INSTRUCTIONS
        summary = host.summarize(view, live_request(view.messages, most, asked))
        if not summary:
            return view
        if self.opaque:
            tokens = sum(map(host.count, summary)) / host.model.tokenizer.factor
            summary = (sealed(self.item, summary, view.messages, round(tokens), host),)
        return view.with_messages([summary_message(host, summary, "assistant", lead="")])
