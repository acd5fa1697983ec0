"""The comparison on a terminal: as wide as it is, in colour where there is colour."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from compactlab.reports.analysis.columns import ARROWS, Column, columns, marks
from compactlab.reports.analysis.comparison import Comparison, Row, comparisons, scope
from compactlab.reports.page.notes import (
    Failure,
    failures,
    legend,
    notes,
    passed_over,
    summaries,
    unfinished,
)
from compactlab.reports.page.verdict import verdict
from compactlab.reports.render.setting import open_console
from compactlab.reports.render.text import capitalised, counted, enumerated
from compactlab.sim.experiment.results import Results

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_GAP = 2
_NAME = 24
# A number that is no piece of a name.
_NUMBER = re.compile(r"(?<![\w.@/-])\d[\d,.]*(?![\w@/-])")


def table(results: Results) -> str:
    """Draw all comparisons, with what must be said about them.

    Parameters
    ----------
    results
        What to show.

    Returns
    -------
    str
        Plain text; with colours, and fitted to the width, if standard output is a terminal.
    """
    console = open_console()
    with console.capture() as capture:
        if not results.runs:
            console.print("No runs: there is nothing to compare.")
        compared = comparisons(results)
        for comparison in compared:
            _comparison(console, comparison)
        if compared:
            _say(console, *legend(compared), f"{capitalised(summaries(results))}.", style="dim")
        _say(console, *filter(None, [unfinished(results), passed_over(results)]), style="bold")
        _failed(console, results)
    lines = capture.get().splitlines()
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def troubles(results: Results) -> str:
    """Name what is not there: runs that are to do, lines that were passed over, runs that failed.

    Parameters
    ----------
    results
        What is shown beside it.

    Returns
    -------
    str
        Plain text, for below a report that does not say so itself; "" if all went well.
    """
    console = open_console()
    with console.capture() as capture:
        _say(console, *filter(None, [passed_over(results)]), style="bold")
        _failed(console, results)
    return "\n".join(line.rstrip() for line in capture.get().splitlines()).strip("\n")


def _comparison(console: Console, comparison: Comparison) -> None:
    _say(console, capitalised(scope(comparison)), style="bold")
    shown = columns(comparison)
    left: list[str] = []
    if comparison.rows:
        while _width(comparison, shown) > console.width and len(shown) > 1:
            last = max(shown, key=lambda column: column.rank)
            shown.remove(last)
            left.append(last.title)
        console.print()
        console.print(_grid(comparison, shown))
        console.print()
    if left:
        _say(console, f"Too narrow for: {', '.join(left)}.", style="dim")
    _say(console, *verdict(comparison), *notes(comparison))
    console.print()


def _grid(comparison: Comparison, shown: list[Column]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, _GAP, 0, 0))
    heads = [["strategy"], *map(_stacked, shown)]
    depth = max(map(len, heads))
    first, *others = ["\n".join([""] * (depth - len(head)) + head) for head in heads]
    grid.add_column(first, overflow="fold")
    for head in others:
        grid.add_column(Text(head), justify="right", no_wrap=True)
    for row in comparison.rows:
        name = Text(_name(row), style="" if row.usable and not row.null else "dim")
        grid.add_row(name, *(Text(column.cell(row.figures)) for column in shown))
    return grid


def _name(row: Row) -> str:
    return f"{row.label} {marks(row)}".strip()


def _stacked(column: Column) -> list[str]:
    """A heading in short lines, so that columns are as narrow as their figures."""
    words = column.heading.split(" ")
    if words[-1] in ARROWS.values():
        words[-2:] = [f"{words[-2]} {words[-1]}"]
    return words


def _width(comparison: Comparison, shown: list[Column]) -> int:
    """The least width that shows every figure whole and no name on many lines."""
    from rich.cells import cell_len

    names = max(cell_len(_name(row)) for row in comparison.rows)
    widths = [min(names, _NAME)]
    for column in shown:
        cells = [column.cell(row.figures) for row in comparison.rows]
        widths.append(max(map(cell_len, [*cells, *_stacked(column)])))
    return sum(widths) + (_GAP + 1) * len(shown)


def _failed(console: Console, results: Results) -> None:
    failed = failures(results)
    if failed:
        console.print()
        _say(console, f"{counted(len(failed), 'run')} failed:", style="bold red")
    _say(console, *(f"  {line}" for line in _grouped(failed)))


def _grouped(failed: list[Failure]) -> Iterator[str]:
    """A line for each error, however many runs it has failed."""
    groups: dict[tuple[str, str], list[Failure]] = {}
    for each in failed:
        # Errors that differ in a count are the same error.
        groups.setdefault((each.model, _NUMBER.sub("#", each.error)), []).append(each)
    for (model, _), same in groups.items():
        under = f" under {model}" if model else ""
        first = same[0]
        if len(same) == 1:
            yield f"{first.conversation}, {first.strategy}{under}: {first.error}"
            continue
        strategies = list(dict.fromkeys(each.strategy for each in same))
        conversations = list(dict.fromkeys(each.conversation for each in same))
        yield (
            f"{counted(len(same), 'run')} ({enumerated(conversations, 3)}; "
            f"{enumerated(strategies, 3)}){under}: {first.error}"
        )


def _say(console: Console, *texts: str, style: str = "") -> None:
    from rich.text import Text

    for text in texts:
        console.print(Text(text, style=style), soft_wrap=not console.is_terminal)
