"""An extra turn of the agent, put into messages that are born in the replay."""

from __future__ import annotations

import json

from compactlab.sim.memory import Remembered
from compactlab.sim.message import Message, Part
from compactlab.sim.summarize import TurnRequest, Written

TOOL = "write"
FILE = "memory/notes.md"


def messages_of(id: str, request: TurnRequest, notes: Written, time: float) -> list[Message]:
    """What is said in an extra turn, in order.

    The agent is told; it writes its notes with a tool, if it has any, and is told that this is
    done; it answers. Each of its own messages answers a call of the model. Only the notes stand
    for something that was said before, and have its sources.

    Parameters
    ----------
    id
        With what the ids of the messages begin.
    request
        What the agent is told.
    notes
        What it puts down and answers.
    time
        When, in seconds since 1970.
    """
    told = Message(f"{id}-prompt", "user", (_framing(request.prompt),), time, meta=True)
    said = Message(f"{id}-reply", "assistant", (_framing(notes.reply),), time)
    if not notes.items:
        return [told, said]
    sources = tuple(dict.fromkeys(source for item in notes.items for source in item.sources))
    call = Part("tool_call", _arguments(notes.items), "memory", sources, TOOL, call_id=id)
    done = Part("tool_result", f"{FILE} is written.", "synthetic", (), TOOL, call_id=id)
    wrote = Message(f"{id}-write", "assistant", (call,), time)
    return [told, wrote, Message(f"{id}-written", "tool", (done,), time), said]


def _framing(text: str) -> Part:
    return Part("text", text, "synthetic", ())


def _arguments(items: tuple[Remembered, ...]) -> str:
    lines = "\n".join(f"- {item.topic}: {item.text}" for item in items)
    written = {"path": FILE, "content": lines}
    return json.dumps(written, ensure_ascii=False, separators=(",", ":"))
