"""Tokens as LangChain approximates them (langchain-core 1.7.2, `count_tokens_approximately`)."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from compactlab.sim.message import Message, Part
from compactlab.sim.weight import remembered

# Three tokens are added to every message; an image has 85. LangChain takes 3.3 characters for a
# token of Claude, and 4 for one of any other model.
_EXTRA, _IMAGE = 3, 85
_CLAUDE, _OTHERS = 3.3, 4.0


@remembered
def approximate(message: Message) -> int:
    """Approximate a message: a token for four characters."""
    return _tokens(message, _OTHERS)


@remembered
def approximate_claude(message: Message) -> int:
    """Approximate a message for a model of Anthropic: a token for 3.3 characters."""
    return _tokens(message, _CLAUDE)


def _tokens(message: Message, chars_per_token: float) -> int:
    """Content, role, and of tools the calls, ids and names; rounded up for each message."""
    chars = len(message.origin or message.role)
    chars += sum(len(part.text) for part in message.parts if part.type != "tool_call")
    images = sum(part.type == "image" for part in message.parts)
    opaque = sum(part.size for part in message.parts if part.type != "image")
    calls = [_call(part) for part in message.parts if part.type == "tool_call"]
    if calls:
        chars += len(repr(calls))
    if message.role == "tool":
        chars += sum(len(part.call_id) + len(part.name) for part in message.parts)
    return math.ceil(chars / chars_per_token) + _EXTRA + _IMAGE * images + opaque


def _call(part: Part) -> dict[str, Any]:
    """A call as LangChain keeps it: its length as Python writes it is what counts."""
    try:
        arguments = msgspec.json.decode(part.text)
    except (msgspec.DecodeError, ValueError, RecursionError):
        arguments = part.text
    return {"name": part.name, "args": arguments, "id": part.call_id, "type": "tool_call"}
