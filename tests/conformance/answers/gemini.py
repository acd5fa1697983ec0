"""Where Gemini CLI cuts a history."""

from collections.abc import Iterable, Mapping
from typing import Any

from compactlab.sim.core.message import Message, Part, verbatim
from compactlab.strategies.gemini_cli import AROUND, Content, part_chars, quoted, split_point
from compactlab.strategies.mechanisms.text import holds
from tests.conformance.answers import Answer
from tests.conformance.busy import under
from tests.conformance.pi import stringify
from tests.conformance.vectors import Case


def find_compress_split_point(case: Case) -> Any:
    told = case.input["contents"]
    if isinstance(told, str):  # a name; of those that it does not tell the file says nothing
        told = case.shared.get("conversations", {}).get(told, ())
    fraction = case.input["params"]["fraction"]
    if not 0 < fraction < 1:  # a strategy with such a field is refused
        return {"error": "Fraction must be between 0 and 1"}
    contents = [as_content(n, content(each, str(n))) for n, each in enumerate(told)]
    return {"split_index": split_point(contents, fraction)}


def as_content(index: int, message: Message) -> Content:
    """A message that is one content by itself, whatever stands beside it."""
    model = message.role == "assistant"
    results = message.role == "tool" or holds(message, "tool_result")
    return Content(index, model, results, holds(message, "tool_call"), json_chars(message))


def json_chars(message: Message) -> int:
    """Characters (UTF-16) of a message as the JSON of Gemini's API."""
    role = message.origin or ("model" if message.role == "assistant" else "user")
    commas = max(len(message.parts) - 1, 0)
    return AROUND + quoted(role) + sum(map(part_chars, message.parts)) + commas


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
        (split_point,),
        under("fraction_split()"),
    )
]
