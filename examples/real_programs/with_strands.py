"""Strands' SlidingWindowConversationManager, as a program of compactlab's protocol.

Usage: with_strands.py WINDOW_SIZE
"""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

from pieces import arguments, text_of
from strands.agent.conversation_manager import SlidingWindowConversationManager
from strands.types.exceptions import ContextWindowOverflowException

from compactlab_program import Host, serve  # isort: skip


def strands(message: dict[str, Any]) -> dict[str, Any]:
    """A message as Strands has it: a tool's results are told by the user, all in one message."""
    content: list[dict[str, Any]] = []
    for part in message["parts"]:
        if part["type"] == "tool_call":
            use = {"toolUseId": part.get("call_id", ""), "name": part.get("name", "")}
            content.append({"toolUse": {**use, "input": arguments(part["text"])}})
        elif part["type"] == "tool_result":
            status = "error" if part.get("is_error") else "success"
            result = {"toolUseId": part.get("call_id", ""), "status": status}
            content.append({"toolResult": {**result, "content": [{"text": text_of(part)}]}})
        elif part["type"] == "thinking":
            content.append({"reasoningContent": {"reasoningText": {"text": part["text"]}}})
        else:
            content.append({"text": text_of(part)})
    role = "assistant" if message["role"] == "assistant" else "user"
    return {"role": role, "content": content, "id": message["id"]}


def result_of(block: dict[str, Any]) -> str | None:
    """What a result of a tool says; None for another block."""
    result = block.get("toolResult")
    return None if result is None else "".join(item["text"] for item in result["content"])


def managing(window_size: int) -> Any:
    """The manager, asked when Strands asks it: after a turn, and when the prompt did not fit."""

    def compact(view: dict[str, Any], host: Host) -> list[Any]:
        manager = SlidingWindowConversationManager(window_size=window_size)
        before = {message["id"]: message for message in view["messages"]}
        agent = SimpleNamespace(messages=[strands(message) for message in view["messages"]])
        if view["phase"] == "after_turn":
            manager.apply_management(agent)
        else:
            relieve(manager, agent, view, host)
        return [edited(message, before[message["id"]]) for message in agent.messages]

    return compact


def relieve(manager: Any, agent: Any, view: dict[str, Any], host: Host) -> None:
    """Reduce, and try again, until it fits or nothing more can be done."""
    weights = {message["id"]: message.get("tokens", 0) for message in view["messages"]}
    system = view["tokens"] - sum(weights.values())
    known = {message["id"]: strands(message) for message in view["messages"]}
    while system + sum(weights[m["id"]] for m in agent.messages) > view["window"]:
        try:
            manager.reduce_context(agent, RuntimeError("the prompt is too long"))
        except ContextWindowOverflowException:
            return
        for message in agent.messages:
            if message["content"] != known[message["id"]]["content"]:
                now, old = ("\n".join(result_of(b) or "" for b in m["content"])
                            for m in (message, known[message["id"]]))  # fmt: skip
                weights[message["id"]] += host.count(now) - host.count(old)
                known[message["id"]] = dict(message)


def edited(message: dict[str, Any], before: dict[str, Any]) -> Any:
    """A message by its id, or with the results that were shortened."""
    parts: list[Any] = []
    for index, (block, part) in enumerate(zip(message["content"], before["parts"], strict=True)):
        text = result_of(block)
        same = text is None or text == text_of(part)
        parts.append(index if same else {"part": index, "text": text, "kind": "truncated"})
    same = parts == list(range(len(parts)))
    return message["id"] if same else {"id": message["id"], "parts": parts}


if __name__ == "__main__":
    phases = ["after_turn", "on_overflow"]
    name = "strands SlidingWindowConversationManager"
    serve(managing(int(sys.argv[1])), name, "1.62.0", phases=phases, does=["truncate", "clear"])
