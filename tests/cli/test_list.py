"""`compactlab list`: what there is to choose from."""

import json
import re

import pytest
from inline_snapshot import snapshot

from compactlab.scenarios.catalogue import DEFAULT, SCENARIOS, USUAL, find_scenario, sources
from compactlab.scenarios.readers.transcript import FORMATS
from compactlab.sim.cache import POLICIES
from compactlab.sim.metrics import FAMILIES, METRICS
from compactlab.strategies.catalogue import STRATEGIES, find_strategy
from compactlab.strategies.summarizers.catalogue import SUMMARIZERS, find_summarizer
from tests.lines import fitting, lines_with

NAMES = {
    "strategies": set(STRATEGIES.built_in),
    "scenarios": set(SCENARIOS),
    "summarizers": set(SUMMARIZERS),
    "metrics": set(METRICS),
    "formats": {each.name for each in FORMATS},
    "policies": set(POLICIES),
}


@pytest.mark.parametrize("kind", sorted(NAMES.keys() - {"metrics", "strategies"}))
def test_each_has_a_line_with_its_meaning(compactlab, kind):
    done = compactlab("list", kind)
    lines = [line.split(maxsplit=1) for line in done.out.splitlines() if line[0] != " "]
    assert done.code == 0
    assert {name for name, _ in lines} == NAMES[kind]
    assert len(lines) == len(NAMES[kind])


def test_metrics_stand_under_their_families(compactlab):
    told = []
    for line in compactlab("list", "metrics").out.splitlines():
        if line.startswith("  "):
            told[-1][1].append(line.split()[0])
        else:
            told.append((line.partition(":")[0], []))
    assert told == [(each.name, [m.name for m in each.metrics]) for each in FAMILIES]
    rows = json.loads(compactlab("list", "metrics", "--format", "json").out)
    assert [row["family"] for row in rows if row["name"] == "cost_usd"] == ["money"]


def test_what_is_simulated_of_a_summariser_is_said_with_it(compactlab):
    lines = compactlab("list", "summarizers").out.splitlines()
    for name in sorted(SUMMARIZERS):
        (at,) = [n for n, line in enumerate(lines) if line.startswith(f"{name} ")]
        below = lines[at + 1].strip() if at + 1 < len(lines) else ""
        simulated = find_summarizer(name).simulated
        assert below.startswith("simulated: ") == bool(simulated)
        assert simulated in below
    rows = json.loads(compactlab("list", "summarizers", "--format", "json").out)
    assert {row["name"]: row["simulated"] for row in rows} == {
        name: find_summarizer(name).simulated for name in SUMMARIZERS
    }


def test_the_scenarios_end_with_how_to_have_all_or_another_size(compactlab):
    note = compactlab("list", "scenarios").out.splitlines()[-1]
    specs = re.findall(r"'([^']*)'", note)
    assert note.startswith("  suite ")
    assert len(sources([specs[0]])[0]) == 1
    assert len(sources([specs[1]])[0]) == len(USUAL) < len(SCENARIOS.built_in)


@pytest.mark.parametrize("kind", NAMES)
def test_all_that_is_known_comes_as_json(compactlab, kind):
    rows = json.loads(compactlab("list", kind, "--format", "json").out)
    assert {row["name"] for row in rows} == NAMES[kind]
    assert all(row["meaning"] for row in rows)


def test_the_specs_of_a_list_can_be_typed(compactlab):
    for row in json.loads(compactlab("list", "strategies", "--format", "json").out):
        assert find_strategy(row["spec"]).spec == row["spec"]
    for row in json.loads(compactlab("list", "scenarios", "--format", "json").out):
        assert find_scenario(row["spec"]).spec == row["spec"]
    for row in json.loads(compactlab("list", "summarizers", "--format", "json").out):
        assert find_summarizer(row["spec"]).spec == row["spec"]


def test_strategies_are_a_table_of_what_they_do_and_when(compactlab, monkeypatch):
    """A row each, those that do the same together; a narrow terminal leaves the sentence out."""
    told = compactlab("list", "strategies").out
    table, about = told.split("\n\n")
    rows = {line.split()[0]: " ".join(line.split()) for line in table.splitlines()[2:]}
    assert rows.keys() == NAMES["strategies"]
    assert fitting([rows["opencode"], rows["keep_all"]]) == snapshot("""\
opencode clear, summarise threshold, turn end, overflow OpenCode: clear old tool outputs,
then summarise all but the tail.
keep_all - every call Send all messages.\
""")
    order = [*rows]
    assert order.index("keep_none") + 1 == order.index("oracle") < order.index("clear_tool_results")
    assert fitting(about.splitlines()[0]) == snapshot("""\
threshold: when the context reaches a size, set by the parameter trigger. background: its
summary is made while the agent works. overflow: when a prompt exceeds the window.\
""")
    monkeypatch.setenv("COLUMNS", "80")
    narrow = compactlab("list", "strategies").out
    assert lines_with(narrow, "narrow") == snapshot("Too narrow for: in a sentence.")
    assert max(map(len, narrow.split("\n\n")[0].splitlines())) <= 80


def test_parameters_stand_below_with_their_defaults(compactlab):
    told = compactlab("list", "strategies", "--parameters").out
    lines = [line.strip() for line in told.splitlines()]
    (found,) = [n for n, line in enumerate(lines) if line.startswith("sliding_window ")]
    assert lines[found + 1].startswith("keep=20")
    rows = {
        row["name"]: row
        for row in json.loads(compactlab("list", "strategies", "--format", "json").out)
    }
    assert rows["sliding_window"]["parameters"]["keep"] == 20
    assert rows["keep_all"]["parameters"] == {}


def test_the_scenario_that_is_run_by_default_is_named_as_it_is_run(compactlab):
    rows = json.loads(compactlab("list", "scenarios", "--format", "json").out)
    (row,) = (row for row in rows if row.get("used_by_run"))
    assert find_scenario(row["used_by_run"]) == find_scenario(DEFAULT)
    assert f"compactlab run uses {row['used_by_run']}" in compactlab("list", "scenarios", "-p").out


@pytest.mark.parametrize("arguments", [(), ("cats",)])
def test_what_cannot_be_listed_ends_with_2(compactlab, arguments):
    done = compactlab("list", *arguments)
    assert done.code == 2
    assert "strategies" in done.err
