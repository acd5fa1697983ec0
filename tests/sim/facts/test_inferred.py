"""Facts that nobody has labelled: words that actions use, and where they had been said before."""

from __future__ import annotations

from compactlab.sim.core.conversation import Conversation, Fact, Need
from compactlab.sim.core.message import Call, Message, Source, verbatim
from compactlab.sim.facts import inferred
from tests.sim.facts.told import answer, calls, result, say, script

TALK = script(
    say("u1", "Mend the port 8123 in src/main.py."),
    calls("a1", "c1", '{"path":"src/main.py"}'),
    result("t1", "c1", "def open_door(): return 4711"),
    answer("a2", "open_door opens 4711, at 8123, and NEW_NAME too."),
    answer("a3", "NEW_NAME is open_door."),
)


def found(talk: Conversation = TALK) -> dict[str, Fact]:
    return {fact.value: fact for fact in inferred(talk)[0]}


def test_what_actions_use_and_had_been_said_is_a_fact() -> None:
    assert sorted(found()) == ["4711", "8123", "NEW_NAME", "open_door", "src/main.py"]


def test_its_type_is_told_by_its_look_and_by_who_said_it_first() -> None:
    kinds = {value: fact.kind for value, fact in found().items()}
    assert kinds["src/main.py"] == "artifact"
    assert kinds["open_door"] == kinds["4711"] == "tool_detail"
    assert kinds["8123"] == kinds["NEW_NAME"] == "entity"


def test_what_a_tool_gave_can_be_fetched_again() -> None:
    assert found()["4711"].handle == "t1"
    assert found()["8123"].handle == ""


def test_every_message_that_says_it_states_it() -> None:
    assert found()["open_door"].origin == (Source("t1", 0), Source("a2", 0), Source("a3", 0))


def test_a_need_is_a_use_after_it_was_said() -> None:
    needs = inferred(TALK)[1]
    assert {(need.fact, need.at) for need in needs} == {
        ("src/main.py", "a1"),
        ("open_door", "a2"),
        ("4711", "a2"),
        ("8123", "a2"),
        ("NEW_NAME", "a3"),
        ("open_door", "a3"),
    }
    assert all(isinstance(need, Need) for need in needs)


def test_what_the_system_prompt_says_cannot_be_forgotten() -> None:
    system = (verbatim("system", "text", "The code is in src/main.py."),)
    assert "src/main.py" not in found(Conversation("c", "native", TALK.events, system))


def test_thinking_says_nothing_to_anybody() -> None:
    parts = (verbatim("a0", "thinking", "is it door_1?"), verbatim("a0", "text", "Hm."))
    first = Message("a0", "assistant", parts, call=Call())
    assert found(script(first, answer("a1", "door_1 it is"))) == {}
