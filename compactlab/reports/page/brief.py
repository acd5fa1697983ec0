"""The verdict in twenty lines: for a terminal, and for the comment on a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compactlab.reports.analysis.advice import Advice, advised_alike, ordered_alike
from compactlab.reports.analysis.columns import BREAKS, FAULTY, FUTURE, NULL, OVER, PLAYED, marks
from compactlab.reports.analysis.comparison import (
    ENOUGH,
    REJECTED,
    Comparison,
    Row,
    comparisons,
    scope,
    told_apart,
)
from compactlab.reports.analysis.strength import signed, signed_points
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
from compactlab.sim.experiment.results import Results

LINES = 20
# So many rows matter at most, besides those of the user's own; so few are all shown.
ROWS, FEW = 8, 12
# What is no terminal has no width; this is one that mail and logs have.
_WIDTH = 110
_HEADS = ("strategy", "role", "USD", "vs {}", "recall", "with recovery USD")
_CLOSED = "cost_with_recovery_usd"
# Where room is scarce, columns with a high rank go first.
_RANKS = (0, 1, 0, 0, 0, 2)
_LEFT = 2
_STEPS = 5
_LEADING = 3
_PLAIN = ("control", "Pareto front")
_MARKS = {
    OVER: "exceeds the context window on some calls",
    NULL: "control",
    FAULTY: "a provider would reject some calls",
    FUTURE: "sees future messages",
    BREAKS: f"breaks the rule {' and '.join(map(repr, REJECTED))}: providers may reject it",
    PLAYED: "as recorded",
}


def brief(results: Results) -> str:
    """Write the verdict for a terminal, in twenty lines.

    What is advised, and how far that carries, stands there in any case: a narrow terminal takes
    more lines, and so do strategies of the user's own. Of several comparisons the first is shown,
    and whether the others agree.
    """
    compared = comparisons(results)
    if not compared:
        return NOTHING
    advice = Advice(compared[0])
    sentences, may = _sentences(results, compared, advice)
    for steps in range(_STEPS, 1, -1):
        text = terminal.write(_document(advice, sentences, steps))
        if _fits(text):
            break
    for sentence in may:
        more = terminal.write(_document(advice, [*sentences, sentence], steps))
        if _fits(more):
            sentences, text = [*sentences, sentence], more
    return text


def brief_markdown(results: Results) -> str:
    """The same as GitHub's Markdown, with all its sentences."""
    compared = comparisons(results)
    if not compared:
        return NOTHING
    advice = Advice(compared[0])
    must, may = _sentences(results, compared, advice)
    return markdown.write(_document(advice, [*must, *may]))


def _fits(text: str) -> bool:
    return len(text.splitlines()) <= LINES


def _document(advice: Advice, lines: Sequence[str], steps: int = _STEPS) -> Document:
    comparison, reference = advice.comparison, advice.reference
    title = sentences([capitalised(scope(comparison, name))], "strong", bullets=False)
    against = name(reference.name) if reference else "all"
    # The last column is of the closed loop, which may not have been run.
    closed = any(row.figures[_CLOSED] is not None for row in comparison.rows)
    size = len(_HEADS) if closed else len(_HEADS) - 1
    heads = [
        Column(head.format(against), words=n < _LEFT, rank=_RANKS[n])
        for n, head in enumerate(_HEADS[:size])
    ]
    cells = [
        TableRow(tuple(_cells(advice, row, role)[:size]), _tone(row, role))
        for row, role in shown(advice, steps)
    ]
    table = Table(tuple(heads), tuple(cells))
    blocks: list[Block] = [title, table, sentences(lines)] if cells else [title, sentences(lines)]
    return Document(tuple(blocks), width=_WIDTH, dense=True)


def _tone(row: Row, role: str) -> Tone:
    return "strong" if role.startswith("choose") else "quiet" if row.control else ""


def shown(advice: Advice, steps: int = _STEPS) -> list[tuple[Row, str]]:
    """The rows of the verdict: all where there are few, else those that matter."""
    if len(advice.comparison.rows) > FEW:
        return picks(advice, steps)
    roles = {row.spec: role for row, role in picks(advice)}
    return [(row, roles.get(row.spec, "")) for row in advice.comparison.lines]


def picks(advice: Advice, steps: int = _STEPS) -> list[tuple[Row, str]]:
    """The rows that matter, each with what it is, the cheapest first.

    At most eight, of which so many are steps of the Pareto front; and all of the user's own.
    """
    comparison = advice.comparison
    roles: dict[str, list[str]] = {}
    for row, role in _roles(advice, steps):
        spec = comparison.line(row).spec if row else ""
        if row is None or (role in _PLAIN and spec in roles):
            continue
        if spec in roles or len(roles) < ROWS:
            roles.setdefault(spec, []).append(role)
    for row in comparison.rows:
        if row.own:
            roles[row.spec] = [*roles.get(row.spec, ()), "yours"]
    return [(row, ", ".join(roles[row.spec])) for row in comparison.lines if row.spec in roles]


def _roles(advice: Advice, steps: int) -> Iterator[tuple[Row | None, str]]:
    """What rows are, the most important first."""
    comparison = advice.comparison
    yield advice.advised, "choose"
    yield advice.reference, "reference"
    yield (comparison.row("as_recorded") if comparison.recorded else None), "as recorded"
    yield advice.cheapest, "cheapest"
    yield (
        advice.enough if advice.advised is None else None,
        f"cheapest \N{GREATER-THAN OR EQUAL TO}{ENOUGH:.0%}",
    )
    yield advice.knee, "knee"
    yield advice.best_recall, "highest recall"
    yield (None if advice.choices else advice.nearest), "nearest"
    yield comparison.row("keep_none"), "control"
    yield from ((row, "Pareto front") for row in _spread(advice, steps))


def _spread(advice: Advice, steps: int) -> list[Row]:
    """So many steps of the front: its ends, its knee, what recalls enough, and between these."""
    first = [advice.cheapest, advice.best_recall, advice.knee, advice.enough]
    chosen = [row for row in advice.steps if row in first]
    others = [row for row in advice.steps if row not in first]
    while others and len(chosen) < steps:
        far = max(others, key=lambda row: _gap(row, chosen))
        others.remove(far)
        chosen.append(far)
    return chosen


def _gap(row: Row, chosen: Sequence[Row]) -> float:
    """How far the recall of a row is from that of the nearest that is chosen."""
    return min((abs((row.recall or 0.0) - (each.recall or 0.0)) for each in chosen), default=0.0)


def _sentences(
    results: Results, compared: Sequence[Comparison], advice: Advice
) -> tuple[list[str], list[str]]:
    """What always stands below the table, and what may, the most important first."""
    failed = len(results.failed)
    in_legend = [*for_nothing(compared[0])]
    lines = [line for line in verdict(compared[0], advice) if line not in in_legend]
    rows, few = shown(advice), len(compared[0].rows) <= FEW
    must = [
        _legend(advice),
        unfinished(results),
        *inferred_models(compared[0]),
        f"{counted(failed, 'run')} failed; compactlab report names them." if failed else "",
        # The trade-off, the choice here, what is recommended, and how far that carries.
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
    """Another comparison in a line."""
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
        # Here and not in a sentence of its own: lines are few.
        made = row.value("compactions")
        meanings[PLAYED] += f"; the logs do not bill {number:,} of {made:,.0f} compactions"
    return "; ".join(f"{mark} {meaning}" for mark, meaning in meanings.items() if mark in carried)


def _cells(advice: Advice, row: Row, role: str) -> list[str]:
    cost, difference = advice.cost(row), advice.recalled(row)
    recall = show(row.recall, "share")
    if difference is not None and (span := signed_points(difference)):
        recall += f" ({span})"
    return [
        name(f"{row.label} {marks(row)}".strip()),
        role,
        show(row.figures["cost_usd"], "USD"),
        # What cannot be had saves nothing.
        (signed(cost) if cost and row.usable else "") or NONE,
        recall,
        show(row.figures[_CLOSED], "USD"),
    ]
