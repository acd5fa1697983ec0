"""Amp: answers tell their usage, and a ledger tells when, and what else was billed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from compactlab.scenarios.readers import transcript as transcripts
from compactlab.sim.core.message import Usage

Record = dict[str, Any]


def entry(at: int, to: int | None, operation: str = "inference", **tokens: int) -> Record:
    told = {"timestamp": f"2026-11-01T10:00:0{at}Z", "model": "claude-haiku-4-5"}
    return {"id": f"u{at}", **told, "tokens": tokens, "toMessageId": to, "operationType": operation}


def test_a_thread_and_its_ledger(tmp_path: Path) -> None:
    run = {"status": "error", "error": {"message": "no such file"}}
    usage = {"inputTokens": 3, "outputTokens": 4, "cacheCreationInputTokens": 90}
    thread = {
        "id": "T-1",
        "created": 1_793_527_200_000,
        "env": {"initial": {"trees": [{"uri": "file:///srv/shop"}]}},
        "messages": [
            {"role": "user", "messageId": 0, "content": [{"type": "text", "text": "Sort."}]},
            {
                "role": "assistant",
                "messageId": 1,
                "content": [
                    {"type": "tool_use", "id": "t", "name": "Bash", "input": {"cmd": "ls"}}
                ],
                "usage": {"model": "claude-opus-4-5", **usage},
            },
            {
                "role": "user",
                "messageId": 2,
                "content": [{"type": "tool_result", "toolUseID": "t", "run": run}],
            },
            {"role": "assistant", "messageId": 3, "content": [{"type": "text", "text": "Hm."}]},
        ],
        "usageLedger": {
            "events": [
                entry(1, None, "title", input=30, output=2),
                entry(3, 1, input=3, output=4, cacheCreationInputTokens=90),
                entry(7, 3, input=5, output=6, cacheReadInputTokens=90),
            ]
        },
    }
    path = tmp_path / "T-1.json"
    path.write_text(json.dumps(thread))
    (session,) = transcripts.read(path, strict=True)
    assert (session.format, session.id, session.project) == ("amp", "T-1", "/srv/shop")
    calls = [answer.call for answer in session.calls if answer.call]
    assert [(call.model, call.usage, call.id) for call in calls] == [
        ("claude-opus-4-5", Usage(3, 0, 90, output=4), "u3"),
        ("claude-haiku-4-5", Usage(5, 90, output=6), "u7"),
    ]
    assert [answer.time - 1_793_527_200 for answer in session.calls] == [3, 7]
    assert session.messages[2].parts[0].is_error
    (beside,) = session.side_requests
    assert (beside.purpose, beside.call.usage) == ("title", Usage(30, output=2))
