"""Where Gemini CLI cuts a history."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from compactlab.sim.core.message import Message, Part, verbatim
from compactlab.sim.core.view import Messages
from compactlab.strategies.gemini_cli import json_chars, split_point
from tests.conformance.answers import Answer
from tests.conformance.busy import under
from tests.conformance.pi import stringify
from tests.conformance.vectors import Case


def find_compress_split_point(case: Case) -> Any:
    told = case.input["contents"]
    if isinstance(told, str):  # a name; of those that it does not tell the file says nothing
        told = case.shared.get("conversations", {}).get(told, ())
    history = Messages(content(each, str(n)) for n, each in enumerate(told))
    try:
        return {"split_index": split_point(history, case.input["params"]["fraction"])}
    except ValueError as error:
        return {"error": str(error)}


def content(original: Mapping[str, Any], id: str) -> Message:
    """Convert a content of Gemini's: a function's response is a tool's message here."""
    role = original.get("role")
    parts = tuple(part for each in original.get("parts") or () for part in _parts(each, id))
    if role == "model":
        return Message(id, "assistant", parts)
    if role != "user":
        return Message(id, "user", parts, meta=True, origin=str(role))
    answers = any(part.type == "tool_result" for part in parts)
    return Message(id, "tool" if answers else "user", parts)


def _parts(original: Mapping[str, Any], id: str) -> Iterable[Part]:
    if original.get("functionCall"):
        call = original["functionCall"]
        arguments, named = stringify(call.get("args", {})), call.get("name", "")
        yield verbatim(id, "tool_call", arguments, name=named, call_id=call.get("id") or "")
    elif original.get("functionResponse"):
        told = original["functionResponse"]
        response = told.get("response") or {}
        failed = "error" in response
        text = response.get("error" if failed else "output", "")
        named = {"name": told.get("name", ""), "call_id": told.get("id") or ""}
        yield verbatim(id, "tool_result", text, is_error=failed, **named)
    elif "text" in original:
        kind = "thinking" if original.get("thought") else "text"
        yield verbatim(id, kind, original["text"])


ANSWERS = [
    Answer(
        "findCompressSplitPoint (context/chatCompressionService)",
        find_compress_split_point,
        (split_point, json_chars),
        under("fraction_split()"),
    )
]
