"""Metrics by the names that people write."""

import pytest

from compactlab.sim.core.errors import UsageError
from compactlab.sim.metrics import metrics_named


def test_metrics_are_named_alone_or_by_family() -> None:
    assert metrics_named(["flush"])[0] == "flushed_compactions"
    assert metrics_named(["cost_usd", "flush", "cost_usd"])[0] == "cost_usd"
    with pytest.raises(UsageError, match="did you mean cost_usd"):
        metrics_named(["cost_us"])
