"""What OpenCode, OpenClaw and Hermes keep in their databases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import zstandard

from compactlab.scenarios.readers import transcript as transcripts
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Usage
from tests.scenarios.stores import (
    HERMES,
    NEWER,
    OPENCLAW,
    OPENCODE,
    made,
    newer_rows,
    openclaw_rows,
    openclaw_talk,
    opencode_rows,
)
from tests.scenarios.test_opencode import TALK, exported, said, text
from tests.scenarios.test_opencode import counted as steps

Record = dict[str, Any]


def read(path: Path) -> dict[str, Conversation]:
    """The conversations of a database by their sessions."""
    return {each.id.partition("/")[2]: each for each in transcripts.read(path)}


def told(conversation: Conversation) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in conversation.messages]


def usages(conversation: Conversation) -> list[Usage | None]:
    return [message.call.usage for message in conversation.calls if message.call]


# OpenCode


def test_opencode_s_database_tells_what_its_export_does(tmp_path: Path) -> None:
    path = made(tmp_path / "opencode.db", OPENCODE, *opencode_rows(*TALK, version="1.0.0"))
    (of_export,) = transcripts.read(exported(tmp_path / "e.json", *TALK))
    of_database = read(path)["ses_1"]
    assert of_database.format == "opencode"
    assert told(of_database) == told(of_export)
    assert usages(of_database) == usages(of_export)
    assert (of_database.project, of_database.subagent) == ("/work/site", False)
    assert of_database.passed_over == ()


def test_its_sessions_are_told_apart_and_empty_ones_are_none(tmp_path: Path) -> None:
    rows = [
        *opencode_rows(*TALK, session="ses_b", time_created=5),
        *opencode_rows(*TALK[:2], session="ses_a", time_created=9, parent_id="ses_b"),
        *opencode_rows(session="ses_c"),
    ]
    found = read(made(tmp_path / "opencode.db", OPENCODE, *rows))
    assert list(found) == ["ses_b", "ses_a"]
    assert [each.subagent for each in found.values()] == [False, True]
    assert [len(each.calls) for each in found.values()] == [2, 1]


SPENT = {"input": 375, "output": 123, "reasoning": 69, "cache": {"read": 65_856, "write": 0}}


@pytest.mark.parametrize(
    ("tokens", "version", "output"),
    [
        ({"total": 66_423}, "1.2.0", 192),  # the total proves it
        ({"total": 66_354}, "1.18.0", 123),
        ({"total": 375 + 192}, "1.2.0", 192),  # a total without what the cache held
        ({"total": 375 + 123}, "1.18.0", 123),
        ({}, "1.3.15", 123),
        ({}, "1.3.16", 192),
        ({}, "1.18.0", 192),
        ({}, "local", 123),  # nobody knows: by its time
        ({"reasoning": 500}, "1.2.0", 623),  # it cannot be a part
    ],
)
def test_reasoning_is_beside_the_output_if_the_total_or_the_version_says_so(
    tmp_path: Path, tokens: Record, version: str, output: int
) -> None:
    answer = said("a", "assistant", text("x"), steps(**{**SPENT, **tokens}))
    path = exported(tmp_path / "e.json", answer, version=version)
    (conversation,) = transcripts.read(path)
    (usage,) = usages(conversation)
    assert usage is not None
    assert (usage.prompt, usage.output) == (375 + 65_856, output)


def test_a_fork_says_which_calls_are_its_parent_s(tmp_path: Path) -> None:
    at = 1_700_000_020
    own = said("own", "assistant", text("mine"), steps(), at=at + 1)
    rows = [
        *opencode_rows(*TALK, session="ses_a", time_created=1_699_999_999_000),
        *opencode_rows(*TALK, own, session="ses_b", time_created=1000 * at),
    ]
    parent, fork = read(made(tmp_path / "opencode.db", OPENCODE, *rows)).values()
    calls = [[m.call for m in each.calls if m.call] for each in (parent, fork)]
    assert [call.inherited for call in calls[0]] == [False, False]
    assert [call.inherited for call in calls[1]] == [True, True, False]
    assert [call.id for call in calls[0]] == [call.id for call in calls[1][:2]]
    assert len({call.id for call in calls[1]}) == 3
    assert (parent.parent, fork.parent) == ("", "ses_a")


def test_a_compaction_is_billed_where_the_summary_is(tmp_path: Path) -> None:
    asks = said("u2", "user", {"type": "compaction", "auto": True})
    summary = said("s", "assistant", text("so far"), steps(output=50), summary=True)
    failed = said("f", "assistant", steps(input=77), summary=True, error={"name": "Aborted"})
    (conversation,) = transcripts.read(exported(tmp_path / "e.json", *TALK, asks, summary, failed))
    (compaction,) = conversation.compactions
    assert compaction.call is not None
    assert compaction.call.usage == Usage(10, 90, 30, 0, 50)
    assert (compaction.trigger, compaction.inserted[0].text) == ("auto", "so far")
    (side,) = conversation.side_requests
    assert side.purpose == "compaction"
    assert side.call.usage is not None
    assert side.call.usage.uncached == 77


SONNET = {"id": "claude-sonnet-4-5", "providerID": "anthropic"}
COUNTS = {"input": 10, "output": 7, "reasoning": 2, "cache": {"read": 90, "write": 30}}
RAN = {
    "status": "completed",
    "input": {"command": "ls"},
    "content": [{"type": "text", "text": "readme"}, {"type": "file", "mime": "image/png"}],
}


def newer(data: Record, at: int) -> Record:
    return {
        "time": {"created": 1_790_000_000_000 + at, "completed": 1_790_000_000_500 + at},
        **data,
    }


ANSWER = {
    "agent": "build",
    "model": SONNET,
    "content": [
        {"type": "reasoning", "text": "hm"},
        {"type": "text", "text": "so"},
        {"type": "tool", "id": "c1", "name": "bash", "state": RAN},
    ],
    "tokens": COUNTS,
}
NEWER_TALK = [
    ("user", newer({"text": "look", "files": [{"mime": "text/plain", "name": "a.txt"}]}, 1)),
    ("model-switched", newer({"model": SONNET}, 2)),
    ("assistant", newer(ANSWER, 3)),
    ("shell", newer({"command": "make", "output": {"output": "ok"}}, 4)),
    ("compaction", newer({"status": "completed", "reason": "auto", "summary": "so far",
                          "recent": "[User]: look", "model": SONNET, "tokens": COUNTS}, 5)),
    ("user", newer({"text": "on"}, 6)),
    ("assistant", newer({**ANSWER, "content": [{"type": "text", "text": "done"}]}, 7)),
    ("idle", newer({"outcome": "succeeded"}, 8)),
]  # fmt: skip


def test_the_second_generation_of_opencode_is_read(tmp_path: Path) -> None:
    path = made(tmp_path / "opencode.db", NEWER, *newer_rows(NEWER_TALK))
    conversation = read(path)["ses_2"]
    assert conversation.passed_over == ()
    assert [role for role, _ in told(conversation)] == [
        "user", "assistant", "tool", "user", "user", "assistant",
    ]  # fmt: skip
    assert conversation.messages[2].parts[0].text == "readme"
    assert [part.type for part in conversation.messages[2].parts] == ["tool_result", "image"]
    assert "make" in conversation.messages[3].text
    assert conversation.messages[3].meta
    assert usages(conversation) == [Usage(10, 90, 30, 0, 9)] * 2
    (compaction,) = conversation.compactions
    assert compaction.call is not None
    assert compaction.call.usage == Usage(10, 90, 30, 0, 9)
    assert compaction.trigger == "auto"
    assert "so far" in compaction.inserted[0].text
    assert conversation.side_requests == ()


def test_what_only_the_session_counts_is_a_request_of_its_own(tmp_path: Path) -> None:
    total = {"tokens_input": 30 + 400, "tokens_output": 21 + 12, "tokens_reasoning": 6,
             "tokens_cache_read": 270, "tokens_cache_write": 90, "model": SONNET}  # fmt: skip
    path = made(tmp_path / "opencode.db", NEWER, *newer_rows(NEWER_TALK, **total))
    (side,) = read(path)["ses_2"].side_requests
    assert (side.purpose, side.call.model) == ("session", "claude-sonnet-4-5")
    assert side.call.usage == Usage(400, output=12)


def test_of_two_generations_the_newer_one_of_a_session_counts(tmp_path: Path) -> None:
    rows = [
        *opencode_rows(*TALK, session="ses_1"),  # it went on in the newer tables
        *opencode_rows(*TALK[:2], session="ses_0"),  # it did not
        *newer_rows(NEWER_TALK, session="ses_1", time_created=7),
        *newer_rows([], session="ses_9"),
    ]
    found = read(made(tmp_path / "opencode.db", OPENCODE + NEWER, *rows))
    assert sorted(found) == ["ses_0", "ses_1"]
    assert [told(found["ses_1"])[-1][1], told(found["ses_0"])[0][1]] == ["done", "look"]


def test_a_fork_of_the_second_generation_names_its_parent(tmp_path: Path) -> None:
    rows = [
        *newer_rows(NEWER_TALK, session="ses_1"),
        *newer_rows(NEWER_TALK, session="ses_2", fork_session_id="ses_1",
                    time_created=1_790_000_000_005),
    ]  # fmt: skip
    found = read(made(tmp_path / "opencode.db", NEWER, *rows))
    assert found["ses_2"].parent == "ses_1"
    inherited = [m.call.inherited for m in found["ses_2"].calls if m.call]
    assert inherited == [True, False]


def test_a_message_of_an_unknown_type_is_counted(tmp_path: Path) -> None:
    rows = newer_rows([*NEWER_TALK, ("poem", newer({"text": "a rose", "tokens": COUNTS}, 9))])
    path = made(tmp_path / "opencode.db", NEWER, *rows)
    (passed,) = read(path)["ses_2"].passed_over
    assert (passed.kind, passed.count, passed.characters) == ("record 'poem'", 1, 6)
    with pytest.raises(InputError, match="record 'poem' is not known"):
        list(transcripts.read(path, strict=True))


@pytest.mark.parametrize("data", ["{", "[]", "null", b"\xff", "", json.dumps({"role": "user"})])
def test_a_message_that_is_none_costs_itself_alone(tmp_path: Path, data: Any) -> None:
    rows = opencode_rows(*TALK)
    rows[-1][1]["data"] = data
    path = made(tmp_path / "opencode.db", OPENCODE, *rows)
    found = read(path)
    assert told(found["ses_1"])[0] == ("user", "look")
    assert found["ses_1"].passed_over


# OpenClaw


def test_openclaw_s_sessions_and_its_archives_are_read(tmp_path: Path) -> None:
    lines = [row["event_json"] for _, row in openclaw_rows("s0", *openclaw_talk("s0", 7000))]
    whole = "".join(json.dumps(line) + "\n" for line in lines).encode()
    archive = {"session_id": "s0", "generation": "g", "reason": "deleted"}
    rows = [
        *openclaw_rows("s1", *openclaw_talk("s1", 9000)),
        ("session_transcript_archives",
         {**archive, "encoding": "zstd", "archive_blob": zstandard.compress(whole)}),
        ("session_transcript_archives",
         {**archive, "generation": "h", "encoding": "identity", "archive_blob": whole}),
    ]  # fmt: skip
    path = made(tmp_path / "openclaw-agent.sqlite", OPENCLAW, *rows)
    found = read(path)
    assert list(found) == ["s1", "s0/g", "s0/h"]
    assert {each.format for each in found.values()} == {"pi"}
    assert [each.project for each in found.values()] == ["/srv/shop"] * 3
    assert [usage.cache_write for each in found.values() for usage in usages(each) if usage] == [
        9000, 7000, 7000,
    ]  # fmt: skip
    assert list(transcripts.read(f"{path}#s0")) == [found["s0/g"], found["s0/h"]]


def test_openclaw_s_packed_events_are_read(tmp_path: Path) -> None:
    schema = OPENCLAW.replace("event_json TEXT NOT NULL,", "event_json TEXT, event_zstd BLOB,")
    rows = openclaw_rows("s1", *openclaw_talk("s1", 9000), *openclaw_talk("s2", 4000))
    for _, row in rows[2:4]:
        event = json.dumps(row.pop("event_json")).encode()
        row["event_zstd"] = zstandard.compress(event)
    rows[4][1]["event_zstd"] = b"\x28\xb5\x2f\xfd torn"
    del rows[4][1]["event_json"]
    (found,) = read(made(tmp_path / "openclaw-agent.sqlite", schema, *rows)).values()
    assert [message.text for message in found.messages] == ["Hello s1.", "Hi s1.", "Hello s2."]
    assert [usage.cache_write for usage in usages(found) if usage] == [9000]
    assert [(each.kind, each.count) for each in found.passed_over] == [("line that is not JSON", 1)]


def test_an_archive_that_is_none_costs_itself_alone(tmp_path: Path) -> None:
    rows = openclaw_rows("s1", *openclaw_talk("s1", 9000))
    archive = {"session_id": "s0", "generation": "g", "reason": "deleted", "encoding": "zstd"}
    for number, blob in enumerate((b"", b"\x28\xb5\x2f\xfdxx", b"{}")):
        row = {**archive, "generation": f"g{number}", "archive_blob": blob}
        rows.append(("session_transcript_archives", row))
    found = read(made(tmp_path / "openclaw-agent.sqlite", OPENCLAW, *rows))
    assert list(found) == ["s1"]
    assert found["s1"].passed_over


# Hermes


def hermes(id: str, *messages: Record, **more: Any) -> list[tuple[str, Record]]:
    row = {"id": id, "source": "cli", "model": "gpt-5", "started_at": 1_790_000_000.0, **more}
    given = [
        {"session_id": id, "timestamp": 1_790_000_001.0 + n, **m} for n, m in enumerate(messages)
    ]
    return [("sessions", row), *(("messages", each) for each in given)]


ASKED = {"role": "user", "content": "look"}
CALL = {"id": "c1", "function": {"name": "ls", "arguments": "{}"}}
CALLED = {"role": "assistant", "content": None, "reasoning": "hm", "tool_calls": [CALL]}
RESULT = {"role": "tool", "content": "readme", "tool_call_id": "c1", "tool_name": "ls"}


def test_hermes_database_is_read(tmp_path: Path) -> None:
    image = '\0json:[{"type": "text", "text": "this"}]'
    rows = [
        ("system_prompts", {"hash": "h", "prompt": "You are Hermes."}),
        *hermes("a", ASKED, CALLED, RESULT, {"role": "user", "content": image},
                {"role": "user", "content": "undone", "active": 0},
                system_prompt_hash="h", cwd="/srv/shop"),
        *hermes("b", ASKED, parent_session_id="a"),
    ]  # fmt: skip
    found = read(made(tmp_path / "state.db", HERMES, *rows))
    assert [(m.role, m.text) for m in found["a"].messages][2:] == [
        ("tool", "readme"),
        ("user", "this"),
    ]
    assert found["a"].system[0].text == "You are Hermes."
    assert [part.type for part in found["a"].messages[1].parts] == ["thinking", "tool_call"]
    assert (found["a"].format, found["a"].project) == ("hermes", "/srv/shop")
    assert [each.subagent for each in found.values()] == [False, True]
    assert not any(each.passed_over for each in found.values())


def test_what_a_session_used_is_billed_by_model_and_task(tmp_path: Path) -> None:
    used = {"session_id": "a", "model": "gpt-5", "task": "", "api_call_count": 2,
            "input_tokens": 101, "output_tokens": 10, "cache_read_tokens": 50,
            "cache_write_tokens": 0}  # fmt: skip
    spent = {"input_tokens": 131, "output_tokens": 14, "cache_read_tokens": 50,
             "cache_write_tokens": 0, "api_call_count": 3}  # fmt: skip
    rows = [
        *hermes("a", ASKED, CALLED, **spent),
        ("session_model_usage", used),
        ("session_model_usage", {**used, "model": "gpt-5-mini", "task": "compression",
                                 "api_call_count": 1}),
    ]  # fmt: skip
    sides = read(made(tmp_path / "state.db", HERMES, *rows))["a"].side_requests
    assert [(s.purpose, s.call.model, s.call.usage) for s in sides] == [
        ("session", "gpt-5", Usage(50, 25, output=5)),
        ("session", "gpt-5", Usage(51, 25, output=5)),
        ("compression", "gpt-5-mini", Usage(101, 50, output=10)),
        ("session", "gpt-5", Usage(30, output=4)),  # the rest of the session's own sum
    ]
    assert len({s.call.id for s in sides}) == 4


def test_a_compaction_in_place_keeps_what_its_copies_say(tmp_path: Path) -> None:
    first = {"role": "user", "content": "first", "timestamp": 1.0}
    second = {"role": "assistant", "content": "second", "timestamp": 2.0}
    third = {"role": "user", "content": "third", "timestamp": 3.0}
    gone = {"active": 0, "compacted": 1}
    summary = {"role": "user", "content": "so far", "_compressed_summary": 1, "timestamp": 4.0}
    rows = hermes(
        "a", *({**each, **gone} for each in (first, second, third)), summary, third,
        {"role": "assistant", "content": "fourth", "timestamp": 5.0},
    )  # fmt: skip
    conversation = read(made(tmp_path / "state.db", HERMES, *rows))["a"]
    assert [m.text for m in conversation.messages] == ["first", "second", "third", "fourth"]
    (compaction,) = conversation.compactions
    assert [m.text for m in compaction.inserted] == ["so far"]
    assert compaction.kept_from == conversation.messages[2].id


def test_sessions_after_a_compaction_and_branches_name_their_parent(tmp_path: Path) -> None:
    rows = [
        *hermes("a", ASKED, CALLED, end_reason="compression"),
        *hermes("b", ASKED, CALLED, parent_session_id="a"),
        *hermes("c", ASKED, parent_session_id="b", model_config='{"_branched_from": "b"}'),
    ]
    found = read(made(tmp_path / "state.db", HERMES, *rows))
    assert [each.parent for each in found.values()] == ["", "a", "b"]
    assert [each.starts_inside for each in found.values()] == [False, True, False]
    assert not any(each.subagent for each in found.values())
