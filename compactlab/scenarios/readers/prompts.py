"""Prompts and answers in traces: messages in the notations of several frameworks."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

import msgspec

from compactlab.scenarios.readers import chat, jsonl
from compactlab.scenarios.readers.blocks import Content, compact, parts
from compactlab.scenarios.readers.rest import objects, pass_over_rest
from compactlab.scenarios.readers.script import SYSTEM, Script, declared
from compactlab.scenarios.readers.shapes import dict_of, list_of
from compactlab.scenarios.readers.threads import SYSTEM_ROLES, Known, Said
from compactlab.sim.core.message import Part, Role

# LangChain's names of roles, by class and by type.
_ROLES = {
    "human": "user", "ai": "assistant", "system": "system", "developer": "developer",
    "tool": "tool", "function": "tool", "chat": "user", "user": "user", "assistant": "assistant",
}  # fmt: skip
# Fields of a message that are read here, or that the model does not see.
_READ = (
    "additional_kwargs", "artifact", "extra", "invalid_tool_calls", "response_metadata",
    "tool_call_chunks", "usage_metadata",
)  # fmt: skip


def asked(id: Any, name: Any, arguments: Any) -> dict[str, Any]:
    """Return a call of a tool in the form of Chat Completions."""
    return {"id": id, "function": {"name": name, "arguments": compact(arguments)}}


class Prompts:
    """Reads prompts and answers; equal messages are the same object."""

    def __init__(self, lines: jsonl.Lines) -> None:
        self._lines = lines
        self._known = Known()

    def asked(self, value: Any) -> tuple[list[Part], list[Said]]:
        outside = dict_of(value)
        system = declared(outside.get("tools"))
        if told := outside.get("system"):
            block = told if isinstance(told, list) else [{"type": "text", "text": str(told)}]
            system += parts(msgspec.convert(block, Content), SYSTEM, self._lines)
        return system, self._messages(value, "user")

    def answered(self, value: Any) -> list[Said]:
        return self._messages(value, "assistant")

    def _messages(self, value: Any, role: Role) -> list[Said]:
        said: list[Said] = []
        messages = _listed(value)
        if value and not messages:
            self._lines.pass_over("prompt or answer without messages", value)
        for each in messages:
            with self._lines.at(0, each):
                said += self._of(_message(each, role), each)
        return said

    def _of(self, message: dict[str, Any], whole: Any) -> list[Said]:
        role = message.get("role")
        if calls := message.get("tool_calls"):
            known = objects(self._lines, calls, "call of a tool")
            message["tool_calls"] = [
                call
                if "function" in call or "custom" in call
                else asked(call.get("id"), call.get("name"), call.get("args"))
                for call in known
            ]
        content = message.get("content")
        if role in SYSTEM_ROLES and not isinstance(content, list):
            message["content"] = [{"type": "text", "text": content}]
        return said_of(message, whole, self._known, self._lines, _READ)


def said_of(
    message: dict[str, Any], whole: Any, known: Known, lines: jsonl.Lines, silent: Collection[str]
) -> list[Said]:
    """Convert a message of Chat Completions; ``whole`` is its complete form in the log.

    Fields in ``silent`` have no text for the model, or are read elsewhere.
    """
    role = message.get("role")
    if role in SYSTEM_ROLES:
        told = parts(msgspec.convert(message.get("content"), Content), "", lines)
        pass_over_rest(lines, whole, told, silent)
        return [known.said("user", told, str(role))]
    drafts = chat.take(Script(), message, lines, known=silent)
    pass_over_rest(lines, whole, drafts, silent)
    return known.of(drafts)


def _listed(value: Any) -> list[Any]:
    if isinstance(value, str):
        try:
            parsed = json.loads(value) if value[:1] in ("[", "{") else None
        except ValueError:
            parsed = None
        return _listed(parsed) if isinstance(parsed, list | dict) else [value] if value else []
    if isinstance(value, list):
        # LangChain could send several prompts at once; a chat has only one.
        return [one for each in value for one in (each if isinstance(each, list) else [each])]
    if isinstance(value, dict):
        for key in ("messages", "generations", "choices"):
            if isinstance(value.get(key), list):
                return _listed(value[key])
        return [value] if value else []
    return []


def _message(value: Any, role: Role) -> dict[str, Any]:
    """Convert a message to the form of Chat Completions or Anthropic's API."""
    if not isinstance(value, dict):
        return {"role": role, "content": value if isinstance(value, str) else compact(value)}
    if isinstance(value.get("message"), dict):
        return _message(value["message"], role)  # of a generation, or of a choice
    if isinstance(value.get("kwargs"), dict):
        names = value.get("id")
        kind = str(names[-1]) if isinstance(names, list) and names else ""
        kind = kind.removesuffix("Chunk").removesuffix("Message").lower()
        return _from_langchain({**value["kwargs"], "type": kind}, role)
    if "role" not in value and str(value.get("type", "")).lower() in _ROLES:
        return _from_langchain({**value, **dict_of(value.get("data"))}, role)
    if "role" not in value:
        keys = [key for key in ("content", "text", "output") if isinstance(value.get(key), str)]
        # A value that is not a message is taken as text.
        return {"role": role, "content": value[keys[0]] if keys else compact(value)}
    return _with_calls({**value, "role": _ROLES.get(str(value["role"]).lower(), value["role"])})


def _from_langchain(fields: dict[str, Any], role: Role) -> dict[str, Any]:
    plain = {key: value for key, value in fields.items() if key not in ("type", "id", "data")}
    kind = str(fields.get("type") or "").lower()
    return _with_calls({**plain, "role": _ROLES.get(kind, plain.get("role") or role)})


def _with_calls(plain: dict[str, Any]) -> dict[str, Any]:
    """Move the tool calls of a message to the field that Chat Completions uses."""
    calls = plain.get("tool_calls") or dict_of(plain.get("additional_kwargs")).get("tool_calls")
    content = plain.get("content")
    inside = any(dict_of(block).get("type") == "tool_use" for block in list_of(content))
    plain.pop("tool_calls", None)
    if calls and not inside:
        plain["tool_calls"] = calls
    if "content" not in plain and "tool_calls" not in plain:
        plain["content"] = ""
    return plain
