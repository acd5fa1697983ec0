"""SWE-agent: an issue, and an agent that acts step by step until it submits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compactlab.scenarios.readers import transcript as transcripts
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import InputError


def seen(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, "agent": "main", **more}


def acted(thought: str, action: str, **more: Any) -> dict[str, Any]:
    content = f"{thought}\n```\n{action}\n```"
    told = {"role": "assistant", "content": content, "thought": f"{thought}\n", "agent": "main"}
    return told | {"action": f"{action}\n"} | more


SYSTEM = {"role": "system", "content": "You code.", "agent": "main"}


def read(tmp_path: Path, *history: Any, strict: bool = False) -> Conversation:
    path = tmp_path / "issue.traj"
    path.write_text(json.dumps({"trajectory": [{"action": "ls"}], "history": history}, indent=1))
    (conversation,) = transcripts.read(path, strict=strict)
    assert conversation.format == "swe-agent"
    return conversation


def test_an_observation_is_the_result_of_the_action_before(tmp_path: Path) -> None:
    session = read(
        tmp_path,
        SYSTEM,
        seen("Fix it."),
        acted("Look.", "open a.py 3"),
        seen("3: x = 1"),
        acted("", "submit"),
    )
    task, look, file, done = session.messages
    assert [part.text for part in session.system] == ["You code."]
    assert (session.id, session.turns, session.calls) == ("issue", 1, (look, done))
    assert task.text == "Fix it."
    thought, call = look.parts
    assert (thought.type, thought.text) == ("text", "Look.")
    assert (call.type, call.name, call.text) == (
        "tool_call",
        "open",
        '{"command":"open a.py 3"}',
    )
    assert (file.role, file.text, file.parts[0].name) == ("tool", "3: x = 1", "open")
    assert file.parts[0].call_id == call.call_id
    assert [part.name for part in done.parts] == ["submit"]


def test_called_functions_are_as_recorded(tmp_path: Path) -> None:
    function = {"name": "bash", "arguments": '{"command": "ls"}'}
    calls = [{"id": "c7", "type": "function", "function": function}]
    answer = {"role": "tool", "content": "a.py", "tool_call_ids": ["c7"], "agent": "main"}
    session = read(
        tmp_path,
        SYSTEM,
        seen("Go."),
        acted("Look.", "ls", content="Look.", tool_calls=calls),
        answer,
    )
    _, look, listing = session.messages
    assert [(part.type, part.text) for part in look.parts] == [
        ("text", "Look."),
        ("tool_call", '{"command": "ls"}'),
    ]
    assert (listing.role, listing.parts[0].name, listing.parts[0].call_id) == ("tool", "bash", "c7")


def test_who_did_not_act_is_told_so_by_no_person(tmp_path: Path) -> None:
    idle = {"role": "assistant", "content": "Hm.", "thought": "Hm.", "action": "", "agent": "main"}
    session = read(tmp_path, seen("Go."), idle, seen("Give a command."), acted("So.", "ls"))
    assert [(m.role, m.meta) for m in session.messages] == [
        ("user", False),
        ("assistant", False),
        ("user", True),
        ("assistant", False),
    ]
    assert session.turns == 1


def test_a_demonstration_stands_in_front_of_every_prompt(tmp_path: Path) -> None:
    session = read(
        tmp_path,
        SYSTEM,
        seen("Here is how others did it.", is_demo=True),
        acted("They", "ls", is_demo=True),
        seen("Fix it."),
        acted("Now.", "ls"),
        seen("a.py"),
    )
    assert [part.name for part in session.system] == ["", "demonstration", "demonstration"]
    assert session.system[1].text == "Here is how others did it."
    assert [m.role for m in session.messages] == ["user", "assistant", "tool"]


@pytest.mark.parametrize("broken", [{"role": "wizard", "agent": "x"}, {"agent": "x"}, 5])
def test_what_is_no_message_is_refused(tmp_path: Path, broken: Any) -> None:
    with pytest.raises(InputError, match=r"issue\.traj"):
        read(tmp_path, seen("Go."), broken, strict=True)
    session = read(tmp_path, seen("Go."), broken, acted("Now.", "ls"))
    assert [m.role for m in session.messages] == ["user", "assistant"]
    assert [one.count for one in session.passed_over] == [1]


def test_a_history_that_names_no_agent_is_a_chat(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps({"history": [{"role": "user", "content": "hi"}]}))
    assert [c.format for c in transcripts.read(path)] == ["openai-chat"]


def test_the_figures_are_those_of_the_source(recorded: Path) -> None:
    files, _ = transcripts.find([recorded / "swe-agent"])
    sessions = [c for path in files for c in transcripts.read(path)]
    assert (len(sessions), {c.format for c in sessions}) == (19, {"swe-agent"})
    for path, session in zip(files, sessions, strict=True):
        held = json.loads(path.read_text("utf-8"))
        steps = sum(message["role"] == "assistant" for message in held["history"])
        assert (len(session.calls), session.turns) == (steps, 1)
        results = [m for m in session.messages if m.role == "tool"]
        assert len(session.messages) == len(held["history"]) - 1
        assert len(results) in (steps, steps - 1)
        assert all(m.parts[0].name and m.parts[0].call_id for m in results)
        assert not session.facts


def test_an_answer_whose_thought_is_not_told_apart_is_kept_whole(tmp_path: Path) -> None:
    answer = acted("Look.", "ls")
    del answer["thought"]
    _, look, _ = read(tmp_path, seen("Fix it."), answer, seen("a.py")).messages
    text, call = look.parts
    assert (text.text, call.name) == ("Look.\n```\nls\n```", "ls")


def test_a_message_without_content_is_an_error(tmp_path: Path) -> None:
    empty = {"role": "user", "agent": "main"}
    with pytest.raises(InputError, match="a message of role 'user' has no content"):
        read(tmp_path, empty, seen("Fix it."), acted("Look.", "ls"), strict=True)


def test_an_action_needs_no_words(tmp_path: Path) -> None:
    """From `cases/attack`: the answer had neither content nor thought nor calls of tools."""
    answer = {"role": "assistant", "action": "ls", "agent": "main"}
    result = {"role": "tool", "tool_call_ids": ["c1"], "content": "x", "agent": "main"}
    _, act, listing = read(tmp_path, seen("Go."), answer, result, strict=True).messages
    assert [(part.type, part.text) for part in act.parts] == [("tool_call", '{"command":"ls"}')]
    assert listing.text == "x"
