"""The verdict in twenty lines: for a terminal, and for the comment on a pull request."""

from __future__ import annotations

from collections.abc import Sequence

from compactlab.reports.analysis.advice import Advice, advised_alike, ordered_alike
from compactlab.reports.analysis.columns import BREAKS, FAULTY, FUTURE, NULL, OVER, PLAYED, marks
from compactlab.reports.analysis.comparison import (
    REJECTED,
    Comparison,
    Row,
    comparisons,
    scope,
    told_apart,
)
from compactlab.reports.analysis.strength import signed, signed_points
from compactlab.reports.page.notes import NOTHING, capped, unfinished, unused
from compactlab.reports.page.verdict import recorded, verdict
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
# What is no terminal has no width; this is one that mail and logs have.
_WIDTH = 110
_HEADS = ("strategy", "", "USD", "vs {}", "recall", "with recovery USD")
_LEFT = 2
_STEPS = 5
_MARKS = {
    OVER: "exceeds the context window on some calls",
    NULL: "control",
    FAULTY: "a provider would reject some calls",
    FUTURE: "sees future messages",
    BREAKS: f"breaks the rule {' and '.join(map(repr, REJECTED))}: providers may reject it",
    PLAYED: "as recorded, without the cost of summaries",
}


def brief(results: Results) -> str:
    """Write the verdict for a terminal, in twenty lines.

    What is advised, and how far that carries, stands there in any case: a narrow terminal takes
    more lines. Of several comparisons the first is shown, and whether the others agree.
    """
    compared = comparisons(results)
    if not compared:
        return NOTHING
    advice = Advice(compared[0])
    sentences, may = _sentences(results, compared, advice)
    for steps in range(_STEPS, -1, -1):
        text = terminal.write(_document(advice, steps, sentences))
        if _fits(text):
            break
    for sentence in may:
        more = terminal.write(_document(advice, steps, [*sentences, sentence]))
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
    return markdown.write(_document(advice, _STEPS, [*must, *may]))


def _fits(text: str) -> bool:
    return len(text.splitlines()) <= LINES


def _document(advice: Advice, steps: int, lines: Sequence[str]) -> Document:
    comparison, reference = advice.comparison, advice.reference
    title = sentences([capitalised(scope(comparison, name))], "strong", bullets=False)
    against = name(reference.label) if reference else "all"
    heads = [Column(head.format(against), words=n < _LEFT) for n, head in enumerate(_HEADS)]
    chosen = picks(advice, steps)
    cells = [TableRow(tuple(_cells(advice, row, role)), _tone(row, role)) for row, role in chosen]
    table = Table(tuple(heads), tuple(cells))
    blocks: list[Block] = [title, table, sentences(lines)] if cells else [title, sentences(lines)]
    return Document(tuple(blocks), width=_WIDTH, dense=True)


def _tone(row: Row, role: str) -> Tone:
    return "strong" if role.startswith("choose") else "quiet" if row.control else ""


def picks(advice: Advice, steps: int = _STEPS) -> list[tuple[Row, str]]:
    """The strategies that decide, each with what it is; the cheapest first."""
    comparison = advice.comparison
    roles: dict[str, list[str]] = {}
    played = comparison.row("as_recorded") if comparison.recorded else None
    for row, role in (
        (advice.advised, "choose"),
        (advice.cheapest, "cheapest"),
        (advice.best_recall, "highest recall"),
        (None if advice.choices else advice.nearest, "nearest"),
        (advice.reference, "reference"),
        (played, "as recorded"),
        (comparison.row("keep_none"), "control"),
        (comparison.row("random_keep"), "control"),
        *((row, "Pareto front") for row in advice.steps[:steps]),
    ):
        if row is not None and (role not in ("control", "Pareto front") or row.spec not in roles):
            roles.setdefault(row.spec, []).append(role)
    return [(row, ", ".join(roles[row.spec])) for row in comparison.rows if row.spec in roles]


def _sentences(
    results: Results, compared: Sequence[Comparison], advice: Advice
) -> tuple[list[str], list[str]]:
    """What always stands below the table, and what may, the most important first."""
    failed = len(results.failed)
    lines = verdict(compared[0], advice)
    must = [
        _legend(advice),
        unfinished(results),
        f"{counted(failed, 'run')} failed; compactlab report names them." if failed else "",
        # The trade-off, what is recommended, and how far that carries.
        *dict.fromkeys((*lines[:2], *recorded(compared[0]), lines[-1])),
        *advised_alike(compared),
    ]
    may = [
        *unused(compared[0]),
        *ordered_alike(compared),
        *(_other(each, compared) for each in compared[1:]),
        *(line for line in lines[2:-1] if line not in must),
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
    carried = "".join(marks(row) for row, _ in picks(advice))
    return "; ".join(f"{mark} {meaning}" for mark, meaning in _MARKS.items() if mark in carried)


def _cells(advice: Advice, row: Row, role: str) -> list[str]:
    cost, difference = advice.cost(row), advice.recalled(row)
    recall = show(row.recall, "share")
    if difference is not None and (span := signed_points(difference)):
        recall += f" ({span})"
    return [
        name(f"{row.label} {marks(row)}".strip()),
        role,
        show(row.figures["cost_usd"], "USD"),
        (signed(cost) if cost else "") or NONE,
        recall,
        show(row.figures["cost_with_recovery_usd"], "USD"),
    ]
