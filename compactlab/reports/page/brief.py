"""The verdict in about thirty lines, for a terminal or a comment on a pull request."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from compactlab.reports.analysis.advice import Advice, advised_alike, ordered_alike
from compactlab.reports.analysis.columns import (
    BREAKS,
    DOUBT,
    FAULTY,
    OVER,
    PLAYED,
    against,
    marks,
    recall_head,
)
from compactlab.reports.analysis.comparison import ENOUGH, REJECTED, Comparison, Row, comparisons
from compactlab.reports.analysis.scope import scope, told_apart
from compactlab.reports.analysis.strength import points, signed
from compactlab.reports.page.bounds import bounds
from compactlab.reports.page.notes import (
    NOTHING,
    capped,
    inferred_models,
    unfinished,
    unusable,
    unused,
)
from compactlab.reports.page.verdict import for_nothing, recorded, unpaid, verdict
from compactlab.reports.render import markdown, terminal
from compactlab.reports.render.document import (
    Block,
    Column,
    Document,
    Table,
    TableRow,
    Tone,
    name,
    sentences,
)
from compactlab.reports.render.text import NONE, capitalised, counted, show
from compactlab.sim.store.results import Results

LINES = 32
# The maximum number of rows, besides the user's own; up to FEW strategies are all shown.
ROWS, FEW = 8, 20
# The width where the output is no terminal, such as mail and logs.
_WIDTH = 110
POINTS, _RECOVERED = "Δ recall, points", "with recovery USD"
_CLOSED = "cost_with_recovery_usd"
_STEPS = 3
_LEADING = 3
_PLAIN = "Pareto front"
_MARKS = {
    OVER: "exceeds the context window on some calls",
    FAULTY: "a provider would reject some calls",
    DOUBT: "not known whether a provider would reject calls",
    BREAKS: f"breaks the rule {' and '.join(map(repr, REJECTED))}: providers may reject it",
    PLAYED: "as recorded",
}


def brief(results: Results) -> str:
    """Write the verdict for a terminal, in some thirty lines.

    The recommendation and its significance are always shown. A narrow terminal and the user's own
    strategies need more lines. Of several comparisons it shows the first, and whether the others
    agree.
    """
    compared = comparisons(results)
    if not compared:
        return NOTHING
    advice = Advice(compared[0])
    sentences, may = _sentences(results, compared, advice)
    text = terminal.write(_document(advice, sentences))
    for sentence in may:
        more = terminal.write(_document(advice, [*sentences, sentence]))
        if _fits(more):
            sentences, text = [*sentences, sentence], more
    return text


def brief_markdown(results: Results) -> str:
    """The verdict in GitHub's Markdown, with all its sentences."""
    compared = comparisons(results)
    if not compared:
        return NOTHING
    advice = Advice(compared[0])
    must, may = _sentences(results, compared, advice)
    return markdown.write(_document(advice, [*must, *may]))


def _fits(text: str) -> bool:
    return len(text.splitlines()) <= LINES


def _document(advice: Advice, lines: Sequence[str]) -> Document:
    title = sentences([capitalised(scope(advice.comparison, name))], "strong", bullets=False)
    heads = _columns(advice)
    cells = [
        TableRow(tuple(_cells(advice, row, role)[n] for n in heads), _tone(role))
        for row, role in shown(advice)
    ]
    table = Table(tuple(heads.values()), tuple(cells))
    blocks: list[Block] = [title, table, sentences(lines)] if cells else [title, sentences(lines)]
    return Document(tuple(blocks), width=_WIDTH, dense=True)


def _columns(advice: Advice) -> dict[int, Column]:
    """The columns with information, by index; high ranks are dropped first to save space."""
    comparison, rows = advice.comparison, advice.comparison.rows
    than = name(against(comparison))
    columns = (
        (True, Column("strategy", words=True)),
        (True, Column("role", words=True, rank=1)),
        (True, Column("USD")),
        (advice.reference is not None, Column(f"vs {than}")),
        (True, Column(recall_head(comparison))),
        (any(advice.recalled(row) for row in rows), Column(POINTS, rank=1)),
        # Only if the closed loop was run.
        (any(row.figures[_CLOSED] is not None for row in rows), Column(_RECOVERED, rank=2)),
    )
    return {n: column for n, (there, column) in enumerate(columns) if there}


def _tone(role: str) -> Tone:
    return "strong" if role.startswith("choose") else ""


def shown(advice: Advice) -> list[tuple[Row, str]]:
    """The rows of the verdict, also on the page: all if they are few, else those that matter."""
    chosen = picks(advice)
    if len(advice.comparison.strategies) <= FEW:
        roles = {row.spec: role for row, role in chosen}
        lines = (row for row in advice.comparison.lines if not row.bound)
        chosen = [(row, roles.get(row.spec, "")) for row in lines]
    wrote = _clients(advice.comparison)
    # A row of equal strategies has all their names.
    return sorted(chosen, key=lambda each: wrote.isdisjoint(map(_word, each[0].label.split(", "))))


def _word(name: str) -> str:
    return re.split("[-_]", name)[0]


def _clients(comparison: Comparison) -> set[str]:
    """The first words of the names of the clients that wrote the logs.

    Users look first for the row of their own client. Formats are named like it: ``claude-code``.
    """
    if not comparison.recorded:
        return set()
    return {_word(run.scenario) for row in comparison.rows for run in row.runs}


def picks(advice: Advice) -> list[tuple[Row, str]]:
    """The rows that matter with their roles, the cheapest first; bounds are not among them.

    At most eight, including points of the Pareto front; and all of the user's own.
    """
    comparison = advice.comparison
    roles: dict[str, list[str]] = {}
    for row, role in _roles(advice):
        if row is None or row not in comparison.strategies:
            continue
        spec = comparison.line(row).spec
        if role == _PLAIN and spec in roles:
            continue
        if spec in roles or len(roles) < ROWS:
            roles.setdefault(spec, []).append(role)
    for row in comparison.rows:
        if row.own:
            roles[row.spec] = [*roles.get(row.spec, ()), "yours"]
    return [(row, ", ".join(roles[row.spec])) for row in comparison.lines if row.spec in roles]


def _roles(advice: Advice) -> Iterator[tuple[Row | None, str]]:
    """The roles of rows, the most important first."""
    comparison, rows = advice.comparison, advice.comparison.strategies
    enough = f"\N{GREATER-THAN OR EQUAL TO}{ENOUGH:.0%}"
    remembering = [row for row in rows if (row.recall or 0.0) >= ENOUGH]
    yield advice.advised, "choose"
    yield advice.reference, "reference"
    yield (comparison.row("as_recorded") if comparison.recorded else None), "as recorded"
    yield advice.cheapest, _of_usable(advice, "cheapest", _cost, advice.cheapest, rows)
    if advice.advised is None:
        role = f"cheapest {enough}"
        yield advice.enough, _of_usable(advice, role, _cost, advice.enough, remembering)
    yield advice.knee, "knee"
    best = advice.best_recall
    yield best, _of_usable(advice, "highest recall", _missed, best, rows)
    yield (None if advice.choices else advice.nearest), "nearest"
    yield from ((row, _PLAIN) for row in _spread(advice, _STEPS))


def _of_usable(
    advice: Advice, role: str, least: Callable[[Row], float], row: Row | None, rows: Sequence[Row]
) -> str:
    """A role; if a row that is not usable beats it, the role says "of N usable"."""
    if row is None or all(least(each) >= least(row) for each in rows):
        return role
    return f"{role} of {len(advice.choices)} usable"


def _cost(row: Row) -> float:
    return row.value("cost_usd")


def _missed(row: Row) -> float:
    return -round(row.recall or 0.0, 3)


def _spread(advice: Advice, steps: int) -> list[Row]:
    """Up to ``steps`` rows of the front: ends, knee, sufficient recall, then the largest gaps."""
    first = [advice.cheapest, advice.best_recall, advice.knee, advice.enough]
    chosen = [row for row in advice.steps if row in first]
    others = [row for row in advice.steps if row not in first]
    while others and len(chosen) < steps:
        far = max(others, key=lambda row: _gap(row, chosen))
        others.remove(far)
        chosen.append(far)
    return chosen


def _gap(row: Row, chosen: Sequence[Row]) -> float:
    """The distance of a row's recall from the nearest chosen one."""
    return min((abs((row.recall or 0.0) - (each.recall or 0.0)) for each in chosen), default=0.0)


def _sentences(
    results: Results, compared: Sequence[Comparison], advice: Advice
) -> tuple[list[str], list[str]]:
    """Sentences that are always below the table, and optional ones, the most important first."""
    failed = len(results.failed)
    in_legend = [*for_nothing(compared[0])]
    lines = [line for line in verdict(compared[0], advice) if line not in in_legend]
    rows, few = shown(advice), len(compared[0].strategies) <= FEW
    must = [
        _legend(advice),
        *bounds(compared[0]),
        unfinished(results),
        *inferred_models(compared[0]),
        f"{counted(failed, 'run')} failed; compactlab report names them." if failed else "",
        # The trade-off, the choice here, the recommendation and its significance.
        *dict.fromkeys((*lines[:_LEADING], *recorded(compared[0]), lines[-1])),
        *unusable([row for row, _ in rows if row.own or few]),
        *advised_alike(compared),
    ]
    may = [
        *lines[_LEADING:-1][:1],
        *unusable([row for row, _ in rows if not (row.own or few)]),
        *unused(compared[0]),
        *ordered_alike(compared),
        *(_other(each, compared) for each in compared[1:]),
        *(line for line in lines[_LEADING + 1 : -1] if line not in must),
        *capped(compared[0]),
    ]
    return [sentence for sentence in must if sentence], may


def _other(comparison: Comparison, compared: Sequence[Comparison]) -> str:
    """Another comparison in one line."""
    advice = Advice(comparison)
    parts = [
        f"{role} {name(row.label)}, {show(row.figures['cost_usd'], 'USD')} USD "
        f"(recall {show(row.recall, 'share')})"
        for row, role in picks(advice)
        if row.choice and not role.startswith("Pareto front")
    ]
    return f"{told_apart(comparison, compared, name)}: {'; '.join(parts) or 'no usable strategy'}."


def _legend(advice: Advice) -> str:
    carried = "".join(marks(row) for row, _ in shown(advice))
    meanings = dict(_MARKS)
    row = advice.comparison.row("as_recorded")
    if row is not None and (number := unpaid(row)):
        # In the same line, because lines are few.
        made = row.value("compactions")
        meanings[PLAYED] += f"; the logs do not bill {number:,} of {made:,.0f} compactions"
    return "; ".join(f"{mark} {meaning}" for mark, meaning in meanings.items() if mark in carried)


def _cells(advice: Advice, row: Row, role: str) -> list[str]:
    cost = advice.cost(row)
    return [
        name(f"{row.label} {marks(row)}".strip()),
        role,
        show(row.figures["cost_usd"], "USD"),
        # A strategy that is not usable saves nothing.
        (signed(cost) if cost and row.usable else "") or NONE,
        show(row.recall, "share"),
        points(advice.recalled(row)) or NONE,
        show(row.figures[_CLOSED], "USD"),
    ]
