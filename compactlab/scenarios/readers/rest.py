"""Text of a record that is missing in everything read from it: it is counted, so none is lost."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from compactlab.scenarios.readers.jsonl import Lines
from compactlab.scenarios.readers.script import Draft
from compactlab.scenarios.readers.unread import says
from compactlab.sim.core.message import Part

# Known keys of messages and blocks. Under any other key that seems to have text, the text counts as
# content.
_KNOWN = {
    "arguments", "args", "choices", "content", "dynamic_context", "extended_content", "function",
    "function_call", "generations", "input", "kwargs", "llm_message", "message", "messages",
    "observation", "output", "outputs", "reasoning", "reasoning_content", "result", "summary",
    "system", "system_prompt", "text", "thinking", "thought", "tool_call", "tool_calls", "tools",
    "value",
}  # fmt: skip
# Keys without text for a model, or with repeated text.
_SILENT = {
    "annotations", "cache_control", "citations", "encrypted_content", "finish_reason", "internal",
    "invalid_tool_calls", "logprobs", "metadata", "provider_specific_fields", "reasoning_details",
    "response_metadata", "signature", "stop_reason", "thinking_blocks", "tool_call_chunks",
    "usage", "usage_metadata",
}  # fmt: skip
_MARKS = {"id", "role", "type"}
_DEEPEST = 64


def pass_over_rest(
    lines: Lines, value: Any, heard: Iterable[Part | Draft], silent: Collection[str] = ()
) -> None:
    """Count the texts of a value that are missing in all parts or messages made of it."""
    parts = [part for each in heard for part in (each.parts if isinstance(each, Draft) else [each])]
    whole = "\n".join(text for part in parts for text in (part.text, part.name, part.call_id))
    texts = _said(value, {*_SILENT, *silent}, False, _DEEPEST)
    rest = [text for text in texts if text.strip() and not _holds(whole, text)]
    if rest:
        lines.pass_over("text of a message that is not read", rest)


def _holds(whole: str, text: str) -> bool:
    """Whether a text contains another one, literally or as JSON."""
    text = text.strip()
    return text in whole or any(
        json.dumps(text, ensure_ascii=ascii)[1:-1] in whole for ascii in (False, True)
    )


def _said(value: Any, silent: Collection[str], all_of_it: bool, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, list):
        for item in value:
            if all_of_it or not isinstance(item, str):
                yield from _said(item, silent, all_of_it, depth - 1)
    elif depth and isinstance(value, dict):
        for key, inner in value.items():
            if key in silent or (key in _MARKS and isinstance(inner, str)):
                continue
            unknown = all_of_it or (key not in _KNOWN and says(key))
            if unknown or says(key) or not isinstance(inner, str):
                listed = isinstance(inner, list) and says(key)
                strings = [each for each in inner if isinstance(each, str)] if listed else []
                yield from strings if not unknown else ()
                yield from _said(inner, silent, unknown, depth - 1)


def objects(lines: Lines, value: Any, kind: str) -> list[dict[str, Any]]:
    """Return the objects of a list; other items are counted."""
    items = value if isinstance(value, list) else [value] if value else []
    listed = isinstance(value, list)
    for each in items:
        if each and not (listed and isinstance(each, dict)):
            lines.pass_over(kind, each)
    return [each for each in items if listed and isinstance(each, dict)]
