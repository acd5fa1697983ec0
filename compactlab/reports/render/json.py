"""Writes what a report holds for programs: strict JSON in ASCII."""

from __future__ import annotations

import json

from compactlab.reports.render.document import Document


def write(document: Document, indent: int = 2) -> str:
    """Write the data of a report; what has no value in them is null."""
    return json.dumps(document.data(), indent=indent, allow_nan=False)
