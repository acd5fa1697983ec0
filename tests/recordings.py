"""Small recordings in the formats of the clients, with usage that one can bill on paper."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

Record = dict[str, Any]
# A call: seconds since the start, tokens read, tokens written, whether a person has spoken.
Recorded = tuple[float, int, int, bool]

MODEL = "claude-sonnet-4-5"
START = datetime(2026, 3, 1, 10, tzinfo=UTC).timestamp()

# A prompt that grows; after an hour all of it has expired; then the client changes it in front.
IDLE: Sequence[Recorded] = (
    (0, 0, 40_000, True),
    (30, 40_000, 1_000, False),
    (60, 41_000, 500, False),
    (3_660, 0, 42_000, True),
    (3_690, 42_000, 400, False),
    (3_720, 0, 42_800, False),
)
# Nothing goes wrong.
CALM: Sequence[Recorded] = (
    (0, 0, 30_000, True),
    (20, 30_000, 600, False),
    (40, 30_600, 300, False),
)


def claude_code(
    path: Path, calls: Sequence[Recorded] = IDLE, model: str = MODEL, usage: bool = True
) -> Path:
    """Write a transcript of Claude Code; without usage, what it says of each call is nought."""
    return written(path, _claude_lines(path.stem, calls, model, usage))


def _claude_lines(
    stem: str, calls: Sequence[Recorded], model: str, usage: bool
) -> Iterable[Record]:
    parent = None
    for number, (at, read, new, spoken) in enumerate(calls):
        told: Any = f"question {number}"
        if not spoken:
            told = [{"type": "tool_result", "tool_use_id": f"c{number - 1}", "content": "fine"}]
        asked = {"type": "user", "uuid": f"u{number}", "parentUuid": parent, "timestamp": _iso(at)}
        yield {**asked, "message": {"role": "user", "content": told}}
        last = number + 1 == len(calls) or calls[number + 1][3]
        tool = {"type": "tool_use", "id": f"c{number}", "name": "Bash", "input": {"cmd": "ls"}}
        body: Record = {
            "id": f"{stem}-{number}",
            "model": model,
            "content": [{"type": "text", "text": "done"} if last else tool],
        }
        if usage:
            body["usage"] = {
                "input_tokens": 0,
                "cache_read_input_tokens": read,
                "cache_creation_input_tokens": new,
                "output_tokens": 20,
            }
        answered = {"uuid": f"a{number}", "parentUuid": f"u{number}", "timestamp": _iso(at + 5)}
        yield {"type": "assistant", "requestId": f"r{number}", "message": body, **answered}
        parent = f"a{number}"


def pi(path: Path, calls: Sequence[Recorded] = IDLE, model: str = MODEL) -> Path:
    """Write a session of pi."""
    records: list[Record] = [{"type": "session", "id": "s", "timestamp": _iso(0), "cwd": "/"}]
    for number, (at, read, new, spoken) in enumerate(calls):
        said: Record = {"role": "user", "content": f"question {number}"}
        if not spoken:
            content = [{"type": "text", "text": "fine"}]
            said = {"role": "toolResult", "toolCallId": f"c{number - 1}", "content": content}
            said["toolName"] = "ls"
        last = number + 1 == len(calls) or calls[number + 1][3]
        call = {"type": "toolCall", "id": f"c{number}", "name": "ls", "arguments": {}}
        usage = {"input": 0, "output": 20, "cacheRead": read, "cacheWrite": new}
        answer = {
            "role": "assistant",
            "content": [{"type": "text", "text": "done"} if last else call],
            "model": model,
            "usage": usage,
        }
        records.append({"type": "message", "timestamp": _iso(at), "message": said})
        records.append({"type": "message", "timestamp": _iso(at + 5), "message": answer})
    return written(path, records)


def codex(path: Path, calls: Sequence[Recorded] = CALM, model: str = "gpt-5.2") -> Path:
    """Write a rollout of Codex; what is written there is billed as plain input."""
    head = {"id": "s", "base_instructions": {"text": "You code."}}
    records = [
        _payload("session_meta", 0, head),
        _payload("turn_context", 0, {"model": model, "summary": "auto"}),
    ]
    total = 0
    for number, (at, read, new, spoken) in enumerate(calls):
        output = {"type": "function_call_output", "call_id": f"c{number - 1}", "output": "fine"}
        words = [{"type": "input_text", "text": f"question {number}"}]
        asked = {"type": "message", "role": "user", "content": words} if spoken else output
        call = {"type": "function_call", "name": "shell", "arguments": "{}"}
        total += read + new + 20
        used = {"input_tokens": read + new, "cached_input_tokens": read, "output_tokens": 20}
        info = {"total_token_usage": {"total_tokens": total}, "last_token_usage": used}
        records += [
            _payload("response_item", at, asked),
            _payload("response_item", at + 5, {**call, "call_id": f"c{number}"}),
            _payload("event_msg", at + 5, {"type": "token_count", "info": info}),
        ]
    return written(path, records)


def _payload(type: str, at: float, payload: Record) -> Record:
    return {"type": type, "timestamp": _iso(at), "payload": payload}


def written(path: Path, records: Iterable[Record]) -> Path:
    """Write records as JSON Lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def _iso(at: float) -> str:
    return f"{datetime.fromtimestamp(START + at, UTC):%Y-%m-%dT%H:%M:%S}.000Z"
