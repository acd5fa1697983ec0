"""What all reports are set with: templates for pages, a console for tables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from compactlab.reports.render.document import with_names

if TYPE_CHECKING:
    from rich.console import Console

# What is not a terminal has no width: wide enough for every column.
_UNBOUNDED = 400


def set_page(template: str, content: Mapping[str, Any]) -> str:
    """Fill in the template of a page; all foreign text is escaped.

    Parameters
    ----------
    template
        The file's name in ``templates/``.
    content
        What it names.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        finalize=_with_names,
        loader=PackageLoader("compactlab.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Drawings are markup of our own, in which all foreign text is escaped already.
    environment.filters["drawing"] = Markup
    environment.filters["names"] = with_names
    return environment.get_template(template).render(content)


def _with_names(value: object) -> object:
    """A text with its names as they are: the page escapes all of it."""
    marked = isinstance(value, str) and not hasattr(value, "__html__")
    return with_names(str(value)) if marked else value


def open_console() -> Console:
    """A console for tables: as wide as the terminal, or as is needed where there is none."""
    from rich.console import Console

    console = Console(markup=False, highlight=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _UNBOUNDED
    return console
