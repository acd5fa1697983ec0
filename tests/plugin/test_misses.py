"""Misses: which facts of a table were needed in vain, and which of them are told."""

import shlex

import numpy as np

from compactlab.reports.gate.verdict import misses
from compactlab.sim.store.parquet import Rows
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import Run

FACTS = {
    "fact": ["met", "once", "never needed", "often", "once more"],
    "type": ["goal", "goal", "path", "path", "goal"],
    "stated_in": ["m1", "m2", "m3", "m4", "m5"],
    "needs": [2, 2, 0, 3, 1],
    "needs_met": [2, 1, 0, 0, 0],
    "first_missed": [0, 7, 0, 4, 9],
    "stated_at": [0, 0, 0, 12, 0],
    "statement": ["", "", "", "branch: main", ""],
    "missed_lag": ["", "", "", "20000", ""],
}


def results() -> Results:
    columns = {name: np.array(values, object) for name, values in FACTS.items()}
    return Results([Run("talk", "", "keep_none()", "", 0, 0, rows={"facts": Rows(columns, 0, 5)})])


def test_what_was_missed_most_is_told_first_and_what_was_met_is_not():
    found = misses(results(), most=2)
    assert (found.needs, found.missed, found.count) == (8, 5, 3)
    assert [(miss.fact, miss.message, miss.call, miss.times) for miss in found.facts] == [
        ("branch: main", "12 (m4)", 4, 3),
        ("once", "m2", 7, 1),
    ]


def test_of_one_type_of_fact_others_are_not_counted():
    found = misses(results(), "goal")
    assert (found.needs, found.missed, found.count) == (5, 2, 2)
    assert [miss.fact for miss in found.facts] == ["once", "once more"]


def test_what_was_missed_at_the_lag_that_fell_is_told_before_what_was_missed_more():
    columns = {**FACTS, "missed_lag": ["", "20000", "", "1000", "40000"]}
    arrays = {name: np.array(values, object) for name, values in columns.items()}
    run = Run("talk", "", "keep_none()", "", 0, 0, rows={"facts": Rows(arrays, 0, 5)})
    found = misses(Results([run]), metric="recall_20k")
    assert [miss.fact for miss in found.facts] == ["once", "once more", "branch: main"]


def test_the_command_to_look_runs_as_it_stands():
    run = results().runs[0]
    run.source, run.scenario, run.label = "coding_agent(turns=2)-3", "coding_agent", "keep_none"
    run.seed, run.window, run.model = 3, 9000, "claude-sonnet-4-5"
    assert shlex.split(misses(Results([run])).explain)[1:] == [
        "explain", "coding_agent(turns=2)", "--strategies", "keep_none",
        "--model", "claude-sonnet-4-5", "--window", "9000", "--seed", "3",
    ]  # fmt: skip
