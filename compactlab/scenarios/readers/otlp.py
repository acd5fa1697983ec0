"""Traces in OTLP JSON: spans of model calls, by OpenTelemetry's conventions for GenAI."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

import msgspec

from compactlab.scenarios.readers import jsonl
from compactlab.scenarios.readers.blocks import compact, image, opaque, tool_call
from compactlab.scenarios.readers.counts import Tokens
from compactlab.scenarios.readers.script import SYSTEM, Format, declared, nothing
from compactlab.scenarios.readers.shapes import any_is
from compactlab.scenarios.readers.threads import SYSTEM_ROLES, Known, Request, Said, conversations
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Call, Part, Role, Usage, verbatim

NAME = "otlp"

# Operations that call a model; those of agents and workflows are sums of inner spans.
_ASKING = ("chat", "generate_content", "text_completion")
_DETAILS = "gen_ai.client.inference.operation.details"
_INPUT, _OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
# Current names first, then older ones.
_READ = (
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_read_input_tokens",
    "gen_ai.usage.input_tokens.cached",
)
_WRITTEN = (
    "gen_ai.usage.cache_write.input_tokens", "gen_ai.usage.cache_creation.input_tokens",
    "gen_ai.usage.cache_creation_input_tokens", "gen_ai.usage.input_tokens.cache_write",
)  # fmt: skip
_PROMPT = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens")
_WROTE = ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens")
_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "tool": "tool"}
_ROLES |= {"model": "assistant"}
_RESULTS = ("tool_call_response", "server_tool_call_response")
# Lists and objects of a trace without spans.
_UNHEARD = {
    "attributes", "entityRefs", "events", "links", "resourceLogs", "resourceMetrics", "status",
}  # fmt: skip
_TELLING = {"attributes", "key", "scopeSpans", "spanId", "spans"}
_MESSAGE = {"role", "parts", "content", "name", "finish_reason", "tool_calls", "tool_call_id"}
_PART = {
    "type", "content", "text", "id", "name", "arguments", "response", "result", "server_tool_call",
    "server_tool_call_response",
}  # fmt: skip


class _Attribute(msgspec.Struct):
    key: str
    value: dict[str, Any]


class _Event(msgspec.Struct):
    name: str = ""
    attributes: list[_Attribute] = []


class _Span(msgspec.Struct, rename="camel"):
    span_id: str = ""
    trace_id: str = ""
    start_time_unix_nano: str | int = 0
    end_time_unix_nano: str | int = 0
    attributes: list[_Attribute] = []
    events: list[_Event] = []


class _Scope(msgspec.Struct):
    spans: list[Any]


class _Resource(msgspec.Struct):
    attributes: list[_Attribute] = []


class _ResourceSpans(msgspec.Struct, rename="camel"):
    scope_spans: list[_Scope]
    resource: _Resource | None = None


class _Traces(msgspec.Struct, rename="camel"):
    resource_spans: list[_ResourceSpans]


def _is_own(value: dict[str, Any]) -> bool:
    return isinstance(value.get("resourceSpans"), list)


def read(lines: jsonl.Lines) -> Iterator[Conversation]:
    """Read the conversations of a file's spans, in order of their start."""
    known = Known()
    requests: list[Request] = []
    for number, value in jsonl.values(lines):
        with lines.at(number, value):
            for span, client in _spans(value, lines):
                with lines.at(number, span):
                    requests += _request_of(span, client, known, lines)
    if not requests:
        raise nothing(lines, ": no span asks a model")
    yield from conversations(NAME, lines.path, requests)


def _spans(value: Any, lines: jsonl.Lines) -> Iterator[tuple[Any, str]]:
    if isinstance(value, dict) and "resourceSpans" not in value and value.keys() & _UNHEARD:
        return  # logs or metrics, from the same exporter
    traces = msgspec.convert(value, _Traces)
    _pass_over_lists(value, ("resourceSpans", "scopeSpans", "resource", "scope", "spans"), lines)
    for resource in traces.resource_spans:
        told = _told(resource.resource.attributes if resource.resource else [])
        client = " ".join(str(told[k]) for k in ("service.name", "service.version") if told.get(k))
        yield from ((span, client) for scope in resource.scope_spans for span in scope.spans)


def _request_of(value: Any, client: str, known: Known, lines: jsonl.Lines) -> list[Request]:
    span = msgspec.convert(value, _Span)
    attributes = _told(span.attributes)
    for event in span.events:
        if event.name == _DETAILS:
            attributes = _told(event.attributes) | attributes
    return [_request(span, attributes, client, known, lines)] if _asks(attributes) else []


def _pass_over_lists(value: Any, inside: tuple[str, ...], lines: jsonl.Lines) -> None:
    """Count values under unknown names that may contain spans."""
    for key, inner in value.items() if isinstance(value, dict) else ():
        if key in inside:
            for each in inner if isinstance(inner, list) else [inner]:
                _pass_over_lists(each, inside, lines)
        elif key not in _UNHEARD and _is_telling(inner):
            lines.pass_over(f"list of spans or attributes under {key!r}", inner)


def _is_telling(value: Any) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if isinstance(value, dict) and not value.keys().isdisjoint(_TELLING):
        return True
    return any(_is_telling(each) for each in inner)


def _told(attributes: Iterable[_Attribute]) -> dict[str, Any]:
    return {each.key: _plain(each.value) for each in attributes}


def _plain(value: Any) -> Any:
    """Return the value of an attribute, which OTLP wraps in its type."""
    if not isinstance(value, dict):
        raise InputError("the value of an attribute is one of a type")
    for kind, inner in value.items():
        if kind == "arrayValue" and isinstance(inner, dict):
            return [_plain(each) for each in _listed(inner)]
        if kind == "kvlistValue" and isinstance(inner, dict):
            return _told(msgspec.convert(_listed(inner), list[_Attribute]))
        if kind == "intValue":
            return msgspec.convert(inner, int, strict=False)
        if kind in ("stringValue", "boolValue", "doubleValue", "bytesValue"):
            return msgspec.convert(inner, str | float | bool)
    if value:
        raise InputError(f"values of attributes of type {next(iter(value))!r} are not known")
    return None


def _listed(value: dict[str, Any]) -> list[Any]:
    if value and "values" not in value:
        raise InputError("a list of values has them under 'values'")
    return msgspec.convert(value.get("values", []), list[Any])


def _asks(attributes: dict[str, Any]) -> bool:
    operation = attributes.get("gen_ai.operation.name")
    if operation is not None:
        return operation in _ASKING
    return any(key in attributes for key in (*_PROMPT, *_WROTE, _INPUT, "gen_ai.prompt.0.role"))


def _request(
    span: _Span, attributes: dict[str, Any], client: str, known: Known, lines: jsonl.Lines
) -> Request:
    models = (attributes.get(f"gen_ai.{side}.model") for side in ("response", "request"))
    model = next((str(model) for model in models if model), "")
    effort = str(attributes.get("gen_ai.request.reasoning.level") or "")
    id = str(attributes.get("gen_ai.response.id") or "")
    call = Call(model, _usage(attributes), version=client, thinking=effort, id=id)
    asked = _messages(attributes, _INPUT, "gen_ai.prompt", lines)
    answered = _messages(attributes, _OUTPUT, "gen_ai.completion", lines)
    start, end = _seconds(span.start_time_unix_nano), _seconds(span.end_time_unix_nano)
    session = str(attributes.get("gen_ai.conversation.id") or span.trace_id)
    said, answers = (list(_said(each, known, lines)) for each in (asked, answered))
    return Request(start, end, session, call, said, answers, _system(attributes, lines))


def _system(attributes: dict[str, Any], lines: jsonl.Lines) -> list[Part]:
    told = declared(_parsed(attributes.get("gen_ai.tool.definitions"), lines))
    instructions = _parsed(attributes.get("gen_ai.system_instructions"), lines)
    texts = msgspec.convert(instructions or [], list[dict[str, Any]])
    return [*told, *_understood(texts, lines, SYSTEM)]


def _messages(attributes: dict[str, Any], key: str, before: str, lines: jsonl.Lines) -> Any:
    """Return the messages of a prompt or an answer, from one attribute or several."""
    messages = attributes.get(key)
    return _indexed(attributes, before) if messages is None else _parsed(messages, lines)


def _seconds(nanoseconds: str | int) -> float:
    return msgspec.convert(nanoseconds, int, strict=False) / 1e9


def _usage(attributes: dict[str, Any]) -> Usage | None:
    """Return the usage of a call; the prompt should include cache reads and writes."""
    prompt, output = _count(attributes, _PROMPT), _count(attributes, _WROTE)
    if prompt is None and output is None:
        return None
    read, written = _count(attributes, _READ) or 0, _count(attributes, _WRITTEN) or 0
    plain = (prompt or 0) - read - written
    if plain < 0:  # the provider's own count, without cached tokens
        plain = prompt or 0
    return Usage(plain, read, written, output=output or 0)


def _count(attributes: dict[str, Any], keys: tuple[str, ...]) -> int | None:
    for key in keys:
        if attributes.get(key) is not None:
            return msgspec.convert(attributes[key], Tokens, strict=False)
    return None


def _parsed(value: Any, lines: jsonl.Lines) -> Any:
    """Parse structured content, which most exporters write as text; None if it was cut off."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        if lines.strict:
            text = "the messages of a span are no JSON; perhaps they were cut off"
            raise InputError(text) from None
        lines.pass_over("text of a span that is no JSON", value)
        return None


def _indexed(attributes: dict[str, Any], before: str) -> list[dict[str, Any]]:
    """Return messages whose fields are single attributes, as OpenLLMetry wrote them."""
    messages: dict[int, dict[str, Any]] = {}
    for key, value in attributes.items():
        if not key.startswith(f"{before}."):
            continue
        number, _, name = key.removeprefix(f"{before}.").partition(".")
        if not number.isdigit() or not name:
            raise InputError(f"an attribute {key!r} is not known")
        message = messages.setdefault(int(number), {"tool_calls": {}})
        if name.startswith("tool_calls."):
            at, _, inner = name.removeprefix("tool_calls.").partition(".")
            message["tool_calls"].setdefault(at, {"type": "tool_call"})[inner] = value
        else:
            message[name] = value
    for message in messages.values():
        message["tool_calls"] = list(message["tool_calls"].values())
        message.setdefault("role", "assistant")
    return [messages[number] for number in sorted(messages)]


def _said(messages: Any, known: Known, lines: jsonl.Lines) -> Iterator[Said]:
    """Yield the messages of a prompt or an answer; each result is a message."""
    for message in msgspec.convert(messages or [], list[dict[str, Any]]):
        lines.pass_over_fields(message, _MESSAGE, "a message")
        role, parts = message.get("role"), _parts(message, lines)
        if role not in (*_ROLES, *SYSTEM_ROLES):
            if lines.strict:
                raise InputError(f"{role!r} is not a role of a message")
            lines.pass_over(f"message of role {role!r}", message)
            continue
        results = [part for part in parts if part.get("type") in _RESULTS]
        rest = [part for part in parts if part.get("type") not in _RESULTS]
        if rest and _ROLES.get(role) == "assistant":
            yield known.said("assistant", _understood(rest, lines))
        for part in results:
            yield known.said("tool", _understood([part], lines))
        if rest and _ROLES.get(role) != "assistant":
            origin = role if role in SYSTEM_ROLES else ""
            yield known.said(_ROLES.get(role, "user"), _understood(rest, lines), origin)


def _understood(parts: list[dict[str, Any]], lines: jsonl.Lines, id: str = "") -> Iterator[Part]:
    """Convert parts; unknown ones are skipped."""
    for part in parts:
        try:
            yield _part(part, id)
        except InputError:
            if lines.strict:
                raise
            lines.pass_over(f"part of type {part.get('type')!r}", part)


def _parts(message: dict[str, Any], lines: jsonl.Lines) -> list[dict[str, Any]]:
    if "parts" not in message and "content" not in message and not message.get("tool_calls"):
        raise InputError("a message has neither parts nor content")
    parts = msgspec.convert(message.get("parts") or [], list[dict[str, Any]])
    content, calls = message.get("content"), message.get("tool_calls") or []
    if isinstance(content, str) and content[:2] in ("[{", '{"'):
        with suppress(ValueError):  # or a text that begins like JSON
            content = json.loads(content)
    if isinstance(content, list):
        parts = [*parts, *msgspec.convert(content, list[dict[str, Any]])]
    elif content or (content == "" and message.get("role") == "tool"):
        parts = [*parts, {"type": "text", "content": compact(content)}]
    if message.get("role") == "tool":
        id = message.get("tool_call_id")  # a text is also a result
        parts = [
            {"type": _RESULTS[0], "id": id, "response": part.get("content", part.get("text"))}
            if part.get("type") == "text"
            else part
            for part in parts
        ]
    for part in parts:
        lines.pass_over_fields(part, _PART, "a part of a message")
    return [*parts, *msgspec.convert(calls, list[dict[str, Any]])]


def _part(part: dict[str, Any], id: str) -> Part:
    """Convert a part of a message, by the models of the conventions."""
    kind, name, call_id = part.get("type"), str(part.get("name") or ""), str(part.get("id") or "")
    if kind in ("tool_call", "server_tool_call"):
        asked = part.get("arguments", part.get("server_tool_call"))
        if isinstance(asked, str) and asked[:1] == "{":
            with suppress(ValueError):  # the same arguments may be text in one span only
                asked = json.loads(asked)
        if not name or (asked is None and "arguments" not in part):
            raise InputError(f"a part of type {kind!r} has no name or no arguments")
        return tool_call(id, name, asked, call_id)
    if kind in _RESULTS:
        keys = [key for key in ("response", "result", kind) if key in part]
        if not keys:
            raise InputError(f"a part of type {kind!r} has no response")
        return verbatim(id, "tool_result", compact(part[keys[0]]), name=name, call_id=call_id)
    if kind in ("blob", "uri", "file", "file_data"):
        if part.get("modality") != "image":
            return opaque(id, "text", kind)
        data = part.get("content")
        return image(id, data if isinstance(data, str) else "")
    text = part.get("content", part.get("text"))
    if not isinstance(text, str):
        raise InputError(f"a part of type {kind!r} is not known")
    return verbatim(id, "thinking" if kind in ("reasoning", "thinking") else "text", text)


FORMAT = Format(
    NAME, "traces in OTLP JSON, by OpenTelemetry's conventions for GenAI", any_is(_is_own), read
)
