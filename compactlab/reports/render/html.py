"""Writes a report as a page: one file, with nothing in it from elsewhere; all text is escaped."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from compactlab.reports.render.document import Column, Document, Heading, Table, with_names

if TYPE_CHECKING:
    from jinja2 import Environment

# Headings of this level begin a part of the page, which its contents name.
_PART = 2


def write(document: Document, colours: Mapping[str, tuple[str, str]]) -> str:
    """Write a report without any script; the same report gives the same bytes."""
    title, *blocks = document.blocks
    parts: list[list[Any]] = [[]]
    for block in blocks:
        if isinstance(block, Heading) and block.level == _PART:
            parts.append([])
        parts[-1].append(block)
    return set_page("document.html.j2", {"title": title, "parts": parts, "colours": colours})


def set_page(template: str, content: Mapping[str, Any]) -> str:
    """Fill in a template of ``templates/`` with what it names."""
    return _environment().get_template(template).render(content)


@cache
def _environment() -> Environment:
    """Made once: it keeps the templates that it has compiled."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("compactlab.reports"),
        autoescape=True,
        finalize=_with_names,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Drawings are markup of our own, in which all foreign text is escaped already.
    environment.filters["drawing"] = Markup
    environment.filters["names"] = with_names
    environment.filters["groups"] = _groups
    environment.tests["a"] = lambda value, kind: type(value).__name__ == kind
    return environment


def _with_names(value: object) -> object:
    """A text with its names as they are: the page escapes all of it."""
    marked = isinstance(value, str) and not hasattr(value, "__html__")
    return with_names(str(value)) if marked else value


def _groups(table: Table) -> list[tuple[str, int]]:
    """What columns beside each other belong to, and how many there are; none without any."""

    def group(column: Column) -> str:
        return column.group

    groups = [(name, len(list(columns))) for name, columns in groupby(table.columns[1:], group)]
    return groups if any(name for name, _ in groups) else []
