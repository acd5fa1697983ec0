"""Trajectories of mini-swe-agent, with the usage of each answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compactlab.scenarios.readers import chat, jsonl
from compactlab.scenarios.readers.counts import of_provider
from compactlab.scenarios.readers.rest import pass_over_rest
from compactlab.scenarios.readers.script import Format, Script, conversations, numbered
from compactlab.scenarios.readers.shapes import any_is, dict_of, is_mini, list_of
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Call

NAME = "mini-swe-agent"

# Fields of a message that are read here, or that the model does not see.
_READ = ("extra", "thinking_blocks", "provider_specific_fields", "reasoning_details")
_EXIT = "exit"  # the role of the note at the end of a run
_TRAJECTORY = {"info", "messages", "trajectory_format", "instance_id"}


def read(lines: jsonl.Lines) -> Iterator[Conversation]:
    """Read the conversation of a trajectory; in JSON Lines, one per line."""
    yield from conversations(lines, _conversation)


def _conversation(lines: jsonl.Lines, value: Any, number: int) -> Conversation:
    if not is_mini(value):
        raise InputError("a trajectory of mini-swe-agent has messages")
    lines.pass_over_fields(value, _TRAJECTORY, "a trajectory")
    script = Script()
    config = dict_of(dict_of(value.get("info")).get("config"))
    model = str(dict_of(config.get("model")).get("model_name") or "")
    for message in value["messages"]:
        with lines.at(0, message):
            _take(script, message, model, lines)
    id = lines.path.name.removesuffix(".json").removesuffix(".traj")
    return script.conversation(numbered(id, number), NAME, lines.path)


def _take(script: Script, message: Any, model: str, lines: jsonl.Lines) -> None:
    if not isinstance(message, dict):
        raise InputError("a message is an object")
    extra = dict_of(message.get("extra"))
    stamp = extra.get("timestamp", message.get("timestamp"))
    time = float(stamp) if isinstance(stamp, int | float) and not isinstance(stamp, bool) else 0.0
    # With the Responses API, the response itself is the message.
    answer = message if message.get("object") == "response" else dict_of(extra.get("response"))
    usage = of_provider(answer.get("usage"))
    call = Call(str(answer.get("model") or model), usage, id=str(answer.get("id") or ""))
    plain = _plain(message)
    role = plain.get("role")
    if role == _EXIT:
        return
    if role != "assistant" and usage:
        # An answer that the agent could not use is billed, but not kept.
        script.bill("rejected answer", call, time)
    meta = any(draft.call for draft in script.path)
    known = _READ if usage or "usage" not in message else (*_READ, "usage")
    drafts = chat.take(script, plain, lines, call=call, time=time, known=known, meta=meta)
    for draft in drafts:
        if draft.role == "user" and meta:
            draft.origin = "observation"
    pass_over_rest(lines, message, [*drafts, *script.system], ("extra", "instructions", "tools"))


def _plain(message: dict[str, Any]) -> dict[str, Any]:
    """Convert a message to the form of Chat Completions, including items of Responses."""
    if message.get("object") == "response":
        return _answered(message)
    if message.get("type") == "function_call_output":
        call_id = message.get("call_id")
        return {"role": "tool", "tool_call_id": call_id, "content": message.get("output")}
    return {key: value for key, value in message.items() if key != "id"}


def _answered(response: dict[str, Any]) -> dict[str, Any]:
    content: list[Any] = []
    calls: list[Any] = []
    for item in list_of(response.get("output")):
        kind = item.get("type") if isinstance(item, dict) else None
        if kind == "message":
            told = item.get("content")
            content += told if isinstance(told, list) else [{"type": "text", "text": told or ""}]
        elif kind == "function_call":
            function = {"name": item.get("name"), "arguments": item.get("arguments")}
            calls.append({"id": item.get("call_id") or item.get("id"), "function": function})
        elif kind == "reasoning":
            summary = list_of(item.get("summary"))
            texts = (each.get("text") for each in summary if isinstance(each, dict))
            thought = "\n".join(text for text in texts if isinstance(text, str))
            content.append({"type": "thinking", "thinking": thought})
        else:
            content.append(item)
    return {"role": "assistant", "content": content, "tool_calls": calls or None}


FORMAT = Format(NAME, "trajectories of mini-swe-agent (`.traj.json`)", any_is(is_mini), read)
