"""Reports by name."""

from __future__ import annotations

from collections.abc import Callable

from compactlab.reports.comma import comma
from compactlab.reports.machine import machine
from compactlab.reports.markdown import markdown
from compactlab.reports.page.page import page
from compactlab.reports.table import table
from compactlab.sim.errors import UsageError, unknown
from compactlab.sim.results import Results

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
