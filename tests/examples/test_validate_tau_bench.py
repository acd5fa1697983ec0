"""tau-bench: what the next action uses, and what the last messages hold of it."""

import json
from pathlib import Path
from typing import Any

import pytest
import validate_tau_bench as tau
from inline_snapshot import snapshot

from compactlab import Conversation, read
from compactlab.sim.facts.needs import used
from tests.lines import lines_with

Messages = list[dict[str, Any]]


def said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


def called(id: str, result: str, **arguments: Any) -> Messages:
    function = {"name": "do", "arguments": json.dumps(arguments)}
    call = {"role": "assistant", "content": "", "tool_calls": [{"id": id, "function": function}]}
    return [call, {"role": "tool", "tool_call_id": id, "name": "do", "content": result}]


def trajectory() -> dict[str, Any]:
    messages = [
        said("system", "Refunds go to card_1."),
        said("user", "I am mia_7, booking AB-12."),
        *called("c1", "mia_7 pays with card_9", user="mia_7"),
        *called("c2", "seat 12C", booking="AB-12", pay="card_9"),
        said("assistant", "AB-12 is yours, paid by card_9."),
        said("user", "Then refund it."),
        *called("c3", "done", booking="AB-12", to="card_1", note="new_note"),
        said("assistant", "Done."),
    ]
    return {"task_id": 1, "trial": 0, "traj": messages, "info": {"task": {"actions": []}}}


def folder(tmp_path: Path, *values: Any) -> Path:
    file = tmp_path / "tau-bench" / "gpt-4o-airline.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(values), encoding="utf-8")
    return tmp_path


@pytest.fixture
def flight(tmp_path: Path) -> Conversation:
    (found,) = read(folder(tmp_path, trajectory()) / "tau-bench" / "gpt-4o-airline.json")
    return found


def test_the_last_messages_hold_what_is_counted_on_paper(flight):
    two, four, all_of_them = tau.rows([flight], [2, 4, 99])
    # Used are mia_7; AB-12 and card_9; both again, in words; AB-12 and, by the rules, card_1.
    assert {row.all.used for row in (two, four, all_of_them)} == {7}
    assert {row.arguments.used for row in (two, four, all_of_them)} == {5}
    # The second action is the only one that needs more than two: AB-12 was said before.
    assert (two.all.met, two.arguments.met) == (6, 4)
    assert (four.all.met, four.arguments.met) == (7, 5)
    assert all_of_them.all.value == all_of_them.arguments.value == 1


def test_counting_by_hand_gives_what_the_metric_gives(flight):
    for keep in range(1, 10):
        trace = tau.last(flight, keep)
        assert tau.by_hand(flight, trace, used) == tau.by_metric(flight, trace)


def test_shares_are_pooled_over_uses(flight):
    (one,), (two,) = tau.rows([flight], [2]), tau.rows([flight, flight], [2])
    assert two.all == one.all + one.all
    assert tau.NONE.value == 0


def test_what_does_not_rise_is_a_bar_missed(tmp_path, capsys):
    assert tau.main([str(folder(tmp_path, trajectory()))]) == 1
    told = capsys.readouterr().out
    # Four messages hold all that is used, and more cannot hold more.
    assert lines_with(told, "FNC@1 rises", "5 uses: for 2") == snapshot("""\
MISSED  FNC@1 rises strictly: 0.857, 1.000, 1.000, 1.000
FNC@1 of arguments alone, 5 uses: for 2 messages OUTSIDE the range of other definitions,
0.28 to 0.46
FNC@1 rises strictly: 0.857, 1.000, 1.000, 1.000\
""")
    assert "missed: 2" in told


def test_without_trajectories_it_says_so(tmp_path, capsys):
    assert tau.main([str(folder(tmp_path, {"messages": [said("user", "Hello.")]}))]) == 2
    assert lines_with(capsys.readouterr().err, "no trajectories") == snapshot(
        "error: tau-bench/gpt-4o-airline.json: these are no trajectories of tau-bench"
    )


def test_it_rises_on_the_recorded_trajectories(shared, capsys):
    code = tau.main([str(shared / "recorded")])
    told = capsys.readouterr().out
    assert code == 0, told
    assert told.count("  met     ") == 2
