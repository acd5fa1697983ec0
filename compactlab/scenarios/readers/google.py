"""Contents of Gemini's API, in the logs of Gemini CLI and Qwen Code."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from compactlab.scenarios.readers.blocks import compact, image, opaque, tool_call
from compactlab.scenarios.readers.counts import Tokens, within
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Part, Usage, verbatim


class Called(msgspec.Struct):
    """A tool call of the model."""

    name: str
    id: str | None = None
    args: Any = msgspec.UNSET


class _Inline(msgspec.Struct, rename="camel"):
    mime_type: str = ""
    data: str = ""


class _Response(msgspec.Struct):
    name: str = ""
    id: str | None = None
    response: Any = msgspec.UNSET
    parts: list[Piece] | None = None


class Piece(msgspec.Struct, rename="camel"):
    """One part of a content."""

    text: str | None = None
    thought: bool | None = None
    function_call: Called | None = None
    function_response: _Response | None = None
    inline_data: _Inline | None = None
    file_data: Any = None
    executable_code: Any = None
    code_execution_result: Any = None
    thought_signature: str | None = None


Pieces = str | Piece | list[str | Piece] | None


class Content(msgspec.Struct):
    """A content: its role and its parts."""

    role: str | None = None
    parts: Pieces = None


class Metadata(msgspec.Struct, rename="camel"):
    """Usage as the API counts it: the prompt includes cached tokens, the answer excludes thoughts.

    Source: UsageMetadata in the API's reference (ai.google.dev, 2026): the total is the sum of
    prompt, candidates, tool-use prompt and thoughts.
    """

    prompt_token_count: Tokens | None = None
    candidates_token_count: Tokens | None = None
    cached_content_token_count: Tokens | None = None
    thoughts_token_count: Tokens | None = None
    tool_use_prompt_token_count: Tokens | None = None
    total_token_count: Tokens | None = None


def usage(prompt: int, cached: int, answer: int, thoughts: int, tool: int) -> Usage:
    """Convert the API's counts to billing classes.

    Examples
    --------
    >>> usage(100, 80, 7, 5, 2)
    Usage(uncached=22, cache_read=80, cache_write_5m=0, cache_write_1h=0, output=12, storage=0)
    """
    return within(prompt, answer + thoughts, cached) + Usage(tool)


def listed(content: Pieces | msgspec.UnsetType) -> list[Piece]:
    """Return any content as a list of parts."""
    if content is None or isinstance(content, msgspec.UnsetType):
        return []
    pieces = content if isinstance(content, list) else [content]
    return [Piece(text=each) if isinstance(each, str) else each for each in pieces]


def said(pieces: Iterable[Piece], id: str) -> list[Part]:
    """Convert the parts of a message that is not a tool's."""
    return [part for piece in pieces if (part := _part(piece, id))]


def answered(
    pieces: list[Piece], id: str, call_id: str = "", name: str = "", error: bool = False
) -> list[Part]:
    """Convert a tool's result: one part with all its text, and its images."""
    texts, beside = [], []
    for piece in pieces:
        response = piece.function_response
        if response:
            if response.response is msgspec.UNSET:
                raise InputError("what a tool answered has no response")
            name, call_id = response.name or name, response.id or call_id
            texts.append(_words(response.response))
            error |= isinstance(response.response, dict) and "error" in response.response
            beside += said(response.parts or [], id)
        elif piece.text is not None:
            texts.append(piece.text)
        else:
            beside += said([piece], id)
    text = "\n".join(texts)
    return [verbatim(id, "tool_result", text, name=name, call_id=call_id, is_error=error), *beside]


def called(call: Called, id: str) -> Part:
    """Convert a tool call, which must have arguments."""
    if call.args is msgspec.UNSET:
        raise InputError(f"a call of the tool {call.name!r} has no args")
    return tool_call(id, call.name, call.args, call.id)


def _words(response: Any) -> str:
    """Return the text of a result; an object with more than output or error is written as JSON."""
    if isinstance(response, dict) and len(response) == 1:
        (key, value), *_ = response.items()
        if key in ("output", "error") and isinstance(value, str):
            return value
    return compact(response)


def _part(piece: Piece, id: str) -> Part | None:
    code = piece.code_execution_result if piece.executable_code is None else piece.executable_code
    if piece.function_call:
        return called(piece.function_call, id)
    if piece.inline_data:
        data, kind = piece.inline_data.data, piece.inline_data.mime_type
        named = kind or "inlineData"
        return image(id, data) if kind.startswith("image/") else opaque(id, "text", named)
    if piece.text:
        return verbatim(id, "thinking" if piece.thought else "text", piece.text)
    if code is not None:
        return verbatim(id, "text", compact(code))
    signed = piece.text is None and piece.thought_signature
    if piece.file_data is not None or signed:
        filed = piece.file_data is not None
        return opaque(id, *(("text", "fileData") if filed else ("thinking", "thoughtSignature")))
    if piece.text is None:
        raise InputError("a part of a content is of no known kind")
    return None
