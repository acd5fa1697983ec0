"""Langfuse and LangSmith: requests that tell their whole prompts make conversations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compactlab.scenarios.readers import transcript as transcripts
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Usage

Record = dict[str, Any]


def read(tmp_path: Path, value: Any) -> list[Conversation]:
    path = tmp_path / "export.json"
    path.write_text(json.dumps(value))
    return list(transcripts.read(path, strict=True))


def said(role: str, words: str) -> Record:
    return {"role": role, "content": words}


def generation(minute: int, asked: Any, answer: Any, **more: Any) -> Record:
    start = f"2026-11-01T10:{minute:02}:00Z"
    told = {"id": f"o{minute}", "traceId": "t", "type": "GENERATION", "startTime": start}
    return {**told, "model": "gpt-5", "input": asked, "output": answer, **more}


@pytest.mark.parametrize(
    ("details", "expected"),
    [
        ({"input": 100, "output": 5}, Usage(100, output=5)),
        (
            {"input": 40, "input_cached_tokens": 60, "output": 5, "output_reasoning_tokens": 3},
            Usage(40, 60, output=8),
        ),
        (
            {"input": 100, "input_cached_tokens": 60, "output": 5, "total": 105},
            Usage(40, 60, output=5),
        ),
        (
            {"input": 40, "input_cached_tokens": 60, "output": 5, "total": 105},
            Usage(40, 60, output=5),
        ),
        (
            {"input": 9, "output": 8, "output_reasoning_tokens": 3, "total": 17},
            Usage(9, output=8),
        ),
        (
            {"input": 9, "cache_creation_input_tokens": 7, "output": 8},
            Usage(9, 0, 7, output=8),
        ),
        ({"input": 9, "output": 1, "inputCost": 0.5, "unit": "TOKENS"}, Usage(9, output=1)),
    ],
)
def test_counts_stand_beside_each_other_unless_the_total_says_otherwise(
    tmp_path: Path, details: Record, expected: Usage
) -> None:
    (session,) = read(tmp_path, [generation(0, "hi", "ho", usageDetails=details)])
    (answer,) = session.calls
    assert session.format == "langfuse"
    assert answer.call
    assert answer.call.usage == expected


def test_generations_of_a_session_grow_together_and_strangers_stand_apart(tmp_path: Path) -> None:
    first, second = (
        [said("user", "hi")],
        [said("user", "hi"), said("assistant", "ho"), said("user", "on")],
    )
    other = {"id": "p", "type": "EMBEDDING", "startTime": "2026-11-01T10:09:00Z", "model": "e"}
    observations = [
        generation(5, second, {"role": "assistant", "content": "end"}),
        generation(1, {"messages": first, "tools": [{"name": "ls"}]}, said("assistant", "ho")),
        generation(3, [said("system", "Name it."), said("user", "hi ho")], "Talk"),
        {"id": "s", "type": "SPAN", "startTime": "2026-11-01T10:00:00Z", "model": None},
        other | {"usageDetails": {"input": 30}},
    ]
    main, title = read(tmp_path, {"id": "t", "sessionId": "s", "observations": observations})
    assert [m.text for m in main.messages] == ["hi", "ho", "on", "end"]
    assert [part.name for part in main.system] == ["tools"]
    assert (title.id, [m.text for m in title.messages]) == ("export#2", ["hi ho", "Talk"])
    assert [(b.purpose, b.call.usage) for b in main.side_requests] == [("embedding", Usage(30))]


def test_an_export_without_a_generation_says_so(tmp_path: Path) -> None:
    span = {"id": "s", "traceId": "t", "type": "SPAN", "startTime": "2026-11-01T10:00:00Z"}
    with pytest.raises(InputError, match="no generation"):
        read(tmp_path, [span])


def run(id: str, asked: Any, answer: Any, **more: Any) -> Record:
    told = {"id": id, "run_type": "llm", "start_time": f"2026-11-01T10:00:0{id[-1]}"}
    return {**told, "trace_id": "t", "inputs": {"messages": asked}, "outputs": answer, **more}


def test_runs_of_langchain(tmp_path: Path) -> None:
    def constructed(name: str, **fields: Any) -> Record:
        return {"lc": 1, "type": "constructor", "id": ["langchain", name], "kwargs": fields}

    details = {"cache_read": 50, "cache_creation": 20, "ephemeral_1h_input_tokens": 20}
    usage = {"input_tokens": 100, "output_tokens": 5, "input_token_details": details}
    message = constructed(
        "AIMessage",
        content=[
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "c", "name": "ls", "input": {}},
        ],
        tool_calls=[{"name": "ls", "args": {}, "id": "c"}],
        usage_metadata=usage,
        response_metadata={"id": "msg_1", "model_name": "claude-sonnet-4-5"},
    )
    asked = [
        [
            constructed("SystemMessage", content="You help."),
            constructed("HumanMessage", content="hi"),
        ]
    ]
    child = run("r1", asked, {"generations": [[{"text": "I look.", "message": message}]]})
    root = {"id": "r0", "run_type": "chain", "inputs": {}, "child_runs": [child, child]}
    (session,) = read(tmp_path, root)
    assert [part.text for part in session.system] == ["You help."]
    (answer,) = session.calls  # the same run is there twice
    assert [part.type for part in answer.parts] == ["text", "tool_call"]
    assert answer.call
    assert answer.call.usage == Usage(30, 50, 0, 20, 5)
    assert (answer.call.model, answer.call.id) == ("claude-sonnet-4-5", "msg_1")


def test_runs_of_wrapped_clients(tmp_path: Path) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    asks = {"role": "assistant", "content": None, "tool_calls": [call]}
    provider = {"prompt_tokens": 9, "completion_tokens": 2}
    thread = {"extra": {"metadata": {"thread_id": "th", "ls_model_name": "gpt-5"}}}
    runs = [
        run(
            "r1",
            [said("user", "hi")],
            {"choices": [{"message": asks}], "usage": provider},
            **thread,
        ),
        run(
            "r2",
            [said("user", "hi"), asks, {"role": "tool", "tool_call_id": "c", "content": "x"}],
            {"id": "chatcmpl-2", "choices": [{"message": said("assistant", "ho")}]},
            **(thread | {"trace_id": "u", "prompt_tokens": 12, "completion_tokens": 1}),
        ),
    ]
    (session,) = read(tmp_path, runs)
    assert [m.role for m in session.messages] == ["user", "assistant", "tool", "assistant"]
    calls = [c.call for c in session.calls if c.call]
    assert [call.usage for call in calls] == [Usage(9, output=2), Usage(12, output=1)]
    assert [call.id for call in calls] == ["", "chatcmpl-2"]
