"""Exports of LangSmith: runs, each with its child runs, or one per line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compactlab.scenarios.readers import jsonl
from compactlab.scenarios.readers.counts import contained, count, counted, of_provider
from compactlab.scenarios.readers.prompts import Prompts
from compactlab.scenarios.readers.script import Format, nothing
from compactlab.scenarios.readers.shapes import Shape, dict_of, fits
from compactlab.scenarios.readers.threads import Request, conversations
from compactlab.scenarios.readers.times import time_of
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.message import Call, Usage

NAME = "langsmith"

_KNOWN = ("child_runs", "inputs", "inputs_preview", "outputs", "outputs_preview", "prompt_tokens")
_RUN: Shape = {"run_type": str, "inputs": object}
_ASKING = "llm"
_SESSIONS = ("session_id", "thread_id", "conversation_id")  # metadata keys of thread ids
_MODELS = ("ls_model_name", "model_name", "model")
_CHILDREN = ("child_runs", "runs", "children", "data")


def _sniff(first: list[Any]) -> bool:
    return any(fits(run, _RUN) for value in first for run, _ in _runs(value, ""))


def _runs(value: Any, session: str) -> Iterator[tuple[Any, str]]:
    """Yield the runs of a value and their child runs, each with its conversation."""
    if isinstance(value, list):
        for each in value:
            yield from _runs(each, session)
        return
    if not isinstance(value, dict):
        return
    metadata = dict_of(dict_of(value.get("extra")).get("metadata"))
    named = next((str(metadata[key]) for key in _SESSIONS if metadata.get(key)), "")
    own = named or session or str(value.get("trace_id") or "")
    if "run_type" in value:
        yield value, own or str(value.get("id") or "")
    for key in _CHILDREN:
        if isinstance(value.get(key), list):
            yield from _runs(value[key], own)


def read(lines: jsonl.Lines) -> Iterator[Conversation]:
    """Read the conversations of an export: one per thread, or per trace without a thread."""
    prompts = Prompts(lines)
    requests: list[Request] = []
    seen: set[str] = set()
    for number, value in jsonl.values(lines):
        for run, session in _runs(value, ""):
            with lines.at(number, run):
                id = str(run.get("id") or "")
                if run.get("run_type") == _ASKING and (not id or id not in seen):
                    seen.add(id)
                    requests.append(_request(run, session, prompts, lines))
    if not requests:
        raise nothing(lines, ": no run of type 'llm', which asks a model")
    yield from conversations(NAME, lines.path, requests)


def _request(run: dict[str, Any], session: str, prompts: Prompts, lines: jsonl.Lines) -> Request:
    lines.pass_over_fields(run, _KNOWN, "a run")
    start = time_of(run.get("start_time"))
    inputs, outputs = dict_of(run.get("inputs")), dict_of(run.get("outputs"))
    extra = dict_of(run.get("extra"))
    invocation = dict_of(extra.get("invocation_params"))
    asked = inputs if "messages" in inputs else inputs.get("prompts") or inputs.get("input") or {}
    if isinstance(asked, dict) and "tools" not in asked and invocation.get("tools"):
        asked = {**asked, "tools": invocation["tools"]}
    for side in ("inputs", "outputs"):
        if not isinstance(run.get(side), dict | None):
            lines.pass_over(f"{side} of a run", run[side])
    if inputs and not asked:
        lines.pass_over("inputs of a run", inputs)
    system, messages = prompts.asked(asked)
    answer = next((each for each in _answers(outputs) if each), {})
    metadata = dict_of(extra.get("metadata"))
    named = (source.get(key) for source in (metadata, invocation) for key in _MODELS)
    response = dict_of(answer.get("response_metadata"))
    model = response.get("model_name") or response.get("model") or next(filter(None, named), "")
    answered_id = str(response.get("id") or outputs.get("id") or "")
    end = max(start, time_of(run.get("end_time")))
    call = Call(str(model), _usage(run, outputs, answer), id=answered_id)
    return Request(start, end, session, call, messages, prompts.answered(outputs), system)


def _answers(outputs: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the message of an answer, in any of its forms."""
    for key in ("generations", "choices", "messages"):
        listed = outputs.get(key)
        while isinstance(listed, list) and listed and isinstance(listed[0], list):
            listed = listed[0]
        for each in listed if isinstance(listed, list) else ():
            message = dict_of(dict_of(each).get("message")) or dict_of(each)
            yield dict_of(message.get("kwargs")) or message
    yield dict_of(outputs.get("message"))
    yield outputs


def _usage(run: dict[str, Any], outputs: dict[str, Any], answer: dict[str, Any]) -> Usage | None:
    """Return the usage of a run: LangChain's counts include cached tokens, a provider's may not."""
    for source in (answer, outputs, dict_of(dict_of(run.get("extra")).get("metadata"))):
        told = source.get("usage_metadata")
        if isinstance(told, dict) and told:
            details = dict_of(told.get("input_token_details"))
            written = count(details.get("cache_creation"))
            five, hour = (count(details.get(f"ephemeral_{n}_input_tokens")) for n in ("5m", "1h"))
            prompt, output = counted(told, ("input_tokens", "output_tokens"))
            read = count(details.get("cache_read"))
            return contained(prompt, output, read, written or five + hour, hour)
    provider = dict_of(outputs.get("llm_output"))
    for told in (outputs.get("usage"), provider.get("token_usage"), provider.get("usage")):
        if usage := of_provider(told):
            return usage
    totals = ("prompt_tokens", "completion_tokens")
    return of_provider({key: run[key] for key in totals if isinstance(run.get(key), int)})


FORMAT = Format(NAME, "exports of LangSmith (runs, JSON or JSONL)", _sniff, read)
