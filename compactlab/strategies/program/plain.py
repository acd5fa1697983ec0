"""Messages in OpenAI's or Anthropic's form, as a program may return them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import NoneType
from typing import Any

from compactlab.sim.core.message import Message, Part, Role

_ROLES: dict[str, Role] = {
    "user": "user", "assistant": "assistant", "tool": "tool", "function": "tool",
    "system": "user", "developer": "user",
}  # fmt: skip

Key = tuple[str, str, tuple[tuple[str, str, str], ...], tuple[str, ...], int]
"""What of a message such shapes can say: role, text, calls, ids of results, how many images."""


@dataclass(frozen=True)
class Draft:
    """A message without provenance."""

    role: Role
    parts: tuple[Part, ...]

    @property
    def key(self) -> Key:
        """Its content as a key."""
        return outline(self.role, self.parts)

    def message(self, now: float) -> Message:
        """Make a message without an id, which no person has typed."""
        return Message("", self.role, self.parts, now, meta=self.role == "user")


def outline(role: str, parts: Iterable[Part]) -> Key:
    """Return the content that the form can express, without thinking and opaque parts."""
    texts, calls, results, images = [], [], [], 0
    for part in parts:
        if part.type == "tool_call":
            calls.append((part.name, canonical(part.text), part.call_id))
        elif part.type == "image":
            images += 1
        elif part.type != "thinking" and part.text:
            texts.append(part.text)
        if part.type == "tool_result":
            results.append(part.call_id)
    return role, "\n".join(texts), tuple(calls), tuple(dict.fromkeys(results)), images


def canonical(arguments: str) -> str:
    """Normalise the white space in arguments of a call."""
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments


def drafts(messages: Iterable[dict[str, Any]]) -> Iterator[Draft]:
    """Yield the messages; tool results in Anthropic's user messages are separated.

    Raises
    ------
    ValueError
        If one is not a message.
    """
    for message in messages:
        given = message.get("role")
        role = _ROLES.get(given) if isinstance(given, str) else None
        if role is None:
            raise ValueError(f"answered a message of the role {str(given)[:40]!r}")
        blocks = _blocks(message)
        if role == "tool":
            # The older role "function" has no call id.
            id = message.get("tool_call_id", "" if given == "function" else None)
            yield _result(blocks, id, message.get("name"))
            continue
        rest = []
        for block in blocks:
            if isinstance(block, dict) and block.get("type") == "tool_result":
                error = bool(block.get("is_error"))
                yield _result(_blocks(block), block.get("tool_use_id"), None, error)
            else:
                rest.append(_block(block))
        rest += _calls(message)
        if rest or not blocks:
            yield Draft(role, tuple(rest) or (Part("text", "", "synthetic", ()),))


def _result(blocks: Iterable[Any], id: Any, name: Any, error: bool = False) -> Draft:
    """Read a tool message: its text and its images."""
    if not isinstance(id, str):
        raise ValueError("answered the result of a tool without the id of its call")
    parts = [_block(block) for block in blocks]
    text = "\n".join(part.text for part in parts if part.text)
    result = Part("tool_result", text, "synthetic", (), str(name or ""), id, error)
    return Draft("tool", (result, *(part for part in parts if part.type == "image")))


def _blocks(message: dict[str, Any]) -> list[Any]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    if not isinstance(content, list | NoneType):
        raise ValueError(f"answered a message whose content is {type(content).__name__}")
    return content or []


def _block(block: Any) -> Part:
    kind = block.get("type") if isinstance(block, dict) else None
    match kind:
        case "text" | "input_text" | "output_text" | "refusal":
            return Part("text", str(block.get("text") or ""), "synthetic", ())
        case "thinking" | "redacted_thinking":
            return Part("thinking", str(block.get("thinking") or ""), "synthetic", ())
        case "tool_use":
            arguments = _written(block.get("input"))
            return _call(block.get("name"), arguments, block.get("id"))
        case "image" | "image_url" | "input_image":
            return Part("image", "", "synthetic", ())
    raise ValueError(f"answered a message with a block of the type {str(kind)[:40]!r}")


def _calls(message: dict[str, Any]) -> Iterator[Part]:
    calls = message.get("tool_calls")
    if not isinstance(calls, list | NoneType):
        raise ValueError(f"answered a message whose tool_calls are {type(calls).__name__}")
    for call in calls or ():
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict):
            raise ValueError("answered a call of a tool without a function")
        yield _call(function.get("name"), _written(function.get("arguments")), call.get("id"))


def _call(name: Any, arguments: str, id: Any) -> Part:
    return Part("tool_call", arguments, "synthetic", (), str(name or ""), str(id or ""))


def _written(arguments: Any) -> str:
    if isinstance(arguments, str):
        return arguments
    return json.dumps(arguments or {}, separators=(",", ":"), ensure_ascii=False)
