"""Messages written out as text, for a summary request with a prompt of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

import msgspec

from compactlab.sim.message import Message, Part
from compactlab.sim.tokens import utf16_length
from compactlab.strategies.mechanisms.units import head

# pi cuts tool results in what it has summarised to so many characters (since 0.56.3).
RESULT_CHARS = 2000
RESULTS_ARE_CUT = "0.56.3"

# Of what stands in the user's place, this is told to the model; pi drops everything else.
_TOLD = {"", "bashExecution", "custom", "branchSummary", "compactionSummary"}
_HALF = re.compile("[\ud800-\udfff]")


def serialise(messages: Iterable[Message], result_chars: int | None = RESULT_CHARS) -> str:
    """Write messages out, a block each: pi's ``serializeConversation`` (0.49.3 to 0.73.1).

    Parameters
    ----------
    messages
        The messages.
    result_chars
        Characters of a tool's result that are written, in UTF-16 code units; None for all of
        them, as pi did before 0.56.3.
    """
    return "\n\n".join(block for m in messages for block in _blocks(m, result_chars))


def _blocks(message: Message, result_chars: int | None) -> list[str]:
    def texts(*types: str) -> list[str]:
        return [part.text for part in message.parts if part.type in types]

    if message.role == "user":
        text = "".join(texts("text")) if message.origin in _TOLD else ""
        return [f"[User]: {text}"] if text else []
    if message.role == "tool":
        text = "".join(texts("text", "tool_result"))
        more = utf16_length(text) - result_chars if result_chars is not None else 0
        if result_chars is not None and more > 0:
            cut = head(text, result_chars)
            text = f"{cut}\n\n[... {more} more characters truncated]"
        return [f"[Tool result]: {text}"] if text else []
    labelled = (
        ("[Assistant thinking]: ", "\n", texts("thinking")),
        ("[Assistant]: ", "\n", texts("text")),
        (
            "[Assistant tool calls]: ",
            "; ",
            [_call(p) for p in message.parts if p.type == "tool_call"],
        ),
    )
    return [label + between.join(said) for label, between, said in labelled if said]


def _call(part: Part) -> str:
    try:
        arguments = _arguments(part.text)
    except (ValueError, RecursionError):
        return f"{part.name}({part.text})"
    inside = ", ".join(f"{name}={value}" for name, value in arguments)
    return f"{part.name}({inside})"


def _arguments(text: str) -> list[tuple[str, str]]:
    """The arguments of a call, each value as JSON."""
    try:
        raw = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        return [(name, bytes(value).decode()) for name, value in raw.items()]
    except ValueError:
        # It takes no half of a pair of surrogates, which JavaScript writes as an escape.
        values = json.loads(text)
    if not isinstance(values, dict):
        raise ValueError("arguments are no object")
    return [(name, _written(value)) for name, value in values.items()]


def _written(value: object) -> str:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return _HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", text)
