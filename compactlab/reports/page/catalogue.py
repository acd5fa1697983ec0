"""Reports of a store by name, and two for programs: CSV with a row per run, and JSON."""

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

# CSV: one row per run, at full precision.

# Columns that identify a run, and its outcome.
TEXTS = ("label", "digest", "loop", "labels", "status", "error")


def as_csv(results: Results) -> str:
    """Write one row per run: its identity, status, error and all metrics.

    Texts may come from untrusted file names. Texts that a spreadsheet would read as formulas get an
    apostrophe, and invisible characters become replacement characters. Ids are exact in the JSON
    only.
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


# JSON: the contents of a store, without its calls.


def as_json(results: Results) -> str:
    """Write all runs and the meanings of their figures as strict JSON in ASCII.

    Texts are exact. Missing values and NaN are null.
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
    """Parameters without effect, and defaults that a narrowed window reduced."""
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
    """Render results in a format."""
    if format not in _REPORTS:
        raise UsageError(unknown("format", format, FORMATS))
    return _REPORTS[format](results)
