"""What the documentation says is what the code does."""

from __future__ import annotations

from pathlib import Path

from compactlab.sim.causes import CAUSES
from compactlab.sim.metrics import METRICS


def test_the_table_of_metrics_is_that_of_the_code(root: Path) -> None:
    page = (root / "docs" / "metrics.md").read_text("utf-8")
    for name, metric in METRICS.items():
        cells = (name, metric.unit, metric.better, metric.meaning, metric.of_run, metric.source)
        assert f"| {' | '.join(cells)} |" in page


def test_the_table_of_causes_is_that_of_the_code(root: Path) -> None:
    page = (root / "docs" / "metrics.md").read_text("utf-8")
    for cause, meaning in CAUSES.items():
        assert f"| {cause} | {meaning} |" in page
