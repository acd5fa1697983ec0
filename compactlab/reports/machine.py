"""JSON for programs: what a store holds, without its calls."""

from __future__ import annotations

import json
from typing import Any

from compactlab.reports.comma import TEXTS
from compactlab.reports.figures import plain
from compactlab.sim.metrics import METRICS
from compactlab.sim.results import Results
from compactlab.sim.run import IDENTITY, Run


def machine(results: Results) -> str:
    """Write all runs, and what their figures mean, as strict JSON in ASCII.

    Texts are exact. What has no value, and what is no number, is null.
    """
    metrics = {
        name: {"unit": metric.unit, "better": metric.better, "meaning": metric.meaning}
        for name, metric in METRICS.items()
    }
    data = {"metrics": metrics, "runs": [_run(run) for run in results.runs]}
    return json.dumps(data, indent=2, allow_nan=False)


def _run(run: Run) -> dict[str, Any]:
    return {
        **{name: getattr(run, name) for name in (*IDENTITY, *TEXTS)},
        "metrics": {name: plain(run.metrics.get(name)) for name in METRICS},
    }
