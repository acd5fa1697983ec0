"""The parts of the page, ready to be set: tables as texts, charts as drawings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from compactlab.reports.aggregate import causes_of
from compactlab.reports.calls import models
from compactlab.reports.charts.breakdown import breakdown, ordered
from compactlab.reports.charts.chart import Chart
from compactlab.reports.charts.palette import cause_colours
from compactlab.reports.charts.pareto import pareto
from compactlab.reports.charts.sessions import Panel, session
from compactlab.reports.columns import COLUMNS, MEMORY, Column, columns, marks
from compactlab.reports.comparison import (
    Case,
    Comparison,
    Kind,
    Row,
    case_of,
    compare,
    kind_of,
    label,
)
from compactlab.reports.figures import exact, show
from compactlab.reports.notes import notes, scope, window
from compactlab.reports.text import capitalised, clean, counted, listed
from compactlab.reports.verdict import verdict
from compactlab.sim.causes import CAUSES
from compactlab.sim.results import Results
from compactlab.sim.run import Run

CHARTS = 6
PANELS = 24
TABLES = 100

Colours = Mapping[str, str]


@dataclass(frozen=True)
class Cell:
    """A figure as it is shown, in full, and whether no usable strategy has a better one."""

    text: str
    exact: str
    best: bool = False


@dataclass(frozen=True)
class Line:
    """A row of a table."""

    label: str
    spec: str
    marks: str
    colour: str
    quiet: bool
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Grid:
    """A table."""

    heads: tuple[Column, ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class CauseLine:
    """A cause in the legend: how it is drawn, what it means, how much there was."""

    name: str
    meaning: str
    colour: str
    pattern: str
    tokens: str


@dataclass(frozen=True)
class Section:
    """A comparison on the page."""

    title: str
    verdict: tuple[str, ...]
    grid: Grid
    memory: Grid
    notes: tuple[str, ...]
    scatter: str
    causes: str
    legend: tuple[CauseLine, ...]


@dataclass(frozen=True)
class Session:
    """A conversation on the page: with a chart or with a table."""

    title: str
    told: str
    chart: str = ""
    grid: Grid | None = None


def section(comparison: Comparison, colours: Colours, name: str) -> Section:
    """Everything about one comparison."""
    found = [causes_of(row.runs) for row in comparison.rows]
    labels = [row.label for row in comparison.rows]
    shown = ordered(found)
    return Section(
        capitalised(scope(comparison)),
        tuple(verdict(comparison)),
        _grid(comparison, colours, columns(comparison)),
        _grid(comparison, colours, columns(comparison, MEMORY)),
        tuple(notes(comparison)),
        _markup(pareto(comparison, colours, f"{name}-pareto")),
        _markup(breakdown(labels, found, f"{name}-causes")),
        tuple(
            CauseLine(
                cause,
                CAUSES[cause],
                *cause_colours()[cause],
                show(sum(each[cause] for each in found), "tokens"),
            )
            for cause in shown
        ),
    )


def _markup(chart: Chart | None) -> str:
    return chart.markup() if chart else ""


def _grid(comparison: Comparison, colours: Colours, shown: Sequence[Column]) -> Grid:
    choices = [row for row in comparison.rows if row.choice]
    best = {column.key: _best(column, choices) for column in shown}
    lines = tuple(
        Line(
            row.label,
            clean(row.spec),
            marks(row),
            colours[row.spec],
            row.null or not row.usable,
            tuple(
                Cell(
                    each.cell(row.figures),
                    exact(row.figures[each.key]),
                    row in choices and best[each.key] == row.figures[each.key] is not None,
                )
                for each in shown
            ),
        )
        for row in comparison.rows
    )
    return Grid(tuple(shown), lines)


def _best(column: Column, rows: Sequence[Row]) -> float | None:
    """The best figure of a column; None where nothing is better or all are equal."""
    values = {value for row in rows if (value := row.figures[column.key]) is not None}
    if len(values) < 2 or column.better == "neither":
        return None
    return min(values) if column.better == "lower" else max(values)


Group = tuple[Comparison, Case, list[Run]]


def groups(results: Results, compared: Sequence[Comparison]) -> list[Group]:
    """The runs of each conversation under each model, the largest conversation first."""
    found: dict[tuple[Kind, Case], list[Run]] = {}
    for run in results.runs:
        if run.status != "unreadable":
            found.setdefault((kind_of(run), case_of(run)), []).append(run)
    by_kind = {each.kind: each for each in compared}
    listing = [(by_kind[kind], case, runs) for (kind, case), runs in found.items()]
    return sorted(listing, key=lambda group: (-_peak(group[2]), group[1], group[0].model))


def _peak(runs: Sequence[Run]) -> float:
    return max((run.metrics.get("prompt_tokens_peak") or 0 for run in runs), default=0)


def charts(results: Results, listing: Sequence[Group], colours: Colours) -> Iterator[Session]:
    """The context over the session, for the largest conversations."""
    for number, (comparison, case, runs) in enumerate(listing[:CHARTS]):
        done = [run for run in runs if run.status == "ok"][:PANELS]
        panels = [
            Panel(label(results, run.strategy), colours[run.strategy], run, results.catalogue)
            for run in done
        ]
        told = [_told(comparison, runs)]
        if len(runs) > len(done):
            told.append(f"{len(done)} of {counted(len(runs), 'strategy')} drawn")
        drawn = session(panels, f"session-{number}", _title(case))
        yield Session(_title(case), "; ".join(told), _markup(drawn))


def tables(results: Results, listing: Sequence[Group], colours: Colours) -> Iterator[Session]:
    """The figures of each conversation."""
    for comparison, case, runs in listing[:TABLES]:
        yield Session(_title(case), _told(comparison, runs), grid=_of_case(results, runs, colours))


def _of_case(results: Results, runs: Sequence[Run], colours: Colours) -> Grid:
    rows = {row.spec: row for row in compare(results, kind_of(runs[0]), runs).rows}
    shown = [each for each in COLUMNS if each.key != "of_as_recorded"]
    lines = []
    for run in sorted(runs, key=lambda run: (run.status, run.metrics.get("cost_usd") or 0.0)):
        row = rows.get(run.strategy) if run.status == "ok" else None
        figures = row.figures if row else {}
        cells = tuple(Cell(each.cell(figures), exact(figures.get(each.key))) for each in shown)
        lines.append(
            Line(
                label(results, run.strategy),
                clean(run.strategy),
                marks(row) if row else "failed",
                colours[run.strategy],
                row is None or row.null or not row.usable,
                cells,
            )
        )
    return Grid(tuple(shown), tuple(lines))


def _title(case: Case) -> str:
    scenario, conversation, seed = case
    name = clean(conversation) or "(no name)"
    return f"{name} ({clean(scenario)}{f', seed {seed}' if seed else ''})"


def _told(comparison: Comparison, runs: Sequence[Run]) -> str:
    """How long a conversation is, and what it was replayed under."""
    longest = max(runs, key=lambda run: len(run.calls))
    names = listed([clean(name) for name in models([longest])]) or clean(comparison.model)
    peak = show(_peak(runs), "tokens")
    size = f"{counted(len(longest.calls), 'call')}, {peak} tokens at most"
    return f"{size}; {names}; {window(comparison)}"
