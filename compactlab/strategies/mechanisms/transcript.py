"""A conversation written out as text: what a summary request with a prompt of its own holds."""

from __future__ import annotations

from collections.abc import Iterable

from compactlab.sim.message import Message, Part
from compactlab.sim.tokens import utf16_length

_SPEAKERS = {"user": "User", "assistant": "Assistant", "tool": "Tool result"}


def transcript(messages: Iterable[Message], result_chars: int | None = None) -> str:
    """Write messages out, who said it and what.

    Parameters
    ----------
    messages
        The messages.
    result_chars
        Characters of each tool result (OpenCode and Cline: 2,000); None for all of them.
    """
    lines = (_line(message, part, result_chars) for message in messages for part in message.parts)
    return "\n\n".join(line for line in lines if line)


def _line(message: Message, part: Part, result_chars: int | None) -> str:
    text = part.text
    if not text and part.type != "tool_call":
        return ""
    if part.type == "tool_call":
        return f"[Assistant calls] {part.name}({text})"
    if (
        part.type == "tool_result"
        and result_chars is not None
        and utf16_length(text) > result_chars
    ):
        text = f"{text[:result_chars]}\n[cut]"
    return f"[{_SPEAKERS[message.role]}] {text}"
