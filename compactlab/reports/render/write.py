"""Write a report in a format."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from compactlab.reports.render import json, markdown, terminal
from compactlab.reports.render.document import Document

WRITERS: Mapping[str, Callable[[Document], str]] = {
    "table": terminal.write,
    "md": markdown.write,
    "markdown": markdown.write,
    "json": json.write,
}
