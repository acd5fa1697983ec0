"""Write rows as CSV without formulas for spreadsheets."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from io import StringIO

from compactlab.reports.render.text import harmless


def write(lines: Iterable[Iterable[object]]) -> str:
    r"""Write rows of cells.

    Examples
    --------
    >>> write([["a", "b"], [1, "=2"], [None, ["##[x]"]]])
    "a,b\n1,'=2\n,['# #[x]']\n"
    """
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for line in lines:
        writer.writerow(map(_cell, line))
    return out.getvalue()


def _cell(value: object) -> object:
    """A cell; lists and the like as text, which may contain names."""
    if value is None or isinstance(value, int | float):
        return value
    return harmless(value if isinstance(value, str) else str(value))
