"""Write what inspect-ai's edit and trim answer to drawn chats; it must be installed."""

import asyncio
import json
import random
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from inspect_ai._util.content import ContentReasoning, ContentText
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageTool,
    ChatMessageUser,
    CompactionEdit,
    trim_messages,
)
from inspect_ai.model._compaction.edit import TOOL_RESULT_REMOVED
from inspect_ai.tool import ToolCall

CASES = 80
MODEL = SimpleNamespace(api=SimpleNamespace(compact_reasoning_history=lambda: True))
EDITS = (
    {},
    {"keep_tool_uses": 1, "keep_thinking_turns": 2},
    {"keep_tool_uses": 0, "keep_thinking_turns": 0},
    {"keep_tool_uses": 1, "exclude_tools": ["read"]},
    {"keep_tool_uses": 2, "keep_tool_inputs": False},
)
SHARES = (0.8, 0.5, 0.3, 0.0, 1.0)


def drawn(rng: random.Random) -> list[dict[str, Any]]:
    """A chat, oldest first; results may be missing, late or without their call."""
    chat: list[dict[str, Any]] = [{"role": "user", "text": "go"}] * (rng.random() < 0.9)
    for turn in range(rng.randint(0, 8)):
        ids = [f"c{turn}/{n}" for n in range(rng.choice((0, 1, 1, 2)))]
        calls = [{"id": id, "tool": rng.choice(("read", "run"))} for id in ids]
        thought = "hm" * (rng.random() < 0.5)
        chat.append({"role": "assistant", "text": f"a{turn}", "thought": thought, "calls": calls})
        answered = [id for id in ids if rng.random() < 0.9] + ["lost"] * (rng.random() < 0.1)
        chat += ({"role": "tool", "text": f"r{turn}", "id": id} for id in answered)
        if rng.random() < 0.3:
            chat.append({"role": "user", "text": f"u{turn}"})
    return chat


def theirs(n: int, said: dict[str, Any]) -> Any:
    id, text = str(n), said["text"]
    if said["role"] == "user":
        return ChatMessageUser(id=id, content=text)
    if said["role"] == "tool":
        return ChatMessageTool(id=id, content=text, tool_call_id=said["id"])
    thought = [ContentReasoning(reasoning=said["thought"])] * bool(said["thought"])
    calls = [ToolCall(id=c["id"], function=c["tool"], arguments={}) for c in said["calls"]]
    return ChatMessageAssistant(
        id=id, content=[*thought, ContentText(text=text)], tool_calls=calls or None
    )


def told(messages: list[Any]) -> list[Any]:
    """What is left: texts name their messages; whether thinking is left, and which calls."""
    rows = []
    for message in messages:
        text = message.text
        if message.role == "tool":
            rows.append([message.tool_call_id, text != TOOL_RESULT_REMOVED])
        elif message.role == "user":
            rows.append([text])
        else:
            thinks = any(isinstance(c, ContentReasoning) for c in message.content)
            first = message.text.partition("\n")[0]  # without notes on calls that are gone
            rows.append([first, thinks, [call.id for call in message.tool_calls or ()]])
    return rows


async def edit(chat: list[Any], rule: dict[str, Any]) -> list[Any]:
    left, _ = await CompactionEdit(memory=False, **rule).compact(MODEL, chat, [])
    return told(left)


async def trim(chat: list[Any], preserve: float) -> list[Any]:
    return told(await trim_messages(chat, preserve=preserve))


def write(name: str, function: str, answer: Any, rules: tuple[Any, ...]) -> None:
    rng = random.Random(name)
    cases = []
    for number in range(CASES):
        chat, rule = drawn(rng), rules[number % len(rules)]
        messages = [theirs(n, said) for n, said in enumerate(chat)]
        output = asyncio.run(answer(messages, rule))
        cases.append({"name": f"{number}", "input": {"chat": chat, "rule": rule}, "output": output})
    release = version("inspect-ai")
    head = json.dumps({"function": function, "package": "inspect-ai", "version": release})[:-1]
    lines = ",\n".join(json.dumps(case) for case in cases)
    place = Path(__file__).parent / "recorded" / f"inspect_{name}_{release}.json"
    place.write_text(f'{head}, "cases": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    write("edit", "inspect_ai.CompactionEdit.compact", edit, EDITS)
    write("trim", "inspect_ai.trim_messages", trim, SHARES)
