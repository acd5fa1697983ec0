"""Oversized results in files, and how they are fetched again."""

import json
from typing import Any

from compactlab.scenarios.coding_agent import CodingAgent
from compactlab.sim.models.model import find_model
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.replay import Options, record
from compactlab.strategies.openclaw.outputs import (
    OffloadOutputs,
    chars_to_deliver,
    put_away,
    read_reference,
    resolve,
)
from tests.conformance.answers import Answer
from tests.conformance.vectors import UNDEFINED, Case


def externalize(case: Case) -> Any:
    message = case.input["message"]
    content = message.get("content")
    if message["role"] != "toolResult" or case.input.get("sessionFile", "here") is None:
        return {"unchanged": True}
    blocks = content if isinstance(content, list) else []
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    payload = put_away(
        texts,
        message.get("details"),
        case.input.get("toolName"),
        case.input.get("toolCallId"),
        now=case.shared["now_ms"] / 1000,
    )
    if payload is None:
        return {"unchanged": True}
    saved = json.loads(payload.content)
    return {
        "message": message
        | ({"details": payload.details} if payload.details is not None else {})
        | ({"content": _replaced(blocks, payload.text)} if payload.text is not None else {}),
        "file": {
            "path": payload.path,
            "bytes": payload.bytes,
            "sha256": payload.sha256,
            "payload": saved,
            "payloadKeysInOrder": list(saved),
        },
    }


def _replaced(blocks: list[Any], text: str) -> list[Any]:
    told = iter([{"type": "text", "text": text}])
    new = (next(told, None) if block["type"] == "text" else block for block in blocks)
    return [block for block in new if block]


def max_chars(case: Case) -> Any:
    raw = case.input["raw"]
    return chars_to_deliver(None if raw is UNDEFINED else raw)


def path(case: Case) -> Any:
    folder = case.input["transcriptPath"].rpartition("/")[0]
    return resolve(folder, case.input["outputRefPath"])


def reference(case: Case) -> Any:
    return read_reference(case.input["message"].get("details"))


def put_away_and_fetch() -> None:
    strategy = OffloadOutputs(max_text_chars=2_000, preview_chars=500)
    files: dict[str, str] = {}
    session = CodingAgent(turns=4, tokens=20_000).conversation(seed=0)
    trace = record(session, strategy, Options("claude-sonnet-4-5", files=files))
    (*_, prompt) = trace.prompts()
    handles = [part.handle for message in prompt for part in message.parts if part.handle]
    strategy.fetch(handles[0], Host(find_model("claude-sonnet-4-5"), files=files))


ANSWERS = [
    Answer("externalizeLargeToolResultPayload", externalize, (put_away,), put_away_and_fetch),
    Answer("resolveOutputRefMaxChars", max_chars, (chars_to_deliver,), put_away_and_fetch),
    Answer("resolveOutputRefPayloadPath", path, (resolve,), put_away_and_fetch),
    Answer("readToolResultOutputRef", reference, (read_reference,), put_away_and_fetch),
]
