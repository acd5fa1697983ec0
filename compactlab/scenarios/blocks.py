"""Content blocks: what messages are made of in the formats of the agents and the providers.

All of them write lists of typed blocks and mean the same few things, so one struct reads them all.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

import msgspec

from compactlab.scenarios.images import image_tokens
from compactlab.sim.message import Part, Source, verbatim

Tokens = Annotated[int, msgspec.Meta(ge=0, le=10**12)]

_TEXT = {"text", "input_text", "output_text", "summary_text", "reasoning_text", "refusal"}
_THINKING = {"thinking", "redacted_thinking"}
_CALLS = {"tool_use", "server_tool_use", "mcp_tool_use", "toolCall"}
_IMAGES = {"image", "image_url", "input_image"}


class Payload(msgspec.Struct):
    """Where an image or a document comes from."""

    data: str | None = None
    url: str | None = None


class Block(msgspec.Struct):
    """One block, with the fields that any of the formats gives it."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None
    refusal: str | None = None
    id: str | None = None
    name: str | None = None
    input: Any = None
    arguments: Any = None
    tool_use_id: str | None = None
    tool_name: str | None = None
    is_error: bool | None = None
    content: str | list[Block] | dict[str, Any] | None = None
    source: Payload | None = None
    data: str | None = None
    image_url: str | Payload | None = None


Content = str | list[Block] | None


def compact(value: Any) -> str:
    """Write arguments as compact JSON; leave alone what is text already."""
    if isinstance(value, str):
        return value
    return json.dumps({} if value is None else value, separators=(",", ":"), ensure_ascii=False)


def listed(content: Content | dict[str, Any]) -> list[Block]:
    """See any content as a list of blocks."""
    if isinstance(content, str):
        return [Block("text", text=content)]
    return content if isinstance(content, list) else []


def parts(content: Content | dict[str, Any], id: str) -> list[Part]:
    """Make the parts of a message out of its content."""
    return [part for block in listed(content) if (part := _part(block, id))]


def result(
    content: Content | dict[str, Any], id: str, call_id: str, *, name: str = "", error: bool = False
) -> list[Part]:
    """Make the parts of a tool's result: one with all its text, and its images."""
    blocks = listed(content)
    text = "\n".join(block.text or block.tool_name or "" for block in blocks)
    main = verbatim(id, "tool_result", text, name=name, call_id=call_id, is_error=error)
    return [main, *(_image(block, id) for block in blocks if block.type in _IMAGES)]


def opaque(id: str, type: Any, name: str, size: int = 0) -> Part:
    """Make a part of tokens whose text is not known."""
    return Part(type, "", "opaque", (Source(id),), name, size=size)


def _part(block: Block, id: str) -> Part | None:
    if block.type in _TEXT:
        text = block.text or block.refusal
        return verbatim(id, "text", text) if text else None
    if block.type in _THINKING:
        said = block.thinking
        return verbatim(id, "thinking", said) if said else opaque(id, "thinking", block.type)
    if block.type in _CALLS:
        arguments = compact(block.arguments if block.input is None else block.input)
        name, call_id = block.name or "", block.id or ""
        return verbatim(id, "tool_call", arguments, name=name, call_id=call_id)
    if block.type in _IMAGES:
        return _image(block, id)
    if block.type.endswith("_tool_result"):
        return result(block.content, id, block.tool_use_id or "")[0]
    return verbatim(id, "text", block.text) if block.text else opaque(id, "text", block.type)


def _image(block: Block, id: str) -> Part:
    return verbatim(id, "image", "", size=image_tokens(_image_data(block)))


def _image_data(block: Block) -> str:
    if block.source:
        return block.source.data or ""
    url = block.image_url.url if isinstance(block.image_url, Payload) else block.image_url
    if url and url.startswith("data:"):
        return url.partition(",")[2]
    return block.data or ""
