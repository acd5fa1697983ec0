"""mini-swe-agent: the usage of each answer stands in its `extra`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compactlab.scenarios.readers import transcript as transcripts
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.message import Usage

Record = dict[str, Any]


def read(tmp_path: Path, *messages: Record) -> Conversation:
    info = {"config": {"model": {"model_name": "anthropic/claude-sonnet-4-5"}}}
    whole = {"info": info, "messages": messages, "trajectory_format": "mini-swe-agent-1.1"}
    path = tmp_path / "issue.traj.json"
    path.write_text(json.dumps(whole, indent=1))
    (conversation,) = transcripts.read(path, strict=True)
    assert (conversation.format, conversation.id) == ("mini-swe-agent", "issue")
    return conversation


def answer(words: str, **usage: Any) -> Record:
    response = {"id": f"r-{words}", "model": "claude-x", "usage": usage}
    return {
        "role": "assistant",
        "content": words,
        "extra": {"response": response, "timestamp": 9.0},
    }


CACHED = {"cached_tokens": 50, "cache_creation_tokens": 20}


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 100, "completion_tokens": 5}, Usage(100, output=5)),
        (
            {"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": CACHED},
            Usage(30, 50, 20, output=5),
        ),
        (  # older versions of LiteLLM did not add what was written
            {"prompt_tokens": 53, "completion_tokens": 5, "prompt_tokens_details": CACHED},
            Usage(3, 50, 20, output=5),
        ),
        (  # of the interface Responses
            {"input_tokens": 100, "output_tokens": 5, "input_tokens_details": CACHED},
            Usage(30, 50, 20, output=5),
        ),
        (  # xAI counts reasoning beside its answers
            {
                "prompt_tokens": 100,
                "completion_tokens": 5,
                "completion_tokens_details": {"reasoning_tokens": 7},
                "total_tokens": 112,
            },
            Usage(100, output=12),
        ),
    ],
)
def test_what_was_cached_is_a_part_of_the_prompt(
    tmp_path: Path, usage: Record, expected: Usage
) -> None:
    session = read(tmp_path, {"role": "user", "content": "Go."}, answer("ls", **usage))
    (call,) = (c.call for c in session.calls if c.call)
    assert (call.model, call.usage, call.id) == ("claude-x", expected, "r-ls")


def test_no_person_says_what_a_command_prints_and_a_bad_answer_is_billed(tmp_path: Path) -> None:
    rejected = answer("?", prompt_tokens=9, completion_tokens=1)["extra"]
    session = read(
        tmp_path,
        {"role": "system", "content": "You code."},
        {"role": "user", "content": "Go."},
        answer("ls", prompt_tokens=9, completion_tokens=1),
        {"role": "user", "content": "a.txt", "extra": {"returncode": 0}},
        {"role": "user", "content": "One action, please.", "extra": rejected},
        {"role": "exit", "content": "done"},
    )
    assert [(m.role, m.meta) for m in session.messages] == [
        ("user", False),
        ("assistant", False),
        ("user", True),
        ("user", True),
    ]
    (beside,) = session.side_requests
    assert (beside.purpose, beside.call.usage) == ("rejected answer", Usage(9, output=1))


def test_items_of_responses_are_messages(tmp_path: Path) -> None:
    output = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "message", "content": [{"type": "output_text", "text": "I look."}]},
        {"type": "function_call", "call_id": "c", "name": "bash", "arguments": '{"command":"ls"}'},
    ]
    told = {"id": "resp_1", "object": "response", "model": "gpt-5", "output": output}
    session = read(
        tmp_path,
        {"role": "user", "content": "Go."},
        told | {"usage": {"input_tokens": 9, "output_tokens": 2}},
        {"type": "function_call_output", "call_id": "c", "output": "a.txt"},
    )
    _, look, listing = session.messages
    assert [(p.type, p.text) for p in look.parts] == [
        ("thinking", "hm"),
        ("text", "I look."),
        ("tool_call", '{"command":"ls"}'),
    ]
    assert look.call
    assert (look.call.model, look.call.usage) == ("gpt-5", Usage(9, output=2))
    assert (listing.role, listing.parts[0].name) == ("tool", "bash")
