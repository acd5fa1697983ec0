"""Reports by name."""

from __future__ import annotations

from collections.abc import Callable

from compactlab.reports.page.data import comma, machine
from compactlab.reports.page.markdown import markdown
from compactlab.reports.page.page import page
from compactlab.reports.page.table import table
from compactlab.sim.core.errors import UsageError, unknown
from compactlab.sim.experiment.results import Results

_REPORTS: dict[str, Callable[[Results], str]] = {
    "table": table,
    "md": markdown,
    "csv": comma,
    "json": machine,
    "html": page,
}

FORMATS = tuple(_REPORTS)


def render(results: Results, format: str) -> str:
    """Show results.

    Parameters
    ----------
    results
        What to show.
    format
        One of :data:`FORMATS`.

    Returns
    -------
    str
        The report; CSV and HTML, which are files, end with a line break.

    Raises
    ------
    UsageError
        If there is no such format.
    """
    if format not in _REPORTS:
        raise UsageError(unknown("format", format, FORMATS))
    return _REPORTS[format](results)
