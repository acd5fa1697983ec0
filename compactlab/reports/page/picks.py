"""The rows that matter of a comparison, and their roles."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from compactlab.reports.analysis.advice import Advice
from compactlab.reports.analysis.comparison import ENOUGH, Comparison, Row

# The maximum number of rows, besides the user's own; up to FEW strategies are all shown.
ROWS, FEW = 8, 20
# The role of the rows of the clients that wrote the logs, which come first.
WROTE = "the logs' client"
# How many points of the Pareto front are shown.
_STEPS = 3


def shown(advice: Advice) -> list[tuple[Row, str]]:
    """The rows of the verdict, also on the page: all if they are few, else those that matter."""
    chosen = picks(advice)
    if len(advice.comparison.strategies) <= FEW:
        roles = {row.spec: role for row, role in chosen}
        lines = (row for row in advice.comparison.lines if not row.bound)
        chosen = [(row, roles.get(row.spec, "")) for row in lines]
    clients = _clients(advice.comparison)

    def wrote(row: Row) -> bool:
        # A row of equal strategies has all their names.
        return not clients.isdisjoint(map(_word, row.label.split(", ")))

    told = [(row, ", ".join(filter(None, (role, WROTE)))) for row, role in chosen if wrote(row)]
    return told + [each for each in chosen if not wrote(each[0])]


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

    At most eight, including points of the Pareto front, which have no role; and all of the user's
    own.
    """
    comparison = advice.comparison
    roles: dict[str, list[str]] = {}
    for row, role in _roles(advice):
        if row is None or row not in comparison.strategies:
            continue
        spec = comparison.line(row).spec
        if not role and spec in roles:
            continue
        if spec in roles or len(roles) < ROWS:
            roles.setdefault(spec, []).append(role)
    for row in comparison.rows:
        if row.own:
            roles[row.spec] = [*roles.get(row.spec, ()), "yours"]
    return [
        (row, ", ".join(filter(None, roles[row.spec])))
        for row in comparison.lines
        if row.spec in roles
    ]


def _roles(advice: Advice) -> Iterator[tuple[Row | None, str]]:
    """The roles of rows, the most important first."""
    comparison, rows = advice.comparison, advice.comparison.strategies
    enough = f"\N{GREATER-THAN OR EQUAL TO}{ENOUGH:.0%}"
    remembering = [row for row in rows if (row.recall or 0.0) >= ENOUGH]
    yield advice.advised, "choose"
    yield advice.reference, "reference"
    yield (comparison.row("as_recorded") if comparison.recorded else None), "as recorded"
    yield advice.cheapest, of_usable(advice, "cheapest", cost, advice.cheapest, rows)
    if advice.advised is None:
        role = f"cheapest {enough}"
        yield advice.enough, of_usable(advice, role, cost, advice.enough, remembering)
    yield advice.knee, ""
    best = advice.best_recall
    yield best, of_usable(advice, "highest recall", missed, best, rows)
    yield (None if advice.choices else advice.nearest), "nearest"
    yield from ((row, "") for row in _spread(advice, _STEPS))


def of_usable(
    advice: Advice, role: str, least: Callable[[Row], float], row: Row | None, rows: Sequence[Row]
) -> str:
    """A role; if a row that is not usable beats it, the role says "of N usable"."""
    if row is None or all(least(each) >= least(row) for each in rows):
        return role
    return f"{role} of {len(advice.choices)} usable"


def cost(row: Row) -> float:
    """The cost, by which a row is the cheapest."""
    return row.value("cost_usd")


def missed(row: Row) -> float:
    """The recall to a tenth of a point, negative: the least is the highest recall."""
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
