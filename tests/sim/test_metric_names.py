"""Metrics by the names that people write: today's, and those of earlier versions."""

import pytest

from compactlab.naming import metrics_of
from compactlab.sim.core.errors import RenamedWarning, UsageError
from compactlab.sim.experiment.tables import TABLES
from compactlab.sim.metrics import FAMILIES, METRICS
from compactlab.sim.metrics.names import RENAMED, current, metrics_named

COLUMNS = {*METRICS, *(column for table in TABLES.values() for column in table.columns)}


def test_metrics_are_named_alone_or_by_family() -> None:
    assert metrics_named(["flush"])[0] == "flushed_compactions"
    assert metrics_named(["cost_usd", "flush", "cost_usd"])[0] == "cost_usd"
    with pytest.raises(UsageError, match="did you mean cost_usd"):
        metrics_named(["cost_us"])


def test_what_was_renamed_is_there_under_its_new_name_alone() -> None:
    families = {family.name for family in FAMILIES}
    assert set(RENAMED["columns"].values()) <= COLUMNS
    assert not COLUMNS & set(RENAMED["columns"])
    assert families >= set(RENAMED["families"].values())
    assert not families & set(RENAMED["families"])


def test_names_of_before_lead_to_those_of_today_with_a_note() -> None:
    with pytest.warns(RenamedWarning, match="^premium_usd is called avoidable_cost_usd now$"):
        assert current("premium_usd") == "avoidable_cost_usd"
    with pytest.warns(RenamedWarning, match="^rework is called recovery now$"):
        assert metrics_named(["rework"]) == metrics_named(["recovery"])
    with pytest.warns(RenamedWarning, match="^fresh is called cache_misses now$"):
        assert "cache_miss_append" in metrics_of(["fresh"])


def test_a_name_of_today_is_taken_without_a_word() -> None:
    assert [current(name) for name in METRICS] == list(METRICS)
