"""Metrics by the names that people write."""

from inline_snapshot import snapshot

from compactlab.sim.core.errors import UsageError
from compactlab.sim.metrics import metrics_named
from tests.lines import refusal


def test_metrics_are_named_alone_or_by_family():
    assert metrics_named(["flush"])[0] == "flushed_compactions"
    assert metrics_named(["cost_usd", "flush", "cost_usd"])[0] == "cost_usd"
    assert refusal(UsageError, lambda: metrics_named(["cost_us"])) == snapshot(
        "unknown metric 'cost_us'; did you mean cost_usd or side_cost_usd or cost_read_usd?"
    )
