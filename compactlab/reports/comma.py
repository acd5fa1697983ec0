"""Comma-separated values: one row a run, with everything at full precision."""

from __future__ import annotations

import csv
import re
from io import StringIO

from compactlab.reports.figures import plain
from compactlab.reports.text import clean
from compactlab.sim.metrics import METRICS
from compactlab.sim.results import Results
from compactlab.sim.run import IDENTITY, Run

# What else identifies a run, and how it ended.
TEXTS = ("label", "digest", "loop", "labels", "status", "error")

# Where a spreadsheet would begin a formula: at the start of a cell, and after the semicolon that
# separates cells where the comma is the decimal sign. The wide forms count as well. And where a
# line begins with two colons, the runner of a pipeline would begin a command.
_FORMULA = re.compile(r"(^|;)(\s*(?:[=+\-@\uff1d\uff0b\uff0d\uff20]|::))")


def comma(results: Results) -> str:
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


def harmless(text: str) -> str:
    """A text that no spreadsheet takes for a formula.

    Examples
    --------
    >>> harmless("=1+1"), harmless("coding_agent-0")
    ("'=1+1", 'coding_agent-0')
    """
    return _FORMULA.sub(r"\1'\2", clean(text))


def _row(run: Run) -> list[str | int | float | None]:
    told = [getattr(run, name) for name in (*IDENTITY, *TEXTS)]
    texts = [harmless(value) if isinstance(value, str) else value for value in told]
    return [*texts, *(plain(run.metrics.get(metric)) for metric in METRICS)]
