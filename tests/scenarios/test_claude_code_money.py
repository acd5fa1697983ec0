"""What a transcript of Claude Code bills: which answers are one, and what they cost besides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compactlab.sim.core.message import Usage
from tests.scenarios.test_claude_code import (
    Record,
    Transcript,
    answered,
    asks,
    read,
    said,
    shape,
    text,
    typed,
)

PARENT, FORK = "5f0e1c2a-0000-4000-8000-000000000001", "5f0e1c2a-0000-4000-8000-000000000002"


def counted(answer: Record, **usage: Any) -> Record:
    answer["message"]["usage"] |= usage
    return answer


def without_request(answer: Record) -> Record:
    return {key: value for key, value in answer.items() if key != "requestId"}


# Which lines are one answer


@pytest.mark.parametrize("bare", [0, 1, 2])
def test_lines_of_an_answer_need_not_all_tell_their_request(
    transcript: Transcript, bare: int
) -> None:
    lines = [
        said("a2", "u1", "m", text("I look."), out=2),
        said("a3", "a2", "m", asks("c1", cmd="ls"), out=40),
    ]
    lines = [without_request(each) if bare in (n, 2) else each for n, each in enumerate(lines)]
    (answer,) = read(transcript(typed("u1", None, "look"), *lines)).calls
    assert answer.call is not None
    assert (answer.call.id, answer.call.usage) == ("m", Usage(3, 100, 0, 20, output=40))


def redacted(uuid: str, parent: str, words: str, **usage: Any) -> Record:
    return {**counted(said(uuid, parent, "REDACTED", text(words)), **usage), "requestId": "x"}


@pytest.mark.parametrize(
    "between",
    [
        [typed("u3", "a2", "go on"), redacted("a4", "u3", "two")],
        [redacted("a4", "a2", "two", cache_read_input_tokens=120)],
    ],
    ids=["a person spoke", "another prompt"],
)
def test_a_placeholder_stands_for_many_answers_and_is_no_id(
    transcript: Transcript, between: list[Record]
) -> None:
    path = transcript(typed("u1", None, "look"), redacted("a2", "u1", "one"), *between)
    calls = [answer.call for answer in read(path).calls if answer.call]
    assert [call.id for call in calls] == ["", ""]


def test_the_tools_of_the_provider_let_the_counts_of_an_answer_grow(
    transcript: Transcript,
) -> None:
    tools = {"server_tool_use": {"web_search_requests": 2}, "input_tokens": 900}
    path = transcript(
        typed("u1", None, "what is new?"),
        said("a2", "u1", "m", text("I look.")),
        counted(said("a3", "a2", "m", text("Found."), out=50), **tools),
    )
    (answer,) = read(path).calls
    assert answer.call is not None
    assert answer.call.usage == Usage(900, 100, 0, 20, output=50)


def test_a_copy_with_larger_counts_counts(transcript: Transcript) -> None:
    first = [typed("u1", None, "hi"), said("a2", "u1", "m", text("hello"), out=1)]
    path = transcript(*first, said("a2", "u1", "m", text("hello"), out=30))
    conversation = read(path)
    (answer,) = conversation.calls
    assert answer.call is not None
    assert answer.call.usage == Usage(3, 100, 0, 20, output=30)
    assert conversation.passed_over == ()


# Sessions that begin with another one's answers


def test_a_fork_says_which_answers_are_its_parents(transcript: Transcript) -> None:
    source = {"sessionId": PARENT, "messageUuid": "x"}
    path = transcript(
        {**typed("u1", None, "hi"), "forkedFrom": source},
        {**said("a2", "u1", "m", text("hello")), "forkedFrom": source},
        typed("u3", "a2", "and now?"),
        said("a4", "u3", "n", text("now")),
    )
    conversation = read(path)
    assert conversation.parent == PARENT
    assert [a.call.inherited for a in conversation.calls if a.call] == [True, False]


def test_lines_of_another_session_are_its(transcript: Transcript) -> None:
    path = transcript(
        {**said("a2", None, "m", text("hello")), "sessionId": PARENT},
        {**typed("u3", "a2", "and now?"), "sessionId": FORK},
        {**said("a4", "u3", "n", text("now")), "sessionId": FORK},
        name=f"{FORK}.jsonl",
    )
    conversation = read(path)
    assert conversation.parent == PARENT
    assert [a.call.inherited for a in conversation.calls if a.call] == [True, False]


def test_a_file_of_another_name_is_its_own(transcript: Transcript) -> None:
    path = transcript({**said("a2", None, "m", text("hello")), "sessionId": PARENT})
    conversation = read(path)
    assert (conversation.parent, conversation.calls[0].call.inherited) == ("", False)  # type: ignore[union-attr]


# What is priced otherwise, or stands beside the counts


@pytest.mark.parametrize(
    ("geo", "model", "tier"),
    [
        ("us", "claude-x+us", ""),
        ("global", "claude-x", ""),
        ("not_available", "claude-x", ""),
        (None, "claude-x", ""),
        ("", "claude-x", ""),
        ("mars", "claude-x", "mars"),
    ],
)
def test_inference_in_a_place_has_its_price(
    transcript: Transcript, geo: str | None, model: str, tier: str
) -> None:
    answer = counted(said("a2", "u1", "m", text("hello")), inference_geo=geo)
    (message,) = read(transcript(typed("u1", None, "hi"), answer)).calls
    assert message.call is not None
    assert (message.call.model, message.call.tier) == (model, tier)


def iteration(type: str, **more: Any) -> Record:
    return {"type": type, "input_tokens": 10, "output_tokens": 4, "cache_read_input_tokens": 7,
            "cache_creation_input_tokens": 5, **more}  # fmt: skip


def test_an_advisor_is_billed_beside_the_answer_under_its_own_model(
    transcript: Transcript,
) -> None:
    taken = [iteration("message"), iteration("advisor_message", model="claude-wise")]
    answer = counted(said("a2", "u1", "m", text("hello")), iterations=taken)
    conversation = read(transcript(typed("u1", None, "hi"), answer))
    (advice,) = conversation.side_requests
    assert (advice.purpose, advice.call.model, advice.call.id) == ("advisor", "claude-wise", "m:2")
    assert advice.call.usage == Usage(10, 7, 5, 0, output=4)
    assert len(conversation.calls) == 1


def test_what_was_refused_and_made_again_by_another_model_is_billed_once(
    transcript: Transcript,
) -> None:
    taken = [iteration("message", model="claude-y"), iteration("fallback_message")]
    answer = counted(said("a2", "u1", "m", text("hello")), iterations=taken)
    assert read(transcript(typed("u1", None, "hi"), answer)).side_requests == ()


def test_web_searches_are_billed_by_the_piece_and_once_an_answer(transcript: Transcript) -> None:
    tools = {"server_tool_use": {"web_search_requests": 25, "web_fetch_requests": 2}}
    lines = [
        counted(said("a2", "u1", "m", text("It is")), **tools),
        counted(said("a3", "a2", "m", text("3.2.")), **tools),
    ]
    (found,) = read(transcript(typed("u1", None, "hi"), *lines)).side_requests
    assert (found.purpose, found.searches, found.call.model) == ("web_search", 25, "claude-x")
    assert found.call.usage == Usage()


def total(**counts: int) -> Record:
    return {"type": "cost-state", "modelUsage": {"claude-x[1m]": {"costUSD": 1.0, **counts}}}


def test_what_only_the_total_of_a_session_has_is_billed_once(transcript: Transcript) -> None:
    path = transcript(
        typed("u1", None, "hi"),
        said("a2", "u1", "m", text("hello"), out=9),
        total(inputTokens=3, outputTokens=5),
        total(
            inputTokens=10, outputTokens=9, cacheReadInputTokens=150, cacheCreationInputTokens=20,
            webSearchRequests=1,
        ),
    )  # fmt: skip
    (rest,) = read(path).side_requests
    assert (rest.purpose, rest.call.model, rest.searches) == ("session", "claude-x", 1)
    assert rest.call.usage == Usage(7, 50)


def test_agents_in_files_of_their_own_are_no_rest(transcript: Transcript, tmp_path: Path) -> None:
    agents = tmp_path / "story" / "subagents"
    agents.mkdir(parents=True)
    agent = {**said("a1", None, "n", text("done"), out=4), "isSidechain": True, "agentId": "g"}
    (agents / "agent-g.jsonl").write_text(json.dumps(agent))
    path = transcript(
        typed("u1", None, "hi"),
        said("a2", "u1", "m", text("hello"), out=9),
        total(
            inputTokens=6, outputTokens=13, cacheReadInputTokens=200, cacheCreationInputTokens=40
        ),
    )
    assert read(path).side_requests == ()


def test_a_session_with_no_totals_has_no_rest(transcript: Transcript) -> None:
    lines = [typed("u1", None, "hi"), said("a2", "u1", "m", text("hello")), {"type": "cost-state"}]
    assert read(transcript(*lines)).side_requests == ()


# Histories that are written again


def replayed(transcript: Transcript, *more: Record) -> Path:
    first = [
        typed("u1", None, "start"),
        said("a2", "u1", "m", text("begun")),
        typed("u3", "a2", "which?"),
        said("a4", "u3", "n", text("that")),
    ]
    boundary: Record = {
        "type": "system", "uuid": "b5", "parentUuid": None, "subtype": "compact_boundary",
        "logicalParentUuid": "a4", "compactMetadata": {"preservedSegment": {"headUuid": "a4"}},
    }  # fmt: skip
    return transcript(
        *first,
        boundary,
        typed("s6", "b5", "Begun.", isCompactSummary=True),
        typed("u7", "s6", "go on"),
        said("a8", "u7", "o", text("going on")),
        *first[:3],
        *more,
    )


def test_what_hangs_from_a_history_that_was_written_again_goes_on(transcript: Transcript) -> None:
    hook = {"type": "system", "uuid": "h9", "parentUuid": "u3", "subtype": "stop_hook_summary"}
    more = [hook, typed("u10", "h9", "finish"), said("a11", "u10", "p", text("finished"))]
    path = replayed(transcript, {"type": "mode", "mode": "normal"}, *more)
    assert shape(read(path)) == ["u1", "m", "u3", "n", "compaction", "u7", "o", "u10", "p"]


def test_who_goes_back_to_a_line_that_was_written_again_goes_back(transcript: Transcript) -> None:
    path = replayed(transcript, typed("u9", "a2", "otherwise"), said("a10", "u9", "p", text("so")))
    assert shape(read(path))[-3:] == ["<- m", "u9", "p"]


@pytest.mark.parametrize("kept", ["preservedMessages", "preservedSegment"])
def test_messages_that_are_preserved_supersede_a_segment(transcript: Transcript, kept: str) -> None:
    about: Record = {"preservedSegment": {"headUuid": "u1"}}
    if kept == "preservedMessages":
        about[kept] = {"uuids": ["u3", "a4"], "allUuids": ["u3", "a4"]}
    path = transcript(
        typed("u1", None, "start"),
        said("a2", "u1", "m", text("begun")),
        typed("u3", "a2", "which?"),
        answered("a4", "u3", "c", "that"),
        {"type": "system", "uuid": "b", "subtype": "compact_boundary", "compactMetadata": about},
    )
    (compaction,) = read(path).compactions
    assert compaction.kept_from == ("u3" if kept == "preservedMessages" else "u1")
