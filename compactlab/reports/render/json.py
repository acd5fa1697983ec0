"""Write the data of a report: strict JSON in ASCII."""

from __future__ import annotations

import json

from compactlab.reports.render.document import Document


def write(document: Document, indent: int = 2) -> str:
    """Write the data of a report; missing values are null."""
    return json.dumps(document.data(), indent=indent, allow_nan=False)
