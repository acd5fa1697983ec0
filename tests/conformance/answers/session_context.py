"""What a session of pi's has in context: our reader's log, played back as it was recorded."""

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from compactlab.scenarios.readers import pi as reader
from compactlab.scenarios.readers.jsonl import Lines
from compactlab.scenarios.readers.pi_tree import told
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.message import FRAME, Message
from compactlab.sim.replay.recording import compacted
from compactlab.sim.replay.replay import Options, record
from compactlab.sim.replay.sizes import Unseen
from compactlab.strategies.controls import AsRecorded
from tests.conformance.answers import Answer, Excluded
from tests.conformance.pi import stringify
from tests.conformance.vectors import Case

HEADER = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z"}
LATER = "2026-12-31T00:00:00.000Z"


def build_session_context(case: Case) -> Any:
    entries = case.named("sessions", "entries")
    leaf = case.input["leafId"]
    if leaf != "(undefined)":
        ids = [entry["id"] for entry in entries]
        entries = entries[: ids.index(leaf) + 1] if leaf in ids else entries
    prompt, summaries = _last_prompt(entries, leaf)
    place = {entry["id"]: n for n, entry in enumerate(entries)}
    return {"messages": [_written(m, place, summaries) for m in prompt]}


def model_context(case: Case) -> Any:
    """What pi 1.6.0 sends, without its words around what is not said by anybody."""
    conversation, prompt = _asked(case.named("sessions", "entries"), case.input["leafId"])
    declared = [part.text for part in conversation.system]
    for message in prompt:
        if message.origin == "system":
            declared += [part.text for part in message.parts if part.name != FRAME]
    system = case.output["system"]
    tools = [name for name in system["tools"] if any(f'"{name}"' in each for each in declared)]
    return {
        "messages": [_sent(message) for message in prompt if message.origin != "system"],
        "system": {"sections": [s for s in system["sections"] if s in declared], "tools": tools},
    }


def _sent(message: Message) -> Any:
    role = "toolResult" if message.role == "tool" else message.role
    parts = [part for part in message.parts if part.type in ("text", "tool_result")]
    sent = {"role": role, "text": "".join(part.text for part in parts)}
    if role == "assistant":
        sent["calls"] = [part.call_id for part in message.parts if part.type == "tool_call"]
    elif role == "toolResult":
        sent["answers"] = message.parts[0].call_id
    return sent


def _last_prompt(entries: list[Any], leaf: Any) -> tuple[list[Message], dict[str, int]]:
    """What is sent with one more question, and the tokens before each summary."""
    conversation, prompt = _asked(entries, leaf)
    before = {
        message.id: compaction.tokens_before
        for compaction in conversation.compactions
        for message in compaction.inserted
    }
    return prompt, before


def _asked(entries: list[Any], leaf: Any) -> tuple[Conversation, list[Message]]:
    """Ask one more question at a place of a session, and see what is sent with it."""
    ids = [entry["id"] for entry in entries]
    end = None if leaf is None else leaf if leaf in ids else ids[-1] if ids else None
    asked = {"role": "user", "content": "?"}
    told = {"role": "assistant", "content": [{"type": "text", "text": "!"}], "usage": {"input": 1}}
    more = [
        {"type": "message", "id": "asked", "parentId": end, "timestamp": LATER, "message": asked},
        {"type": "message", "id": "told", "parentId": "asked", "timestamp": LATER, "message": told},
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        lines = [HEADER, *entries, *more]
        path.write_text("\n".join(map(stringify, lines)), encoding="utf-8")
        (conversation,) = reader.read(Lines(path))
    trace = record(conversation, AsRecorded(), Options("claude-sonnet-4-5", overhead=Unseen()))
    *_, prompt = trace.prompts()
    return conversation, list(prompt)[:-1]


def _written(message: Message, place: dict[str, int], before: dict[str, int]) -> Any:
    if message.id not in before:
        return {"$entry": place[message.id]}
    return {
        "role": message.origin,
        "summary": message.parts[1].text,
        "tokensBefore": before[message.id],
        "timestamp": round(message.time * 1000),
    }


@cache
def _compacted_session() -> list[Any]:
    said = {"role": "user", "content": "hello"}
    return [
        {"type": "message", "id": "e0", "parentId": None, "timestamp": LATER, "message": said},
        {
            "type": "compaction",
            "id": "e1",
            "parentId": "e0",
            "timestamp": LATER,
            "summary": "S",
            "firstKeptEntryId": "e0",
            "tokensBefore": 5,
        },
    ]


ANSWERS = [
    Answer(
        "buildSessionContext",
        build_session_context,
        (compacted,),
        lambda: _last_prompt(_compacted_session(), "e1"),
    ),
    Answer(
        "convertToLlm(buildSessionContext)",
        model_context,
        (compacted, told),
        lambda: _last_prompt(_compacted_session(), "e1"),
    ),
]
_NOT_CONTEXT = "not part of what is sent: the level of thinking and the model of the next call"
EXCLUDED = [
    Excluded("buildSessionContext", "*", "thinkingLevel", _NOT_CONTEXT),
    Excluded("buildSessionContext", "*", "model*", _NOT_CONTEXT),
]
