"""Small questions to the parts of a message, and small things done to them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from compactlab.sim.core.message import Kind, Message, Part


def plain(text: str) -> Part:
    """Text of the client's own, which stands for nothing that was said."""
    return Part("text", text, "synthetic", ())


def holds(message: Message, type: str) -> bool:
    """Whether a message has a part of a type."""
    return any(part.type == type for part in message.parts)


def one(message: Message) -> int:
    """Weigh a message by that it is one."""
    return 1


def with_parts(message: Message, parts: Sequence[Part]) -> Message:
    """A message with other parts; itself, if they are the very same."""
    own = message.parts
    if len(parts) == len(own) and all(a is b for a, b in zip(parts, own, strict=True)):
        return message
    return msgspec.structs.replace(message, parts=tuple(parts))


def changed_to(kind: Kind, part: Part) -> Kind:
    """The kind of a part that is changed; what stands for nothing goes on doing so."""
    return kind if part.sources else part.kind


def arguments_of(call: Part) -> Any:
    """The arguments of a call, read as JSON; None if they are none."""
    try:
        return json.loads(call.text)
    except (ValueError, RecursionError):
        return None
