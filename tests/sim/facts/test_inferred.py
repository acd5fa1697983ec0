"""Facts that nobody has labelled: words that actions use, and where they had been said before."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.core.conversation import Conversation, Fact
from compactlab.sim.core.message import Call, Message, Source, verbatim
from compactlab.sim.facts import inferred
from tests.sim.facts.told import answer, calls, result, say, script

TALK = script(
    say("u1", "Mend the house_key in src/main.py."),
    calls("a1", "c1", '{"path":"src/main.py"}'),
    result("t1", "c1", "def open_door(): return KEY_47b2"),
    answer("a2", "open_door returns KEY_47b2, the house_key; NEW_NAME is better."),
    calls("a3", "c2", '{"rename":"NEW_NAME"}'),
    result("t2", "c2", "open_door renamed to NEW_NAME"),
    answer("a4", "NEW_NAME opens."),
)


def found(talk: Conversation = TALK) -> dict[str, Fact]:
    return {fact.value: fact for fact in inferred(talk)[0]}


def needed(talk: Conversation) -> set[tuple[str, str]]:
    return {(need.fact, need.at) for need in inferred(talk)[1]}


def later(*said: str, name: str, said_by: str = "user") -> bool:
    """Whether an answer needs a name that was said before a few other things were."""
    first = say("u0", f"Mind {name}.") if said_by == "user" else result("t0", "c0", name)
    others = [say(f"u{index}", text) for index, text in enumerate(said, 1)]
    return (name, "a1") in needed(script(first, *others, answer("a1", f"As for {name}: done.")))


# What is a need


def test_what_actions_use_and_had_been_told_is_a_fact() -> None:
    assert sorted(found()) == ["KEY_47b2", "NEW_NAME", "house_key", "open_door", "src/main.py"]


def test_a_need_is_a_use_after_it_was_told() -> None:
    assert needed(TALK) == {
        ("src/main.py", "a1"),
        ("open_door", "a2"),
        ("KEY_47b2", "a2"),
        ("house_key", "a2"),
        ("NEW_NAME", "a4"),
    }


def test_its_type_is_told_by_its_look_and_by_who_said_it_first() -> None:
    assert {value: fact.kind for value, fact in found().items()} == {
        "src/main.py": "artifact",
        "open_door": "tool_detail",
        "KEY_47b2": "tool_detail",
        "house_key": "entity",
        "NEW_NAME": "decision",
    }


def test_what_a_tool_gave_can_be_fetched_again() -> None:
    assert found()["KEY_47b2"].handle == "t1"
    assert found()["house_key"].handle == ""


def test_every_message_that_says_it_states_it() -> None:
    stated = (Source("t1", 0), Source("a2", 0), Source("t2", 0))
    assert found()["open_door"].origin == stated


def test_what_the_agent_writes_into_a_call_is_said_as_it_is_meant() -> None:
    # In JSON, the line break is a backslash and an n, which belongs to no word.
    wrote = calls("a1", "c1", json.dumps({"text": "first\nopen_door = 1\tkey_a"}))
    talk = script(say("u1", "open_door, key_a"), wrote, answer("a2", "open_door, key_a"))
    assert Source("a1", 0) in found(talk)["open_door"].origin
    assert Source("a1", 0) in found(talk)["key_a"].origin


# What needs no telling


def test_what_the_system_prompt_says_cannot_be_forgotten() -> None:
    system = (verbatim("system", "text", "The code is in src/main.py."),)
    assert "src/main.py" not in found(Conversation("c", "native", TALK.events, system))


def test_nor_can_what_is_composed_of_words_of_the_system_prompt() -> None:
    system = (verbatim("system", "text", "You work in /srv/app; begin with main.py."),)
    talk = [say("u1", "Look at /srv/app/main.py."), answer("a1", "/srv/app/main.py it is")]
    assert found(script(*talk))
    assert not found(Conversation("c", "native", tuple(talk), system))


def test_thinking_says_nothing_to_anybody() -> None:
    parts = (verbatim("a0", "thinking", "is it door_1?"), verbatim("a0", "text", "Hm."))
    first = Message("a0", "assistant", parts, call=Call())
    assert found(script(first, answer("a1", "door_1 it is"))) == {}


def test_what_only_the_agent_has_said_it_can_say_again() -> None:
    talk = script(answer("a1", "I call it door_1."), say("u1", "Go on."), answer("a2", "door_1"))
    assert found(talk) == {}


@pytest.mark.parametrize(
    "number", ["4711", "3.14", "12:30", "120-140", "85%", "250ms", "2026-11-23", "300/400"]
)
def test_a_bare_number_is_no_need(number: str) -> None:
    assert not later(name=number)


@pytest.mark.parametrize("name", ["10.0.0.7", "3.11.4", "AB-1200", "4f2a91c7", "eu-west-3"])
def test_a_name_with_digits_is_one(name: str) -> None:
    assert later(name=name)


@pytest.mark.parametrize("phrase", ["read-only", "end-to-end", "Client-side", "e.g"])
def test_nor_are_words_of_a_language_that_are_joined(phrase: str) -> None:
    assert not later(name=phrase)


@pytest.mark.parametrize(
    "name",
    ["fmt.Sprintf", "json.dumps", "JSON.stringify", "localStorage", "ValueError", "/dev/null",
     "package.json", "path/filepath", "os.path.join", "http://localhost:8080"],
)  # fmt: skip
def test_what_stands_in_every_project_is_no_need(name: str) -> None:
    assert not later(name=name)


@pytest.mark.parametrize("name", ["json.go", "lib/fmt.go", "time.ts", "strings.reader", "userMap"])
def test_what_only_looks_like_it_is_one(name: str) -> None:
    assert later(name=name)


def test_what_the_client_keeps_and_tells_again_is_no_need() -> None:
    start = calls("a1", "c1", '{"command":"make"}')
    told = result("t1", "c1", "in the background, as job_b52f")
    look = verbatim("a2", "tool_call", '{"task_id":"job_b52f"}', name="TaskOutput", call_id="c2")
    assert found(script(start, told, Message("a2", "assistant", (look,), call=Call()))) == {}
    assert found(script(start, told, answer("a2", "See job_b52f."))) != {}


# What can be composed


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("lib/door/key_hole.py", "in lib/door there is key_hole.py"),
        ("/srv/app/key_hole.py", "cd /srv/app; cat sub/key_hole.py"),
        ("door.key_hole", "house.door = street.key_hole"),
        ("door_key", "see doorKey"),
        ("doorKey", "see src/DOOR_KEY"),
        ("open_door", "house.open_door"),
    ],
)
def test_what_can_be_composed_of_what_was_said_since_is_no_need(name: str, said: str) -> None:
    assert later(name=name)
    assert not later(*said.split(), name=name)


def test_what_was_said_before_it_last_stood_composes_nothing() -> None:
    talk = script(
        say("u0", "lib and door.py"), say("u1", "lib/door.py"), answer("a1", "lib/door.py")
    )
    assert needed(talk) == {("lib/door.py", "a1")}


def test_digits_are_not_composed_of_digits() -> None:
    assert later("10 0 7", "0.7", name="10.0.0.7")
    assert later("AB and 1200", name="AB-1200")


def test_plain_words_make_up_only_what_nobody_has_taken_up() -> None:
    # A tool said it in passing; the agent, which had never used it, may have made it up anew.
    assert later(name="openDoor", said_by="tool")
    assert not later("Mind the door.", name="openDoor", said_by="tool")
    assert later("Mind the door.", name="openDoor")
    assert later("4 f 2 a 91 c 7", name="4f2a91c7", said_by="tool")


# Laws

WORDS = st.sampled_from(["lib", "src", "door_a", "keyB", "lib/door_a", "src/keyB.py", "AB-1200"])
TEXTS = st.lists(WORDS, max_size=3).map(" ".join)
EVENTS = st.lists(st.tuples(st.sampled_from(["user", "tool", "agent"]), TEXTS), max_size=12)


def drawn(events: list[tuple[str, str]]) -> Conversation:
    made: list[Message] = []
    for index, (who, text) in enumerate(events):
        if who == "agent":
            made.append(answer(f"m{index}", text))
        elif who == "tool":
            made += [calls(f"c{index}", f"c{index}"), result(f"m{index}", f"c{index}", text)]
        else:
            made.append(say(f"m{index}", text))
    return script(*made)


@given(EVENTS)
def test_a_fact_stands_before_each_call_that_needs_it(events: list[tuple[str, str]]) -> None:
    talk = drawn(events)
    place = {message.id: index for index, message in enumerate(talk.messages)}
    facts = {fact.id: fact for fact in inferred(talk)[0]}
    for need in inferred(talk)[1]:
        fact = facts[need.fact]
        assert place[fact.origin[0].id] < place[need.at]
        places = [place[source.id] for source in fact.origin]
        assert all(one < other for one, other in pairwise(places))


@given(EVENTS, TEXTS)
def test_what_the_system_prompt_says_is_never_needed(
    events: list[tuple[str, str]], said: str
) -> None:
    talk = drawn(events)
    system = (verbatim("system", "text", said),)
    prompted = needed(Conversation("c", "native", talk.events, system))
    assert prompted <= needed(talk)
    assert not {word for word, _ in prompted} & {*said.split()}


@given(EVENTS, st.sampled_from(["lib", "door_a", "AB-1200"]), st.sampled_from(["keyB", "src"]))
def test_composing_is_closed(events: list[tuple[str, str]], one: str, other: str) -> None:
    # What is composed of two names is no need once both have been said again.
    name = f"{one}/{other}"
    again = [say("u1", f"see {one}"), say("u2", f"and {other}")]
    talk = drawn(events).events
    assert (name, "last") not in needed(
        script(*talk, say("u0", name), *again, answer("last", name))
    )
    assert (name, "last") in needed(script(*talk, say("u0", name), answer("last", name)))
