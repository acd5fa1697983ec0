"""Claude Code started anew in the middle of a session; and what the provider says of its cache."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compactlab.scenarios.readers import transcript as transcripts
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Diagnosis
from tests.scenarios.test_claude_code import answered, asks, attached, line, said, text, typed

Transcript = Callable[..., Path]
Record = dict[str, Any]


def stopped(uuid: str, parent: str) -> Record:
    return line("system", uuid, parent, subtype="stop_hook_summary")


def hook(uuid: str, parent: str, name: str) -> Record:
    data = {"type": "hook_progress", "hookEvent": "SessionStart", "hookName": name}
    return line("progress", uuid, parent, data=data)


def restarts(file: Path) -> list[bool]:
    """Of each call, whether the client was started anew before it."""
    (conversation,) = transcripts.read(file)
    return [answer.call.restarted for answer in conversation.calls if answer.call]


def opening() -> list[Record]:
    """A turn that ends, with the hooks that run when the agent stops."""
    return [
        typed("u1", None, "look at it"),
        said("a1", "u1", "m1", text("done")),
        stopped("s1", "a1"),
        typed("u2", "s1", "and now?"),
        said("a2", "u2", "m2", text("done too")),
    ]


def test_a_session_that_goes_on_restarts_nowhere(transcript: Transcript) -> None:
    more = [stopped("s2", "a2"), typed("u3", "s2", "thanks"), said("a3", "u3", "m3", text("."))]
    assert restarts(transcript(*opening(), *more)) == [False, False, False]


@pytest.mark.parametrize(
    ("name", "anew"),
    [
        ("SessionStart:resume", True),
        ("SessionStart:startup", True),
        ("SessionStart:compact", False),
        ("SessionStart:clear", False),
        ("PreToolUse:Bash", False),
    ],
)
def test_a_hook_tells_of_a_start(transcript: Transcript, name: str, anew: bool) -> None:
    told = [
        stopped("s2", "a2"),
        hook("p1", "s2", name),
        typed("u3", "p1", "go on"),
        said("a3", "u3", "m3", text("on it"), asks("c1", cmd="ls")),
        answered("u4", "a3", "c1", "fine"),
        said("a4", "u4", "m4", text("done")),
    ]
    assert restarts(transcript(*opening(), *told)) == [False, False, anew, False]


def test_a_hook_that_is_an_attachment_tells_the_same(transcript: Transcript) -> None:
    attachment = {"type": "hook_success", "content": "", "hookName": "SessionStart:resume"}
    told = [stopped("s2", "a2"), attached("h1", "s2", **attachment), typed("u3", "h1", "go on")]
    file = transcript(*opening(), *told, said("a3", "u3", "m3", text("on it")))
    assert restarts(file) == [False, False, True]


def test_hooks_that_did_not_run_tell_that_the_client_was_closed(transcript: Transcript) -> None:
    told = [typed("u3", "a2", "go on"), said("a3", "u3", "m3", text("on it"))]
    assert restarts(transcript(*opening(), *told)) == [False, False, True]


def test_where_no_such_hook_ever_ran_its_absence_tells_nothing(transcript: Transcript) -> None:
    told = [
        typed("u1", None, "look"),
        said("a1", "u1", "m1", text("done")),
        typed("u2", "a1", "go on"),
        said("a2", "u2", "m2", text("on it")),
    ]
    assert restarts(transcript(*told)) == [False, False]


def test_an_agent_that_was_interrupted_runs_no_such_hook(transcript: Transcript) -> None:
    told = [
        typed("u3", "a2", "[Request interrupted by user]"),
        typed("u4", "u3", "do it otherwise"),
        said("a4", "u4", "m4", text("on it")),
    ]
    assert restarts(transcript(*opening(), *told)) == [False, False, False]


def test_a_person_who_speaks_while_tools_run_closed_nothing(transcript: Transcript) -> None:
    told = [
        stopped("s2", "a2"),
        typed("u3", "s2", "go on"),
        said("a3", "u3", "m3", asks("c1", cmd="ls")),
        answered("u4", "a3", "c1", "fine"),
        typed("u5", "u4", "faster"),
        said("a5", "u5", "m5", text("done")),
    ]
    assert restarts(transcript(*opening(), *told)) == [False, False, False, False]


def test_all_lines_of_an_answer_tell_of_one_call(transcript: Transcript) -> None:
    told = [
        typed("u3", "a2", "go on"),
        said("a3", "u3", "m3", text("on it")),
        said("a4", "a3", "m3", asks("c1", cmd="ls")),
        answered("u5", "a4", "c1", "fine"),
        said("a6", "u5", "m6", text("done")),
    ]
    assert restarts(transcript(*opening(), *told)) == [False, False, True, False]


# What the provider says


def diagnosed(diagnostics: Any, **usage: Any) -> list[Record]:
    answer = said("a1", "u1", "m1", text("done"))
    answer["message"]["diagnostics"] = diagnostics
    answer["message"]["usage"] |= usage
    return [typed("u1", None, "look"), answer]


@pytest.mark.parametrize(
    ("diagnostics", "read"),
    [
        (None, None),
        ({}, None),
        ({"cache_miss_reason": None}, None),
        ({"cache_miss_reason": {"type": None}}, None),
        ({"cache_miss_reason": {"type": "unavailable"}}, Diagnosis("unavailable")),
        (
            {"cache_miss_reason": {"type": "tools_changed", "cache_missed_input_tokens": 7_000}},
            Diagnosis("tools_changed", 7_000),
        ),
    ],
)
def test_what_the_provider_says_is_read(
    transcript: Transcript, diagnostics: Any, read: Diagnosis | None
) -> None:
    (conversation,) = transcripts.read(transcript(*diagnosed(diagnostics)))
    (answer,) = conversation.calls
    assert answer.call is not None
    assert answer.call.diagnosis == read


def test_a_diagnosis_stays_when_a_later_line_of_the_answer_has_none(transcript: Transcript) -> None:
    first = diagnosed({"cache_miss_reason": {"type": "system_changed"}})
    (conversation,) = transcripts.read(
        transcript(*first, said("a2", "a1", "m1", asks("c1", cmd="ls")))
    )
    (answer,) = conversation.calls
    assert answer.call is not None
    assert answer.call.diagnosis == Diagnosis("system_changed")


def test_a_diagnosis_that_is_none_is_refused_with_its_line(transcript: Transcript) -> None:
    file = transcript(*diagnosed({"cache_miss_reason": "because"}))
    with pytest.raises(InputError, match=r":2") as refused:
        list(transcripts.read(file, strict=True))
    assert "story.jsonl" in str(refused.value)


@pytest.mark.parametrize(("tier", "told"), [("standard", ""), ("batch", "batch"), (None, "")])
def test_another_service_tier_is_told(transcript: Transcript, tier: str | None, told: str) -> None:
    (conversation,) = transcripts.read(transcript(*diagnosed(None, service_tier=tier)))
    (answer,) = conversation.calls
    assert answer.call is not None
    assert answer.call.tier == told
