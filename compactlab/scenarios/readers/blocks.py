"""Content blocks: the contents of messages in the formats of agents and providers."""

from __future__ import annotations

import base64
import binascii
import json
import struct
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

import msgspec

from compactlab.scenarios.readers.jsonl import Lines
from compactlab.scenarios.readers.shapes import dict_of, list_of
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Part, Source, verbatim

T = TypeVar("T")

# What an image costs, from its size in pixels; the image itself is not kept. Source: Anthropic's
# documentation on vision, 2026: width x height / 750 tokens; larger ones are scaled down to 1,600.

PIXELS_PER_TOKEN = 750
MOST_TOKENS = 1600
UNKNOWN_TOKENS = 1200  # pi and OpenClaw count every image as 4,800 characters

_HEADER = 4 * 65536  # characters of base64: the metadata at the start of a JPEG can take 64 KB
_PNG = b"\x89PNG\r\n\x1a\n"
_NO_FRAME = {0xC4, 0xC8, 0xCC}  # JPEG markers in the same range that do not start a frame


def image_tokens(data: str) -> int:
    """Count the tokens of an image."""
    head = data[:_HEADER]
    try:
        raw = base64.b64decode(head[: len(head) // 4 * 4], validate=True)
        width, height = _png(raw) if raw.startswith(_PNG) else _jpeg(raw)
    except (binascii.Error, ValueError, struct.error):
        return UNKNOWN_TOKENS
    return max(1, min(MOST_TOKENS, -(-width * height // PIXELS_PER_TOKEN)))


def _png(raw: bytes) -> tuple[int, int]:
    width, height = struct.unpack_from(">II", raw, 16)
    return width, height


def _jpeg(raw: bytes) -> tuple[int, int]:
    at = 2
    while raw.startswith(b"\xff\xd8"):
        mark, marker, length = struct.unpack_from(">BBH", raw, at)
        if mark != 0xFF:
            break
        if 0xC0 <= marker <= 0xCF and marker not in _NO_FRAME:
            height, width = struct.unpack_from(">HH", raw, at + 5)
            return width, height
        at += 2 + length
    raise ValueError("no frame in it")


# All formats write lists of typed blocks with similar meanings, so one struct reads them all. A
# block of unknown type or without its text is an error, because its text would be lost.

_TEXT = {"text", "input_text", "output_text", "summary_text", "reasoning_text", "refusal"}
_CALLS = {"tool_use", "server_tool_use", "mcp_tool_use", "toolCall"}
_IMAGES = {"image", "image_url", "input_image"}
_FOUND = {"search_result", "web_search_result"}
_FILES = ("base64", "url", "file")  # sources of documents without text
# Blocks without text in a log: files, sound and encrypted content for the model, and data for the
# client only.
_WORDLESS = {
    "audio", "computer_screenshot", "container_upload", "encrypted_content", "fallback", "file",
    "input_audio", "input_file", "redacted_thinking", "video_url",
}  # fmt: skip


class Block(msgspec.Struct):
    """A block, with the fields of all formats."""

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
    content: str | list[Block] | dict[str, Any] | msgspec.UnsetType | None = msgspec.UNSET
    title: str | None = None
    context: str | None = None
    url: str | None = None
    source: Any = None
    data: str | None = None
    image_url: Any = None


Content = str | list[Block] | None
# Content that may be missing: it may then be in an unknown field.
Given = Content | msgspec.UnsetType


def given(content: Given, whose: str) -> Content:
    """Return the content of a message, which may be empty but not missing."""
    if isinstance(content, msgspec.UnsetType):
        raise InputError(f"{whose} has no content")
    return content


def compact(value: Any) -> str:
    """Write arguments as compact JSON; text stays as it is."""
    if isinstance(value, str):
        return value
    return json.dumps({} if value is None else value, separators=(",", ":"), ensure_ascii=False)


def tool_call(id: str, name: str, arguments: Any, call_id: str | None = "") -> Part:
    """Make a call of a tool."""
    return verbatim(id, "tool_call", compact(arguments), name=name, call_id=call_id or "")


def listed(content: Given | dict[str, Any]) -> list[Block]:
    """Return any content as a list of blocks."""
    if isinstance(content, str):
        return [Block("text", text=content)]
    return list_of(content)


def parts(content: Given | dict[str, Any], id: str, lines: Lines | None = None) -> list[Part]:
    """Convert the content of a message to parts.

    An unknown block is counted in ``lines``; without ``lines`` it is an error.
    """
    made = (
        _understood(block, lines, partial(_part, block, id, lines)) for block in listed(content)
    )
    return [part for part in made if part]


def _understood(block: Block, lines: Lines | None, make: Callable[[], T]) -> T | None:
    try:
        return make()
    except InputError:
        if lines is None or lines.strict:
            raise
        lines.pass_over_block(block.type, block)
        return None


def result(
    content: Given | dict[str, Any],
    id: str,
    call_id: str,
    *,
    name: str = "",
    error: bool = False,
    lines: Lines | None = None,
) -> list[Part]:
    """Convert a tool's result: one part with all its text, and its images."""
    blocks = listed(content)
    words = (_understood(block, lines, partial(_words, block)) for block in blocks)
    text = compact(content) if isinstance(content, dict) else "\n".join(map(_text_of, words))
    main = verbatim(id, "tool_result", text, name=name, call_id=call_id, is_error=error)
    return [main, *(image(id, _image_data(each)) for each in blocks if each.type in _IMAGES)]


def result_of(block: Block, id: str, lines: Lines | None = None) -> list[Part]:
    """Convert a result that is a block of a message."""
    if isinstance(block.content, msgspec.UnsetType):
        raise _lacks(block, "content")
    failed = bool(block.is_error)
    return result(block.content, id, block.tool_use_id or "", error=failed, lines=lines)


def opaque(id: str, type: Any, name: str, size: int = 0) -> Part:
    """Make a part of tokens whose text is unknown."""
    return Part(type, "", "opaque", (Source(id),), name, size=size)


def owned(part: Part, id: str) -> Part:
    """Make a message's own part the own part of a copy of the message."""
    whole = len(part.sources) == 1 and part.sources[0] == Source(part.sources[0].id)
    if not whole or part.sources[0].id == id:
        return part
    return msgspec.structs.replace(part, sources=(Source(id),))


def as_summary(part: Part, covered: tuple[Source, ...]) -> Part:
    """Mark an inserted text part as a summary of the covered messages."""
    if part.type != "text" or not covered:
        return part
    return msgspec.structs.replace(part, kind="summary", sources=covered)


def _part(block: Block, id: str, lines: Lines | None) -> Part | None:
    if block.type == "thinking":
        if block.thinking is None:
            raise _lacks(block, "thinking")
        text = block.thinking
        return verbatim(id, "thinking", text) if text else opaque(id, "thinking", block.type)
    if block.type in _CALLS:
        arguments = block.arguments if block.input is None else block.input
        if not block.name or arguments is None:
            raise _lacks(block, "input" if block.name else "name")
        return tool_call(id, block.name, arguments, block.id)
    if block.type in _IMAGES:
        return image(id, _image_data(block))
    if block.type.endswith("_tool_result"):
        return result_of(block, id, lines)[0]
    if text := _words(block):
        return verbatim(id, "text", text)
    kind = "thinking" if block.type == "redacted_thinking" else "text"
    return None if block.type in _TEXT else opaque(id, kind, block.type)


def _words(block: Block) -> str:
    if block.type in _TEXT:
        text = block.refusal if block.text is None else block.text
        if text is None:
            raise _lacks(block, "text")
        return text
    if block.type in _IMAGES or block.type in _WORDLESS:
        return ""
    if block.type == "document":
        return "\n".join(_document(block))
    if block.type in _FOUND:
        place = block.url if isinstance(block.url, str) else block.source
        held = block.content if block.type == "search_result" else []
        if not block.title or not isinstance(place, str) or not isinstance(held, list):
            raise _lacks(block, "title, place or content")
        return "\n".join((block.title, place, *map(_words, held)))
    words = block.content if block.type == "compaction" else block.text or block.tool_name
    if isinstance(words, str) and words:
        return words
    raise InputError(f"a content block of type {block.type!r} is not known")


def _document(block: Block) -> Iterator[str]:
    """Yield the text of a document; for a file, only its title and context."""
    source = dict_of(block.source)
    yield from filter(None, (block.title, block.context))
    if source.get("type") in ("text", "content"):
        inner = source.get("data") if source["type"] == "text" else source.get("content")
        try:
            yield from map(_words, listed(msgspec.convert(inner, str | list[Block])))
        except msgspec.ValidationError:
            raise _lacks(block, "text") from None
    elif source.get("type") not in _FILES:
        raise _lacks(block, "source")


def _lacks(block: Block, what: str) -> InputError:
    return InputError(f"a content block of type {block.type!r} has no {what}")


def image(id: str, data: str) -> Part:
    """Make an image of its data in base64."""
    return verbatim(id, "image", "", size=image_tokens(data))


def _image_data(block: Block) -> str:
    if isinstance(block.source, dict):
        return _text_of(block.source.get("data"))
    url = block.image_url.get("url") if isinstance(block.image_url, dict) else block.image_url
    if isinstance(url, str) and url.startswith("data:"):
        return url.partition(",")[2]
    return block.data or ""


def _text_of(value: Any) -> str:
    return value if isinstance(value, str) else ""
