"""Summarise, but keep the last of what is summarised word for word: OpenClaw pull request 3968."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from compactlab.sim.host import Host
from compactlab.sim.strategy import Strategy
from compactlab.sim.view import View
from compactlab.strategies.mechanisms.openclaw.buffer import buffer_section, buffered
from compactlab.strategies.mechanisms.openclaw.failures import failure_section, tool_failures
from compactlab.strategies.mechanisms.openclaw.safeguard import Safeguard
from compactlab.strategies.mechanisms.pi.compaction import PHASES, Rules, occasion
from compactlab.strategies.mechanisms.pi.file_lists import file_section
from compactlab.strategies.mechanisms.pi.summary import Scribe


@dataclass(frozen=True)
class RecencyBuffer(Strategy):
    """Summarising compaction whose summary ends with the newest of the old messages, verbatim.

    OpenClaw pull request 3968 (not merged), on top of the safeguard of OpenClaw 2026.1.29, on top
    of pi's compaction; when it compacts and what it cuts off is told at ``auto_compact``. The
    buffer is taken from what would be summarised, never from the turn that is cut in two nor from
    pi's own tail: it preserves the border between the summary and the tail. Only the words of its
    messages survive: calls, thinking and images vanish, and an answer that only calls tools is an
    empty line. The next compaction hands the whole summary, its verbatim section included, on as
    the previous one: what was verbatim is then summarised.

    Of the safeguard, built are: the summary in stages (two halves and a third request that makes
    them one, where the history is more than one request may take), the share of the history, the
    failures of tools, the file lists, which it does not carry on, and the order of all of these.
    Simplified: no request fails, so that nothing is left out as too large and there is no
    fall-back text; status and exit code of a failure are not known.

    Parameters
    ----------
    enabled
        Whether there is a buffer; off in the original. Without it this is OpenClaw's safeguard.
    keep_messages
        Messages in the buffer, at most.
    keep_tokens
        Estimated tokens in the buffer, at most, but for the newest message, which is always kept.
    reserve_tokens
        Tokens of the window that the context may not grow into.
    reserve_tokens_floor
        OpenClaw raises the reserve to so many tokens.
    keep_recent_tokens
        Estimated tokens of the tail that stays as it is.
    max_history_share
        If what is new takes more than this share of the window (and a fifth), the history is
        pruned to the share before it is summarised; what is pruned is summarised first. 0.1 to 0.9.
    version
        Of pi, see ``auto_compact``.
    """

    enabled: bool = True
    keep_messages: int = 10
    keep_tokens: int = 2000
    reserve_tokens: int = 16_384
    reserve_tokens_floor: int = 20_000
    keep_recent_tokens: int = 20_000
    max_history_share: float = 0.5
    version: Literal["0.49.3", "0.58.0", "0.73.1"] = "0.49.3"
    phases = PHASES

    breaks = MappingProxyType(
        {
            "last user message": "a cut may fall inside a turn: its beginning is summarised (all)",
            "size": "where nothing can be cut off, a summary comes on top of everything (all)",
        }
    )

    def __post_init__(self) -> None:
        for name in ("reserve_tokens", "reserve_tokens_floor", "keep_recent_tokens"):
            value = getattr(self, name)
            if value < 0:
                raise ValueError(f"{name} must be a number of tokens, 0 or more, not {value}")
        for name in ("keep_messages", "keep_tokens"):
            value = getattr(self, name)
            if value < 0:
                raise ValueError(f"{name} must be 0 or more, not {value}")
        if not 0.1 <= self.max_history_share <= 0.9:
            raise ValueError("max_history_share must be a share of the window, 0.1 to 0.9")

    def compact(self, view: View, host: Host) -> View:
        """Replace the old part, if it is time."""
        rules = Rules.of(self)
        now = occasion(view, host, rules)
        if now is None:
            return view
        prepared = now.prepared
        old = prepared.history
        end = len(old) - buffered(old, self.keep_messages, self.keep_tokens, self.enabled)
        scribe = Scribe(now.view, host, max(1, rules.reserve), self.version)
        safeguard = Safeguard(scribe, self.max_history_share)
        history, previous = safeguard.fitted(old[:end], prepared)
        parts = [
            *safeguard.summary(history, prepared, previous),
            *buffer_section(old[end:]),
            *failure_section(tool_failures([*old, *prepared.prefix])),
            *file_section(prepared.files),
        ]
        return now.replaced(host, parts)
