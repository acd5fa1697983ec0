"""Write a report in a format."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from compactlab.reports.render import markdown, terminal
from compactlab.reports.render.document import Document


def write_json(document: Document, indent: int = 2) -> str:
    """Write the data of a report as strict JSON in ASCII; missing values are null."""
    return json.dumps(document.data(), indent=indent, allow_nan=False)


WRITERS: Mapping[str, Callable[[Document], str]] = {
    "table": terminal.write,
    "md": markdown.write,
    "markdown": markdown.write,
    "json": write_json,
}
