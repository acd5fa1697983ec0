"""Trajectories of Harbor, in its interchange format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compactlab.scenarios.readers import transcript as transcripts
from compactlab.sim.core.conversation import Compaction, Conversation
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Call, Usage

Transcript = Callable[..., Path]
Record = dict[str, Any]

AGENT = {"name": "claude-code", "version": "2.1", "model_name": "claude-x"}
ASKED = {"tool_call_id": "c1", "function_name": "read", "arguments": {"path": "a.py"}}
REPLACED = {"context_management": {"type": "compaction", "boundary": "replace"}}


def step(number: int, source: str, message: Any = "", **more: Any) -> Record:
    return {
        "step_id": number,
        "source": source,
        "message": message,
        "timestamp": f"2026-01-01T00:00:{number:02}Z",
        **more,
    }


def trajectory(*steps: Record, agent: Any = AGENT, **more: Any) -> Record:
    return {"schema_version": "ATIF-v1.7", "agent": agent, "steps": list(steps), **more}


def metrics(prompt: int, cached: int = 0, output: int = 0, **extra: Any) -> Record:
    counts = {"prompt_tokens": prompt, "cached_tokens": cached, "completion_tokens": output}
    return {**counts, "extra": extra}


def read(path: Path) -> Conversation:
    (conversation,) = transcripts.read(path)
    assert conversation.format == "atif"
    return conversation


def test_a_trajectory(transcript: Transcript) -> None:
    observed = {"source_call_id": "c1", "content": "pass", "extra": {"is_error": True}}
    answered = step(
        3,
        "agent",
        "I look.",
        reasoning_content="hm",
        reasoning_effort="high",
        tool_calls=[ASKED],
        observation={"results": [observed]},
        metrics=metrics(124, 100, 9, cache_creation_input_tokens=20),
    )
    path = transcript(
        trajectory(
            step(1, "system", "You code."),
            step(2, "user", [{"type": "text", "text": "Fix it."}]),
            answered,
            step(4, "system", "Stay brief."),
            step(5, "agent", "Done.", metrics=metrics(140, 124, 3), model_name="claude-y"),
            agent={**AGENT, "tool_definitions": [{"name": "read"}]},
        )
    )
    conversation = read(path)
    assert [part.text for part in conversation.system] == ['[{"name":"read"}]', "You code."]
    asked, reply, result, reminder, last = conversation.messages
    assert [message.id for message in conversation.messages][:2] == ["2", "3"]
    assert (asked.text, asked.starts_turn) == ("Fix it.", True)
    assert [part.type for part in reply.parts] == ["thinking", "text", "tool_call"]
    assert reply.parts[2].text == '{"path":"a.py"}'
    assert reply.call == Call(
        "claude-x", Usage(4, 100, 20, output=9), version="claude-code 2.1", thinking="high"
    )
    assert (result.role, result.parts[0].name, result.parts[0].is_error) == ("tool", "read", True)
    assert (reminder.role, reminder.meta, reminder.origin) == ("user", True, "system")
    assert last.call is not None
    assert (last.call.model, last.call.usage) == ("claude-y", Usage(16, 124, output=3))
    assert last.time - asked.time == 3


@pytest.mark.parametrize(
    ("agent", "counts", "expected"),
    [
        # Writes are within the prompt for most converters, and apart for some.
        ("codex", metrics(100, 60, 5, cache_write_input_tokens=30), Usage(10, 60, 30, output=5)),
        ("kimi-cli", metrics(100, 60, input_cache_creation=40), Usage(0, 60, 40)),
        ("pi", metrics(100, 60, cache_write_tokens=30), Usage(10, 60, 30)),
        ("opencode", metrics(100, 60, cache_write_tokens=30), Usage(40, 60, 30)),
        ("other", metrics(63, 60, cache_write_tokens=30), Usage(3, 60, 30)),
        # Counts that cannot be within the prompt are beside it.
        ("cline-cli", metrics(7, 60, 2), Usage(7, 60, output=2)),
        (
            "claude-code",
            metrics(
                100,
                60,
                cache_creation_input_tokens=40,
                cache_creation={"ephemeral_1h_input_tokens": 30, "ephemeral_5m_input_tokens": 10},
            ),
            Usage(0, 60, 10, 30),
        ),
        ("goose", {"completion_tokens": 8}, Usage(output=8)),
        ("goose", {"cost_usd": 0.5}, None),
    ],
)
def test_usage_by_converter(
    transcript: Transcript, agent: str, counts: Record, expected: Usage | None
) -> None:
    path = transcript(
        trajectory(step(1, "agent", "Hi.", metrics=counts), agent={**AGENT, "name": agent})
    )
    (answer,) = read(path).messages
    assert answer.call is not None
    assert answer.call.usage == expected


def test_what_was_billed_elsewhere_or_asked_of_no_model_is_no_call(transcript: Transcript) -> None:
    path = transcript(
        trajectory(
            step(1, "agent", "before", metrics=metrics(9), is_copied_context=True),
            step(2, "agent", "by rule", llm_call_count=0),
            step(3, "agent", "the rest of an answer"),
            step(4, "agent", "not counted", llm_call_count=1),
            step(5, "agent", "now", metrics=metrics(20)),
        )
    )
    calls = [message.call for message in read(path).messages]
    assert [call is not None for call in calls] == [False, False, False, True, True]


def test_without_any_counts_every_answer_is_a_call(transcript: Transcript) -> None:
    path = transcript(trajectory(step(1, "user", "hi"), step(2, "agent", "ho")))
    assert [m.call for m in read(path).messages] == [
        None,
        Call("claude-x", version="claude-code 2.1"),
    ]


def test_results_without_a_call_are_told_by_the_client(transcript: Transcript) -> None:
    lone = {"results": [{"content": "the screen"}, {"subagent_trajectory_ref": [{"x": 1}]}]}
    two = [ASKED, {**ASKED, "tool_call_id": "c2"}]
    path = transcript(
        trajectory(
            step(1, "agent", "raw", observation=lone),
            step(2, "agent", "one", tool_calls=[ASKED], observation=lone),
            step(3, "agent", "two", tool_calls=two, observation=lone),
        )
    )
    told = [m for m in read(path).messages if m.text == "the screen"]
    assert [(m.role, m.meta, m.parts[0].call_id) for m in told] == [
        ("user", True, ""),
        ("tool", False, "c1"),
        ("tool", False, ""),
    ]


def test_the_step_after_a_compaction_is_its_summary(transcript: Transcript) -> None:
    path = transcript(
        trajectory(
            step(1, "user", "one"),
            step(2, "agent", "1"),
            step(3, "system", "Handed off.", extra=REPLACED),
            step(4, "user", "So far: one."),
            step(5, "agent", "2"),
        )
    )
    conversation = read(path)
    kinds = [type(event).__name__ for event in conversation.events]
    assert kinds == ["Message", "Message", "Compaction", "Message"]
    (compaction,) = (e for e in conversation.events if isinstance(e, Compaction))
    (inserted,) = compaction.inserted
    assert (inserted.text, inserted.parts[0].kind) == ("So far: one.", "summary")
    assert [source.id for source in inserted.parts[0].sources] == ["1", "2"]
    assert compaction.kept_from == ""


def test_subagents_are_conversations_of_their_own(transcript: Transcript) -> None:
    inner = trajectory(step(1, "user", "look"), trajectory_id="scout")
    aside = {"is_sidechain": True, "agent_id": "a7"}
    path = transcript(
        trajectory(
            step(1, "user", "go"),
            step(2, "user", "search", extra=aside),
            step(3, "agent", "gone", extra={"is_sidechain": False}),
            step(4, "agent", "found", extra=aside),
            subagent_trajectories=[inner],
        ),
        name="run.json",
    )
    texts = {c.id: [m.text for m in c.messages] for c in transcripts.read(path)}
    assert texts == {
        "run": ["go", "gone"],
        "run#a7": ["search", "found"],
        "run#scout": ["look"],
    }
    assert {c.id: c.subagent for c in transcripts.read(path)} == {
        "run": False, "run#a7": True, "run#scout": True
    }  # fmt: skip


def test_fields_of_later_versions_break_nothing(transcript: Transcript) -> None:
    path = transcript(
        {
            **trajectory(step(1, "user", "hi", mood="calm", weight=3, message_hash="0b7d")),
            "schema_version": "ATIF-v2.0",
            "steps_total": 9,
            "notes": "made by hand",
            "continued_trajectory_ref": "trajectory.cont-1.json",
            "final_metrics": {"total_prompt_tokens": 5, "extra": {"text": "x"}},
            "extra": {"text": "metadata"},
            "labels": ["a"],
        }
    )
    assert read(path).messages[0].text == "hi"


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (trajectory(step(1, "robot", "hi")), "'robot' is no source of a step"),
        (trajectory({"source": "user"}), "a step of 'user' has no content"),
        (trajectory(step(1, "user", "hi", new_text="more")), "a step holds .* under 'new_text'"),
        (trajectory(step(1, "user", [{"type": "video"}])), "block of type 'video' is not known"),
        (trajectory(step(1, "agent", "", metrics={"prompt_tokens": -1})), "Expected `int` >= 0"),
        (
            trajectory(step(1, "agent", "", metrics=metrics(1, cache_write_tokens="x"))),
            "'cache_write_tokens' is no count",
        ),
        (trajectory(step(1, "agent", "", tool_calls=[{"function_name": "f"}])), "arguments"),
        (trajectory(step(1, "user", "hi", timestamp="noon")), "timestamp"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(
    transcript: Transcript, record: Record, reason: str
) -> None:
    with pytest.raises(InputError, match=rf"story\.jsonl:2: .*{reason}"):
        list(transcripts.read(transcript(trajectory(step(1, "user", "hi")), record), strict=True))


def test_a_trajectory_of_no_steps_is_no_conversation(transcript: Transcript) -> None:
    with pytest.raises(InputError, match="there is no conversation in it"):
        list(transcripts.read(transcript(trajectory()), strict=True))
