"""`compactlab list`: what there is to choose from."""

from __future__ import annotations

import json

import pytest

from compactlab.scenarios.catalogue import DEFAULT, SCENARIOS, find_scenario
from compactlab.sim.metrics import METRICS
from compactlab.strategies.catalogue import find_strategy, strategies
from compactlab.summarizers.catalogue import SUMMARIZERS, find_summarizer

NAMES = {
    "strategies": set(strategies()),
    "scenarios": set(SCENARIOS),
    "summarizers": set(SUMMARIZERS),
    "metrics": set(METRICS),
    "formats": {
        "native",
        "claude-code",
        "pi",
        "codex",
        "anthropic-messages",
        "openai-chat",
        "locomo",
        "tau-bench",
        "swe-agent",
    },
}


@pytest.mark.parametrize("kind", NAMES)
def test_each_has_a_line_with_its_meaning(compactlab, kind):
    done = compactlab("list", kind)
    lines = [line.split(maxsplit=1) for line in done.out.splitlines() if line[0] != " "]
    assert done.code == 0
    assert {name for name, _ in lines} == NAMES[kind]
    assert len(lines) == len(NAMES[kind])


@pytest.mark.parametrize("kind", NAMES)
def test_all_that_is_known_comes_as_json(compactlab, kind):
    rows = json.loads(compactlab("list", kind, "--json").out)
    assert {row["name"] for row in rows} == NAMES[kind]
    assert all(row["meaning"] for row in rows)


def test_the_specs_of_a_list_can_be_typed(compactlab):
    for row in json.loads(compactlab("list", "strategies", "--json").out):
        assert find_strategy(row["spec"]).spec == row["spec"]
    for row in json.loads(compactlab("list", "scenarios", "--json").out):
        assert find_scenario(row["spec"]).spec == row["spec"]
    for row in json.loads(compactlab("list", "summarizers", "--json").out):
        assert find_summarizer(row["spec"]).spec == row["spec"]


def test_without_more_being_asked_for_there_is_a_line_each(compactlab):
    assert len(compactlab("list", "strategies").out.splitlines()) == len(NAMES["strategies"])


def test_parameters_stand_below_with_their_defaults(compactlab):
    told = compactlab("list", "strategies", "--parameters").out
    lines = [line.strip() for line in told.splitlines()]
    (found,) = [n for n, line in enumerate(lines) if line.startswith("sliding_window ")]
    assert lines[found + 1].startswith("keep=20")
    rows = {row["name"]: row for row in json.loads(compactlab("list", "strategies", "--json").out)}
    assert rows["sliding_window"]["parameters"]["keep"] == 20
    assert rows["keep_all"]["parameters"] == {}


def test_the_scenario_that_is_run_by_default_is_named_as_it_is_run(compactlab):
    rows = json.loads(compactlab("list", "scenarios", "--json").out)
    (row,) = (row for row in rows if row.get("used_by_run"))
    assert find_scenario(row["used_by_run"]) == find_scenario(DEFAULT)
    assert f"compactlab run uses {row['used_by_run']}" in compactlab("list", "scenarios", "-p").out


@pytest.mark.parametrize("arguments", [(), ("cats",)])
def test_what_cannot_be_listed_ends_with_2(compactlab, arguments):
    done = compactlab("list", *arguments)
    assert done.code == 2
    assert "strategies" in done.err
