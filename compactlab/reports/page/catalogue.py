"""Reports of a store by name, and the two for programs: a row a run, and JSON."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from io import StringIO
from typing import Any

from compactlab.reports.analysis.comparison import Comparison, comparisons
from compactlab.reports.analysis.effects import caps, without_effect
from compactlab.reports.page.page import page
from compactlab.reports.page.preserved import preserved_data
from compactlab.reports.page.table import markdown, table
from compactlab.reports.render.text import harmless, plain
from compactlab.sim.core.errors import UsageError, unknown
from compactlab.sim.metrics import METRICS
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import IDENTITY, Run

# Comma-separated values: one row a run, with everything at full precision.

# What else identifies a run, and how it ended.
TEXTS = ("label", "digest", "loop", "labels", "status", "error")


def as_csv(results: Results) -> str:
    """Write a row a run: its identity, status, error, and all metrics.

    Texts come from strangers' file names. One that a spreadsheet would take for a formula gets an
    apostrophe before it, and what cannot be seen becomes a replacement character; where ids must
    be exact, read the JSON.
    """
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*IDENTITY, *TEXTS, *METRICS])
    for run in results.runs:
        writer.writerow(_row(run))
    return out.getvalue()


def _row(run: Run) -> list[str | int | float | None]:
    values = [getattr(run, name) for name in (*IDENTITY, *TEXTS)]
    texts = [harmless(value) if isinstance(value, str) else value for value in values]
    return [*texts, *(plain(run.metrics.get(metric)) for metric in METRICS)]


# JSON for programs: what a store holds, without its calls.


def as_json(results: Results) -> str:
    """Write all runs, and what their figures mean, as strict JSON in ASCII.

    Texts are exact. What has no value, and what is no number, is null.
    """
    metrics = {
        name: {"unit": metric.unit, "better": metric.better, "meaning": metric.meaning}
        for name, metric in METRICS.items()
    }
    compared = comparisons(results)
    data = {
        "metrics": metrics,
        "memory": [preserved_data(comparison) for comparison in compared],
        "parameters": [_parameters(comparison) for comparison in compared],
        "passed_over": {
            run.conversation: run.passed_over for run in results.runs if run.passed_over
        },
        "runs": [_run(run) for run in results.runs],
        "bounds": [_run(run) for run in results.bounds],
    }
    return json.dumps(data, indent=2, allow_nan=False)


def _parameters(comparison: Comparison) -> dict[str, Any]:
    """What had no effect under a comparison, and what counted as less than it stands at."""
    model, window, summarizer = comparison.kind
    return {
        "model": model,
        "window": window,
        "summarizer": summarizer,
        "without_effect": [
            {
                "strategies": [row.spec for row in each.rows],
                "parameters": list(each.parameters),
                "why": "0 compactions" if each.idle else "the same runs",
            }
            for each in without_effect(comparison)
        ],
        "capped": [
            {
                "strategies": [row.spec for row in each.rows],
                "what": each.what,
                "tokens": each.tokens,
                "counts_as": each.counts,
            }
            for each in caps(comparison)
        ],
    }


def _run(run: Run) -> dict[str, Any]:
    return {
        **{name: getattr(run, name) for name in (*IDENTITY, *TEXTS)},
        "metrics": {name: plain(run.metrics.get(name)) for name in METRICS},
    }


_REPORTS: dict[str, Callable[[Results], str]] = {
    "table": table,
    "md": markdown,
    "csv": as_csv,
    "json": as_json,
    "html": page,
}

FORMATS = tuple(_REPORTS)


def render(results: Results, format: str) -> str:
    """Show results."""
    if format not in _REPORTS:
        raise UsageError(unknown("format", format, FORMATS))
    return _REPORTS[format](results)
