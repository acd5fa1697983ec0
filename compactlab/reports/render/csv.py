"""Writes rows as CSV in which no spreadsheet finds a formula."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from io import StringIO

from compactlab.reports.render.text import harmless


def write(lines: Iterable[Iterable[object]]) -> str:
    r"""Write rows of cells.

    Examples
    --------
    >>> write([["a", "b"], [1, "=2"]])
    "a,b\n1,'=2\n"
    """
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for line in lines:
        writer.writerow([harmless(cell) if isinstance(cell, str) else cell for cell in line])
    return out.getvalue()
