"""Exports of Langfuse: traces with their observations, or observations alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compactlab.scenarios.readers import jsonl
from compactlab.scenarios.readers.counts import by_total, count
from compactlab.scenarios.readers.prompts import Prompts
from compactlab.scenarios.readers.script import Format, nothing
from compactlab.scenarios.readers.shapes import Shape, dict_of, fits
from compactlab.scenarios.readers.threads import Request, conversations
from compactlab.scenarios.readers.times import time_of
from compactlab.sim.core.conversation import Conversation, SideRequest
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Call, Usage

NAME = "langfuse"

_OBSERVATION: Shape = {"type": str, "startTime": object}
_TRACE: Shape = {"observations": list}
_GENERATION, _EMBEDDING = "GENERATION", "EMBEDDING"
# Observations without a model call: a generation repeats their text, or no model sees it.
_SILENT = (
    "AGENT", "CHAIN", "EMBEDDING", "EVALUATOR", "EVENT", "GUARDRAIL", "RETRIEVER", "SPAN", "TOOL",
)  # fmt: skip
_KNOWN = ("input", "inputUsage", "metadata", "output", "outputUsage", "promptName", "statusMessage")
# Names of counts, by meaning. Other names with "input" or "output" belong to these classes, as in
# Langfuse's own sums (its page on token usage, 2026).
_READ = ("cache_read", "cached_tokens", "cache_hit", "input_cached")
_WRITTEN = ("cache_creation", "cache_write")
_HOUR = "1h"
_REASONING = "reasoning"


def _sniff(first: list[Any]) -> bool:
    told = (each for value in first for each in _observations(value) if fits(each, _OBSERVATION))
    return any(
        {"usageDetails", "traceId", "model"} & each.keys() and each["type"].isupper()
        for each in told
    )


def _observations(value: Any) -> Iterator[Any]:
    """Yield the observations of a trace, of a list of either, or of an API response."""
    if isinstance(value, list):
        for each in value:
            yield from _observations(each)
    elif fits(value, _TRACE):
        session = value.get("sessionId") or value.get("id")
        for each in value["observations"]:
            yield {"sessionId": session, **each} if isinstance(each, dict) else each
    elif fits(value, {"trace": dict, "observations": list}):
        yield from _observations(value["trace"] | {"observations": value["observations"]})
    elif fits(value, {"data": list}):
        yield from _observations(value["data"])
    elif isinstance(value, dict):
        yield value


def read(lines: jsonl.Lines) -> Iterator[Conversation]:
    """Read the conversations of an export: one per session, or per trace without a session."""
    prompts = Prompts(lines)
    requests: list[Request] = []
    beside: list[SideRequest] = []
    for number, value in jsonl.values(lines):
        for each in _observations(value):
            with lines.at(number, each):
                if not isinstance(each, dict):
                    raise InputError("an observation is an object")
                lines.pass_over_fields(each, _KNOWN, "an observation")
                kind = each.get("type")
                if kind == _GENERATION:
                    requests.append(_request(each, prompts))
                elif kind == _EMBEDDING and (usage := _usage(each)):
                    call = Call(str(each.get("model") or ""), usage)
                    beside.append(SideRequest("embedding", call, time_of(each.get("startTime"))))
                elif kind not in _SILENT:
                    lines.pass_over(f"observation of type {kind!r}", each)
    if not requests:
        raise nothing(lines, ": no generation, which asks a model")
    yield from conversations(NAME, lines.path, requests, beside=beside)


def _request(told: dict[str, Any], prompts: Prompts) -> Request:
    start = time_of(told.get("startTime"))
    end, session = (
        max(start, time_of(told.get("endTime"))),
        told.get("sessionId") or told.get("traceId"),
    )
    system, asked = prompts.asked(told.get("input"))
    call = Call(str(told.get("model") or ""), _usage(told))
    answered = prompts.answered(told.get("output"))
    return Request(start, end, str(session or ""), call, asked, answered, system)


def _usage(told: dict[str, Any]) -> Usage | None:
    """Return the usage of a generation; its total shows if the input includes cached tokens."""
    details = dict_of(told.get("usageDetails")) or dict_of(told.get("usage"))
    if not details:
        return None
    counts = {
        str(key).lower(): number
        for key, number in details.items()
        if type(number) is int and number >= 0 and "cost" not in str(key).lower()
    }
    prompt = output = read = written = hour = 0
    for key, number in counts.items():
        if any(word in key for word in _READ):
            read += count(number)
        elif any(word in key for word in _WRITTEN):
            written += count(number)
            hour += count(number) if _HOUR in key else 0
        elif "input" in key or "prompt" in key:
            prompt += count(number)
        elif "output" in key or "completion" in key:
            output += count(number)
    total = count(counts.get("total"))
    inside = sum(count(number) for key, number in counts.items() if _REASONING in key)
    if total and total == prompt + read + written + output - inside:
        output -= inside  # reasoning, which the output already includes
    return by_total(prompt, output, read, written, total=total or prompt + read + written + output)


FORMAT = Format(NAME, "exports of Langfuse (traces or observations, JSON or JSONL)", _sniff, read)
