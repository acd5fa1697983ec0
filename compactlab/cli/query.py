"""``compactlab query``: query a store with SQL."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from compactlab.cli.options import format_option, redact
from compactlab.cli.output import print_json, say, shown
from compactlab.reports.render.fields import write_csv
from compactlab.reports.render.text import clean, plain


@click.command()
@click.argument("folder", type=click.Path(file_okay=False))
@click.argument("sql")
@format_option("table", "csv", "json")
@redact
def query(folder: str, sql: str, form: str) -> None:
    """Query the store in FOLDER in SQL (DuckDB).

    Its tables are runs, calls, compactions, facts, messages, views and prompts, if they were
    written; the column `run` joins them. all_runs, all_calls and so on also have runs that the
    experiment no longer names.

    \b
    compactlab query compactlab-out "SELECT strategy, sum(cost_usd) FROM runs GROUP BY ALL"
    compactlab query compactlab-out "DESCRIBE calls"
    """  # noqa: D301
    from compactlab.sim.store.results import ask
    from compactlab.sim.store.store import Store

    names, rows = shown(ask(Store(folder), sql))
    text = _FORMS[form](names, rows)
    if form == "table":
        say(text)
    elif form == "json":
        print_json(text)
    else:
        click.echo(text, nl=False)


def _table(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Columns with their minimum width; numbers are right-aligned."""
    cells = [[_shown(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
    numeric = [
        bool(column) and all(isinstance(value, int | float) or value is None for value in column)
        for column in (list(zip(*rows, strict=True)) or [()] * len(names))
    ]
    lines = [list(map(clean, names)), ["-" * width for width in widths], *cells]
    padded = (
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        ).rstrip()
        for line in lines
    )
    return "\n".join(padded)


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.6g}"
    return "" if value is None else clean(str(value))


def _csv(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    return write_csv([names, *rows])


def _json(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    # JSON has no infinity, the value of a break-even that never comes.
    finite = ([plain(v) if isinstance(v, float) else v for v in row] for row in rows)
    records = [dict(zip(names, row, strict=True)) for row in finite]
    return json.dumps(records, indent=2, default=str)


_FORMS = {"table": _table, "csv": _csv, "json": _json}
