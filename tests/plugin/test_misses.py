"""Misses: which facts of a table were needed in vain, and which of them are told."""

from __future__ import annotations

import numpy as np

from compactlab.sim.experiment.parquet import Rows
from compactlab.sim.experiment.results import Results
from compactlab.sim.experiment.run import Run
from compactlab.sim.experiment.sweep import Experiment
from compactlab.testing.failures import misses

FACTS = {
    "fact": ["met", "once", "never needed", "often", "once more"],
    "type": ["goal", "goal", "path", "path", "goal"],
    "stated_in": ["m1", "m2", "m3", "m4", "m5"],
    "needs": [2, 2, 0, 3, 1],
    "needs_met": [2, 1, 0, 0, 0],
    "first_missed": [0, 7, 0, 4, 9],
}


def results() -> Results:
    columns = {name: np.array(values, object) for name, values in FACTS.items()}
    return Results([Run("talk", "", "keep_none()", "", 0, 0, rows={"facts": Rows(columns, 0, 5)})])


def test_what_was_missed_most_is_told_first_and_what_was_met_is_not() -> None:
    found = misses(Experiment((), ()), results(), most=2)
    assert (found.needs, found.missed, found.facts) == (8, 5, 3)
    assert [(miss.text, miss.message, miss.call, miss.times) for miss in found.first] == [
        ("often", "m4", 4, 3),
        ("once", "m2", 7, 1),
    ]


def test_of_one_type_of_fact_others_are_not_counted() -> None:
    found = misses(Experiment((), ()), results(), "goal")
    assert (found.needs, found.missed, found.facts) == (5, 2, 2)
    assert [miss.text for miss in found.first] == ["once", "once more"]
