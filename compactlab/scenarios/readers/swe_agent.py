"""Trajectories of SWE-agent: the context of the model, with observations paired to actions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from compactlab.scenarios.readers import chat, jsonl
from compactlab.scenarios.readers.blocks import Given, compact, parts
from compactlab.scenarios.readers.script import SYSTEM, Format, Script, conversations, numbered
from compactlab.scenarios.readers.shapes import any_is, is_by_agents
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import verbatim

NAME = "swe-agent"
# Fields of a message that are read here, or that repeat its content.
_READ = ("action", "content", "query", "thinking_blocks", "thought", "tool_calls")


class _Message(msgspec.Struct):
    role: str
    content: Given = msgspec.UNSET
    thought: str | None = None
    action: str | None = None
    tool_calls: list[Any] | None = None
    is_demo: bool = False


def read(lines: jsonl.Lines) -> Iterator[Conversation]:
    """Read the conversation of a trajectory; in JSON Lines, one per line."""
    yield from conversations(lines, _conversation)


def _conversation(lines: jsonl.Lines, value: Any, count: int) -> Conversation:
    if not is_by_agents(value):
        raise InputError("a trajectory needs a history of messages that name their agent")
    whole: list[dict[str, Any]] = []
    history: list[_Message] = []
    for raw in value["history"]:
        with lines.at(0, raw):
            message = msgspec.convert(raw, _Message)
            lines.pass_over_fields(raw, _READ, "a message")
            history.append(message)
            whole.append(raw)
    script = Script()
    for raw, rewritten in zip(whole, _paired(history), strict=True):
        if not raw.get("is_demo"):
            with lines.at(0, raw):
                chat.take(script, rewritten or raw, lines, known=raw)
    for message in history:
        told = parts(message.content, SYSTEM) if message.is_demo else []
        if text := "\n".join(part.text for part in told if part.text):
            script.system.append(verbatim(SYSTEM, "text", text, name="demonstration"))
    return script.conversation(numbered(lines.path.stem, count), NAME, lines.path)


def _paired(history: list[_Message]) -> Iterator[dict[str, Any] | None]:
    """Convert actions in text to calls, and observations to results; None: no change."""
    call, asked = "", False
    for step, message in enumerate(history):
        if message.is_demo:
            yield None
        elif message.role == "assistant":
            in_text = bool((message.action or "").strip()) and not message.tool_calls
            call = f"step-{step}" if in_text else ""
            yield _called(message, call) if in_text else None
        elif message.role == "user" and call:
            yield {"role": "tool", "tool_call_id": call, "content": _content(message)}
            call = ""
        elif message.role == "user" and asked:
            # A developer message in the middle is read as one that no person typed.
            yield {"role": "developer", "content": _content(message)}
        else:
            asked = asked or message.role == "user"
            yield None


def _called(message: _Message, id: str) -> dict[str, Any]:
    action = (message.action or "").strip()
    function = {"name": action.split()[0], "arguments": compact({"command": action})}
    calls = [{"id": id, "function": function}]
    content = _content(message) if message.thought is None else message.thought.strip()
    return {"role": "assistant", "content": content, "tool_calls": calls}


def _content(message: _Message) -> Any:
    """Return the content of a message as its log writes it; None if there is none."""
    content = None if isinstance(message.content, msgspec.UnsetType) else message.content
    return msgspec.to_builtins(content)


FORMAT = Format(NAME, "trajectories of SWE-agent (JSON)", any_is(is_by_agents), read)
