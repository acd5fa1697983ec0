"""Cline and its forks: what a task sent, and what each of its requests cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compactlab.scenarios.readers import transcript as transcripts
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.message import Usage

Record = dict[str, Any]
BEGIN = 1_793_527_200_000  # 2026-11-01


def said(role: str, words: str, **more: Any) -> Record:
    return {"role": role, "content": [{"type": "text", "text": words}], **more}


def request(ts: int, /, say: str = "api_req_started", shown: Any = None, **told: Any) -> Record:
    return {"ts": ts, "type": "say", "say": say, "text": json.dumps(told), **(shown or {})}


def task(folder: Path, history: Any, screen: list[Record], **files: Any) -> Conversation:
    folder.mkdir(parents=True)
    (folder / "api_conversation_history.json").write_text(json.dumps(history))
    (folder / "ui_messages.json").write_text(json.dumps(screen))
    for name, value in files.items():
        (folder / f"{name}.json").write_text(json.dumps(value))
    (path,), skipped = transcripts.find([folder])
    assert (path.name, skipped) == ("api_conversation_history.json", 0)
    (conversation,) = transcripts.read(path, strict=True)
    assert conversation.format == "cline"
    return conversation


HISTORY = [
    said("user", "<task>Sort.</task>"),
    said("assistant", "<read_file>"),
    said("user", "[read_file] Result:"),
    said("assistant", "Sorted."),
]
COUNTS = {"tokensIn": 70, "tokensOut": 5, "cacheReads": 50, "cacheWrites": 10}


def test_requests_go_to_their_answers_by_index_and_what_is_left_stands_beside(
    tmp_path: Path,
) -> None:
    model = {"modelInfo": {"modelId": "claude-sonnet-4-5", "providerId": "anthropic"}}
    screen = [
        request(BEGIN, shown={"conversationHistoryIndex": -1, **model}, **COUNTS),
        request(BEGIN + 1, "subagent_usage", tokensIn=7, tokensOut=3),
        request(BEGIN + 2, shown={"conversationHistoryIndex": 1, **model}),  # never answered
        request(BEGIN + 3, shown={"conversationHistoryIndex": 1, **model}, tokensIn=9),
        request(BEGIN + 4, shown={"conversationHistoryIndex": 3, **model}, tokensIn=4),
    ]
    session = task(tmp_path / "1", HISTORY, screen, task_metadata={"model_usage": []})
    calls = [answer.call for answer in session.calls if answer.call]
    assert [call.usage for call in calls] == [Usage(70, 50, 10, output=5), Usage(9)]
    assert {call.model for call in calls} == {"claude-sonnet-4-5"}
    beside = [(each.purpose, each.call.usage) for each in session.side_requests]
    assert beside == [("subagents", Usage(7, output=3)), ("not in the history", Usage(4))]
    assert (session.id, session.turns) == ("1", 1)


@pytest.mark.parametrize(
    ("vendor", "told", "at", "plain"),
    [
        ("saoudrizwan.claude-dev", {}, BEGIN, 70),
        ("rooveterinaryinc.roo-cline", {"apiProtocol": "anthropic"}, BEGIN, 10),
        ("rooveterinaryinc.roo-cline", {"apiProtocol": "anthropic"}, 1_760_000_000_000, 70),
        ("rooveterinaryinc.roo-cline", {"apiProtocol": "openai"}, 1_760_000_000_000, 10),
        ("kilocode.kilo-code", {"apiProtocol": "anthropic"}, 1_762_000_000_000, 70),
        ("kilocode.kilo-code", {"apiProtocol": "anthropic", "tokensIn": 9}, BEGIN, 9),
    ],
)
def test_what_a_count_means_hangs_on_who_wrote_it_and_when(
    tmp_path: Path, vendor: str, told: Record, at: int, plain: int
) -> None:
    screen = [request(at, **{**COUNTS, **told})]
    session = task(tmp_path / vendor / "tasks" / "1", HISTORY[:2], screen)
    (answer,) = session.calls
    assert answer.call
    assert answer.call.usage == Usage(plain, 50, 10, output=5)


def test_roo_names_its_model_in_the_prompt_and_hides_what_it_condensed(tmp_path: Path) -> None:
    details = "<environment_details>\n<model>gpt-5</model>\n</environment_details>"
    history = [
        said("user", f"<task>Sort.</task>{details}", ts=BEGIN),
        said("assistant", "Look.", ts=BEGIN + 10, condenseParent="c"),
        said("user", "More.", ts=BEGIN + 20, condenseParent="c"),
        said("user", "So far.", ts=BEGIN + 30, isSummary=True, condenseId="c"),
        said("assistant", "Done.", ts=BEGIN + 40),
    ]
    session = task(tmp_path / "1", history, [request(BEGIN + 5, **COUNTS), request(BEGIN + 35)])
    (compaction,) = session.compactions
    assert [m.text for m in compaction.inserted] == [history[0]["content"][0]["text"], "So far."]
    assert [part.kind for m in compaction.inserted for part in m.parts] == ["recovered", "summary"]
    assert compaction.kept_from == ""
    assert [answer.call and answer.call.model for answer in session.calls] == ["gpt-5", "gpt-5"]


def test_cline_cuts_the_middle_of_its_history(tmp_path: Path) -> None:
    history = [*HISTORY, said("user", "[x] Result:"), said("assistant", "End.")]
    cut = {"conversationHistoryDeletedRange": [2, 3]}
    screen = [
        request(BEGIN, **COUNTS),
        request(BEGIN + 1, **COUNTS),
        request(BEGIN + 2, **COUNTS),
        {"ts": BEGIN + 3, "type": "say", "say": "text", "text": "End.", **cut},
    ]
    session = task(tmp_path / "1", history, screen)
    (compaction,) = session.compactions
    assert [m.text for m in compaction.inserted] == ["<task>Sort.</task>", "<read_file>"]
    kept = next(m for m in session.messages if m.id == compaction.kept_from)
    assert kept.text == "[x] Result:"


def test_what_was_shown_is_read_where_the_history_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "ui_messages.json"
    shown = {"ts": BEGIN, "type": "say", "say": "text", "text": "Sort."}
    answer = {"ts": BEGIN + 2, "type": "say", "say": "text", "text": "Sorted."}
    path.write_text(json.dumps([shown, request(BEGIN + 1, **COUNTS), answer]))
    (session,) = transcripts.read(path)
    assert [(m.role, m.text) for m in session.messages] == [
        ("user", "Sort."),
        ("assistant", "Sorted."),
    ]
    assert session.calls[0].call
    assert session.calls[0].call.usage == Usage(70, 50, 10, output=5)


def test_a_session_of_the_sdk(tmp_path: Path) -> None:
    metrics = {"inputTokens": 70, "outputTokens": 5, "cacheReadTokens": 50, "cacheWriteTokens": 10}
    messages = [
        said("user", "Sort.", ts=BEGIN),
        said("assistant", "No key.", metadata={"displayOnly": True}),
        said("assistant", "Sorted.", ts=BEGIN + 1, metrics=metrics),
        said("user", "So far.", metadata={"kind": "compaction_summary", "tokensBefore": 9}),
    ]
    whole = {"version": 1, "sessionId": "s", "agent": "subagent", "messages": messages}
    (tmp_path / "s.messages.json").write_text(json.dumps(whole))
    (tmp_path / "s.json").write_text(json.dumps({"model": "glm-5", "cwd": "/srv"}))
    (path,), skipped = transcripts.find([tmp_path])
    assert skipped == 0
    (session,) = transcripts.read(path, strict=True)
    assert (session.id, session.project, session.subagent) == ("s", "/srv", True)
    (answer,) = session.calls
    assert answer.call
    assert (answer.call.model, answer.call.usage) == ("glm-5", Usage(10, 50, 10, output=5))
    (compaction,) = session.compactions
    assert (compaction.tokens_before, compaction.inserted[0].text) == (9, "So far.")
