"""Summarise, but keep the last turns of what is summarised: what OpenClaw shipped in March 2026."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from compactlab.sim.host import Host
from compactlab.sim.message import Message
from compactlab.sim.messages import Messages
from compactlab.sim.strategy import Strategy
from compactlab.sim.view import View
from compactlab.strategies.mechanisms.estimate import role_of
from compactlab.strategies.mechanisms.openclaw.failures import failure_section, tool_failures
from compactlab.strategies.mechanisms.openclaw.pairs import repair
from compactlab.strategies.mechanisms.openclaw.preserved import split_turns, turns_section
from compactlab.strategies.mechanisms.openclaw.safeguard import OVERHEAD, Safeguard
from compactlab.strategies.mechanisms.openclaw.stages import MARGIN
from compactlab.strategies.mechanisms.pi.compaction import PHASES, Rules, occasion
from compactlab.strategies.mechanisms.pi.file_lists import file_section
from compactlab.strategies.mechanisms.pi.instructions import STRUCTURE
from compactlab.strategies.mechanisms.pi.summary import Scribe

_REAL = ("user", "assistant", "toolResult")


@dataclass(frozen=True)
class PreserveTurns(Strategy):
    """Summarising compaction whose summary ends with the last turns of what it replaces.

    The safeguard of OpenClaw 2026.3.13, on top of pi's compaction (see ``auto_compact``). The turns
    are taken from what would be summarised; each message is a line of at most 600 characters, so
    that long ones are cut, and calls, thinking and images are only named. Where there is nothing
    to be summarised but messages of extensions, it does not compact.

    Built are the same pieces as in ``recency_buffer``, and of what came later the repair of what is
    left to be summarised, smaller pieces, the headings that a summary must have, and the refusal
    to compact nothing. Left out: the check of a summary's quality (off by default), the rules from
    ``AGENTS.md``, and the headings where there is neither a history nor a previous summary.

    Parameters
    ----------
    recent_turns_preserve
        Turns that are kept, at most 12.
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

    recent_turns_preserve: int = 3
    reserve_tokens: int = 16_384
    reserve_tokens_floor: int = 20_000
    keep_recent_tokens: int = 20_000
    max_history_share: float = 0.5
    version: Literal["0.49.3", "0.58.0", "0.73.1"] = "0.58.0"
    phases = PHASES

    breaks = MappingProxyType(
        {
            "last user message": "a cut may fall inside a turn: its beginning is summarised (all)",
            "size": "where little can be cut off, a summary may be larger than that (all)",
        }
    )

    def __post_init__(self) -> None:
        for name in ("reserve_tokens", "reserve_tokens_floor", "keep_recent_tokens"):
            value = getattr(self, name)
            if value < 0:
                raise ValueError(f"{name} must be a number of tokens, 0 or more, not {value}")
        if not 0 <= self.recent_turns_preserve <= 12:
            turns = self.recent_turns_preserve
            raise ValueError(f"recent_turns_preserve must be 0 to 12 turns, not {turns}")
        if not 0.1 <= self.max_history_share <= 0.9:
            raise ValueError("max_history_share must be a share of the window, 0.1 to 0.9")

    def compact(self, view: View, host: Host) -> View:
        """Replace the old part, if it is time."""
        rules = Rules.of(self)
        now = occasion(view, host, rules)
        if now is None:
            return view
        prepared = now.prepared
        old = [*prepared.history, *prepared.prefix]
        if not any(role_of(message) in _REAL for message in old):
            return view
        scribe = Scribe(now.view, host, max(1, rules.reserve), self.version)
        safeguard = Safeguard(
            scribe, self.max_history_share, STRUCTURE, OVERHEAD, MARGIN, _repaired
        )
        rest, previous = safeguard.fitted(prepared.history, prepared)
        history, turns = split_turns(Messages(rest), self.recent_turns_preserve)
        parts = [
            *safeguard.summary(history, prepared, previous),
            *turns_section(turns),
            *failure_section(tool_failures(old)),
            *file_section(prepared.files),
        ]
        return now.replaced(host, parts)


def _repaired(messages: list[Message]) -> Messages:
    return repair(Messages(messages)).messages
