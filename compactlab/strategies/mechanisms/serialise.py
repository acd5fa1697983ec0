"""Messages written out as text, for a summary request with a prompt of its own."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from compactlab.sim.message import Message, Part

# pi cuts tool results in what it has summarised to so many characters (since 0.56.3).
RESULT_CHARS = 2000


def serialise(messages: Iterable[Message], result_chars: int = RESULT_CHARS) -> str:
    """Write messages out, a block each, results cut short.

    The blocks are those of pi's ``serializeConversation`` (0.56.3 and later).
    """
    return "\n\n".join(block for m in messages for block in _blocks(m, result_chars))


def _blocks(message: Message, result_chars: int) -> list[str]:
    def texts(*types: str) -> list[str]:
        return [part.text for part in message.parts if part.type in types and part.text]

    if message.role == "user":
        return [f"[User]: {''.join(texts('text'))}"] if texts("text") else []
    if message.role == "tool":
        text = "".join(texts("text", "tool_result"))
        more = len(text) - result_chars
        if more > 0:
            text = f"{text[:result_chars]}\n\n[... {more} more characters truncated]"
        return [f"[Tool result]: {text}"] if text else []
    calls = "; ".join(_call(part) for part in message.parts if part.type == "tool_call")
    labelled = (
        ("[Assistant thinking]: ", "\n".join(texts("thinking"))),
        ("[Assistant]: ", "\n".join(texts("text"))),
        ("[Assistant tool calls]: ", calls),
    )
    return [label + text for label, text in labelled if text]


def _call(part: Part) -> str:
    try:
        arguments = msgspec.json.decode(part.text, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, ValueError, RecursionError):
        return f"{part.name}({part.text})"
    inside = ", ".join(f"{name}={bytes(value).decode()}" for name, value in arguments.items())
    return f"{part.name}({inside})"
