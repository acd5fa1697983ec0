"""tau-bench: a customer asks, an agent looks things up and books, a task says what was right."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from compactlab.scenarios.readers import transcript as transcripts
from compactlab.sim.core.conversation import Conversation, Fact
from compactlab.sim.core.errors import InputError

Messages = list[dict[str, Any]]


def passed_over(conversation: Conversation) -> int:
    """How much of a file was not understood."""
    return sum(one.count for one in conversation.passed_over)


def said(text: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": text}


def called(tool: str, result: str, **arguments: Any) -> Messages:
    function = {"name": tool, "arguments": json.dumps(arguments)}
    asked = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": tool, "function": function}],
    }
    return [asked, {"role": "tool", "tool_call_id": tool, "name": tool, "content": result}]


def trajectory(*messages: dict[str, Any], task: int = 3, trial: int = 1, **right: Any) -> Any:
    actions = [{"name": "book", "kwargs": right}]
    traj = [said("You book.", "system"), *messages]
    return {"task_id": task, "trial": trial, "traj": traj, "info": {"task": {"actions": actions}}}


def read(tmp_path: Path, *values: Any, strict: bool = False) -> list[Conversation]:
    path = tmp_path / "air.json"
    path.write_text(json.dumps(values))
    conversations = list(transcripts.read(path, strict=strict))
    assert {conversation.format for conversation in conversations} == {"tau-bench"}
    return conversations


def facts(conversation: Conversation) -> dict[str, Fact]:
    return {fact.id: fact for fact in conversation.facts}


def spans(conversation: Conversation, fact: Fact) -> list[str]:
    """What stands at a fact's origins."""
    texts = {m.id: [part.text for part in m.parts] for m in conversation.messages}
    return [texts[o.id][o.part][o.start : o.end] for o in fact.origin]


def test_what_the_task_asks_for_is_a_fact_once_it_was_said_and_then_used(tmp_path: Path) -> None:
    (flight,) = read(
        tmp_path,
        trajectory(
            said("I am mia_7 and want economy, at most 250, and a window."),
            *called("get_user", '{"card": "card_81", "seat": "12C"}', user="mia_7"),
            *called("book", "done", user="mia_7", cabin="economy", pay=[{"card": "card_81"}]),
            user="mia_7",
            cabin="economy",
            pay=[{"card": "card_81"}],
            seat="12C",
            limit=250,
            bags=1,
        ),
    )
    assert [m.id for m in flight.messages] == ["m1", "m2", "m3", "m4", "m5"]
    assert [part.text for part in flight.system] == ["You book."]
    found = facts(flight)
    # Nothing was called with the seat or the limit; a single bag may stand anywhere.
    assert list(found) == ["user=mia_7", "cabin=economy", "card=card_81"]
    assert [fact.kind for fact in found.values()] == ["entity", "preference", "tool_detail"]
    assert [fact.handle for fact in found.values()] == ["", "", "m3"]
    assert {fact.key for fact in found.values()} == {""}
    assert [(n.fact, n.at, n.how) for n in flight.needs] == [
        ("user=mia_7", "m2", "get_user"),
        ("user=mia_7", "m4", "book"),
        ("cabin=economy", "m4", "book"),
        ("card=card_81", "m4", "book"),
    ]


def test_a_fact_stands_wherever_its_value_does(tmp_path: Path) -> None:
    (flight,) = read(
        tmp_path,
        trajectory(
            said("HAT1 then HAT10, or HAT1."),
            *called("book", "HAT1 is booked", flight="HAT1"),
            *called("book", "again", flight="HAT1"),
            flight="HAT1",
        ),
    )
    (fact,) = flight.facts
    assert spans(flight, fact) == ["HAT1"] * 5
    assert [o.id for o in fact.origin] == ["m1", "m1", "m2", "m3", "m4"]


def test_what_the_model_knew_by_itself_was_stated_by_its_own_call(tmp_path: Path) -> None:
    (flight,) = read(
        tmp_path,
        trajectory(
            said("New York, please."),
            *called("search_flights", "from JFK", origin="JFK"),
            *called("book", "done", origin="JFK"),
            origin="JFK",
        ),
    )
    (fact,) = flight.facts
    assert (fact.kind, fact.origin[0].id) == ("entity", "m2")
    assert [need.at for need in flight.needs] == ["m4"]


@pytest.mark.parametrize(
    ("text", "stated"),
    [("250", 1), ("$250.", 1), ("1250", 0), ("2,250", 0), ("250.50", 0), ("id_250", 0)],
)
def test_a_number_is_a_word_of_its_own(tmp_path: Path, text: str, stated: int) -> None:
    call = called("pay", "done", amount=250)
    (flight,) = read(tmp_path, trajectory(said(text), *call, amount=250))
    assert len(flight.facts) == stated


def test_a_name_and_a_value_make_an_argument(tmp_path: Path) -> None:
    call = called("get_user", "none", user="K77K")
    (flight,) = read(tmp_path, trajectory(said("K77K"), *call, reservation="K77K", new=True))
    assert flight.facts == ()


def test_only_what_looks_things_up_can_be_asked_again(tmp_path: Path) -> None:
    (flight,) = read(
        tmp_path,
        trajectory(
            *called("book", "Your code is QX9Z", day="any"),
            *called("get_booking", "QX9Z is fine", code="QX9Z"),
            code="QX9Z",
        ),
    )
    (fact,) = flight.facts
    assert (fact.kind, fact.handle) == ("tool_detail", "")


def test_names_say_task_and_trial_in_the_order_of_the_file(tmp_path: Path) -> None:
    of = [
        trajectory(said("hi"), task=task, trial=trial) for task, trial in [(1, 0), (0, 0), (1, 0)]
    ]
    ids = [conversation.id for conversation in read(tmp_path, *of)]
    assert ids == ["air/task-1/trial-0", "air/task-0/trial-0", "air/task-1/trial-0/2"]


def test_odd_ones(tmp_path: Path) -> None:
    broken = {"name": "f", "arguments": "{not json"}
    told = {"role": "assistant", "tool_calls": [{"function": broken}]}
    bare = {"task_id": "x", "traj": [said("hi"), told]}
    (flight,) = read(tmp_path, bare)
    assert (flight.id, flight.facts) == ("air/task-x/trial-0", ())
    with pytest.raises(InputError, match="a trajectory needs a task_id"):
        read(tmp_path, bare, {"task_id": 1}, strict=True)
    assert [passed_over(c) for c in read(tmp_path, {"task_id": 1}, bare)] == [1]
    with pytest.raises(InputError, match="not as expected"):
        read(tmp_path, {"task_id": [], "traj": [said("hi")]})


def test_the_figures_are_those_of_the_source(recorded: Path) -> None:
    airline = list(transcripts.read(recorded / "tau-bench" / "gpt-4o-airline.json"))
    roles = Counter(message.role for c in airline for message in c.messages)
    # 5,308 messages; the 200 of the system stand in front.
    assert len({c.id for c in airline}) == 200
    assert roles == {"user": 1_490, "assistant": 2_454, "tool": 1_164}
    assert all(len(c.system) == 1 for c in airline)
    assert airline[0].id == "gpt-4o-airline/task-0/trial-0"
    assert airline[-1].id == "gpt-4o-airline/task-49/trial-3"
    for conversation in airline:
        order = {message.id: place for place, message in enumerate(conversation.messages)}
        first = {fact.id: order[fact.origin[0].id] for fact in conversation.facts}
        assert {need.fact for need in conversation.needs} == first.keys()
        assert all(first[need.fact] < order[need.at] for need in conversation.needs)
        assert all(set(spans(conversation, f)) == {f.value} for f in conversation.facts)
