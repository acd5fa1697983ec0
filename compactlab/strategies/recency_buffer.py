"""Summarise, but keep the last of what is summarised word for word: OpenClaw pull request 3968."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from compactlab.sim.host import Host
from compactlab.sim.message import Message, Part
from compactlab.sim.phase import Phase
from compactlab.sim.strategy import Strategy
from compactlab.sim.view import Messages, View
from compactlab.strategies.mechanisms.cut import keep_recent, tail
from compactlab.strategies.mechanisms.estimate import estimate
from compactlab.strategies.mechanisms.summary import split_summary, summarise, summary_first
from compactlab.strategies.mechanisms.trigger import over_reserve

# The heading of the original, which the next compaction sees again.
HEADING = "## Recent Context (preserved verbatim)"


@dataclass(frozen=True)
class RecencyBuffer(Strategy):
    """Summarising compaction whose summary ends with the newest of the old messages, verbatim.

    The buffer is taken from what would be summarised, so it preserves the border between the
    summary and the tail. Only the words of its messages survive: tool calls, thinking and images
    vanish. The next compaction summarises the verbatim section with the rest.

    Parameters
    ----------
    keep_messages
        Messages in the buffer, at most.
    keep_tokens
        Tokens in the buffer, at most, but for the newest message, which is always kept.
    reserve_tokens
        Tokens of the window that the context may not grow into.
    keep_recent_tokens
        Tokens of the tail that stays as it is.
    """

    keep_messages: int = 10
    keep_tokens: int = 2000
    reserve_tokens: int = 20_000
    keep_recent_tokens: int = 20_000
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
        old = messages[:cut]
        first = cut - buffered(old, self.keep_messages, self.keep_tokens)
        max_tokens = int(0.8 * self.reserve_tokens)
        summary = summarise(view, host, old[:first], previous=previous, max_tokens=max_tokens)
        return summary_first(view, host, summary + _section(old[first:]), tail(messages, cut))


def buffered(messages: Messages, keep_messages: int, keep_tokens: int) -> int:
    """How many of the newest messages go into the buffer: whichever limit is hit first."""
    count, tokens = 0, 0
    for message in reversed(messages):
        tokens += estimate(message)
        if count >= keep_messages or (count and tokens > keep_tokens):
            break
        count += 1
    return count


def _section(messages: Messages) -> tuple[Part, ...]:
    said = [part for message in messages for part in _said(message)]
    return (Part("text", HEADING, "synthetic", ()), *said) if said else ()


def _said(message: Message) -> list[Part]:
    """The words of a message, with who said them."""
    words = [p for p in message.parts if p.text and p.type in ("text", "tool_result")]
    label = Part("text", f"**{message.role.capitalize()}:**", "synthetic", ())
    return (
        [
            label,
            *(Part("text", part.text, "verbatim", part.sources) for part in words),
        ]
        if words
        else []
    )
