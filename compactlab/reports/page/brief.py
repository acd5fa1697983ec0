"""The verdict in twenty lines: for a terminal, and for the comment on a pull request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from compactlab.reports.analysis.advice import Advice, advised_alike, ordered_alike
from compactlab.reports.analysis.columns import BREAKS, FAULTY, FUTURE, NULL, OVER, PLAYED, marks
from compactlab.reports.analysis.comparison import (
    Comparison,
    Name,
    Row,
    comparisons,
    scope,
    told_apart,
)
from compactlab.reports.analysis.strength import signed, signed_points
from compactlab.reports.page.notes import unfinished
from compactlab.reports.page.verdict import verdict
from compactlab.reports.render.setting import open_console
from compactlab.reports.render.text import NONE, capitalised, code, counted, line, show
from compactlab.sim.experiment.results import Results

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

LINES = 20
# What is no terminal has no width; this is one that mail and logs have.
_WIDTH = 110
_HEADS = ("strategy", "", "USD", "against {}", "needs forgotten", "with rework USD")
_LEFT = 2
_STEPS = 5
_MARKS = {
    OVER: "over the window on some calls",
    NULL: "yardstick",
    FAULTY: "would be refused",
    FUTURE: "knows what comes",
    BREAKS: "breaks a rule, as its system does",
    PLAYED: "what was run, its summaries for free",
}


def brief(results: Results) -> str:
    """Say on a terminal what is decided, in twenty lines.

    What is advised, and how far that carries, is said in any case: where the terminal is too narrow
    for that, it takes more.

    Parameters
    ----------
    results
        What to show. Of several comparisons the first is told, and whether the others agree.

    Returns
    -------
    str
        Plain text; with colours if standard output is a terminal.
    """
    compared = comparisons(results)
    if not compared:
        return "No runs: there is nothing to compare."
    console = open_console()
    console.width = min(console.width, _WIDTH)
    advice = Advice(compared[0])
    must, may = _sentences(results, compared, advice)
    said = [line for sentence in must for line in _printed(console, sentence)]
    for steps in range(_STEPS, -1, -1):
        lines = [*_table(console, advice, steps), *said]
        if len(lines) <= LINES:
            break
    for sentence in may:
        more = _printed(console, sentence)
        if len(lines) + len(more) <= LINES:
            lines += more
    return "\n".join(lines)


def _printed(console: Console, *what: RenderableType) -> list[str]:
    """The lines that something takes."""
    with console.capture() as capture:
        console.print(*what)
    return [line.rstrip() for line in capture.get().splitlines()]


def brief_markdown(results: Results) -> str:
    """The same as GitHub's Markdown, with names in code spans.

    Parameters
    ----------
    results
        What to show.
    """
    compared = comparisons(results)
    if not compared:
        return "No runs: there is nothing to compare."
    first, advice = compared[0], Advice(compared[0])
    lines = [f"**{capitalised(scope(first, code))}**", ""]
    if first.rows:
        lines += [line(_heads(advice, code)), line([":--", ":--", *["--:"] * 4])]
        for row, role in picks(advice):
            name, *cells = _cells(advice, row, role)
            lines.append(line([code(name), *cells]))
        lines.append("")
    must, may = _sentences(results, compared, advice, code)
    lines += [f"- {sentence}" for sentence in (*must, *may)]
    return "\n".join(lines)


def picks(advice: Advice, steps: int = _STEPS) -> list[tuple[Row, str]]:
    """The strategies that decide, each with what it is; the cheapest first.

    Parameters
    ----------
    advice
        Of the comparison.
    steps
        How many steps of the front are among them at most.
    """
    comparison = advice.comparison
    roles: dict[str, list[str]] = {}
    advised = "within the margin"
    if advice.advised is not None:
        advised = "choose" if advice.shown else "best guess"
    played = comparison.row("as_recorded") if comparison.recorded else None
    for row, role in (
        (advice.sound, advised),
        (advice.cheapest, "cheapest"),
        (advice.keenest, "forgets least"),
        (None if advice.choices else advice.nearest, "nearest"),
        (advice.reference, "held against"),
        (played, "what was run"),
        (comparison.row("keep_none"), "yardstick"),
        (comparison.row("random_keep"), "yardstick"),
        *((row, "front") for row in advice.steps[:steps]),
    ):
        if row is not None and (role not in ("yardstick", "front") or row.spec not in roles):
            roles.setdefault(row.spec, []).append(role)
    return [(row, ", ".join(roles[row.spec])) for row in comparison.rows if row.spec in roles]


def _sentences(
    results: Results, compared: Sequence[Comparison], advice: Advice, name: Name = str
) -> tuple[list[str], list[str]]:
    """What must be said below the table, and what may be, what matters most first."""
    failed = len(results.failed)
    told = verdict(compared[0], name, advice)
    must = [
        _legend(advice),
        unfinished(results),
        f"{counted(failed, 'run')} failed; compactlab report names them." if failed else "",
        # What is advised, and how far that carries.
        *dict.fromkeys((told[0], told[-1])),
        *advised_alike(compared, name),
    ]
    may = [
        *ordered_alike(compared, name),
        *(_elsewhere(each, compared, name) for each in compared[1:]),
        *told[1:-1],
    ]
    return [sentence for sentence in must if sentence], may


def _elsewhere(comparison: Comparison, compared: Sequence[Comparison], name: Name) -> str:
    """What another comparison says, in a line."""
    advice = Advice(comparison)
    told = [
        f"{role} {name(row.label)}, {show(row.figures['cost_usd'], 'USD')} USD "
        f"({show(row.figures['amnesia_need'], 'share')} forgotten)"
        for row, role in picks(advice)
        if row.choice and not role.startswith("front")
    ]
    return f"{told_apart(comparison, compared, name)}: {'; '.join(told) or 'nothing to choose'}."


def _legend(advice: Advice) -> str:
    carried = "".join(marks(row) for row, _ in picks(advice))
    return "; ".join(f"{mark} {said}" for mark, said in _MARKS.items() if mark in carried)


def _heads(advice: Advice, name: Name = str) -> list[str]:
    reference = advice.reference
    return [head.format(name(reference.label) if reference else "all") for head in _HEADS]


def _cells(advice: Advice, row: Row, role: str) -> list[str]:
    cost, lost = advice.cost(row), advice.forgotten(row)
    figures = row.figures
    forgotten = show(figures["amnesia_need"], "share")
    if lost is not None and (span := signed_points(lost)):
        forgotten += f" ({span})"
    return [
        f"{row.label} {marks(row)}".strip(),
        role,
        show(figures["cost_usd"], "USD"),
        (signed(cost) if cost else "") or NONE,
        forgotten,
        show(figures["cost_with_rework_usd"], "USD"),
    ]


def _table(console: Console, advice: Advice, steps: int) -> list[str]:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    title = Text(capitalised(scope(advice.comparison)), style="bold")
    if not advice.comparison.rows:
        return _printed(console, title)
    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0))
    for number, head in enumerate(_heads(advice)):
        grid.add_column(Text(head), justify="left" if number < _LEFT else "right", overflow="fold")
    for row, role in picks(advice, steps):
        name, *cells = _cells(advice, row, role)
        style = "bold" if role.startswith(("choose", "best")) else "dim" if row.null else ""
        grid.add_row(Text(name, style=style), *map(Text, cells))
    return [*_printed(console, title), *_printed(console, grid)]
