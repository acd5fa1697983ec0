"""Whether comparisons agree: under other models, and under other assumptions on summaries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from compactlab.reports.advice import COST, FORGOTTEN, Advice
from compactlab.reports.comparison import Comparison, Row
from compactlab.reports.scope import Name
from compactlab.reports.text import clean, counted, enumerated, listed

# So many are told one by one.
_LISTED = 4
# Rounded to this, figures are equal.
_DIGITS = 9
_NONE = "none"
_FIELDS = {"summarizer": "summariser", "model": "model"}
_ORDERS = ((COST, "the smaller bill"), (FORGOTTEN, "forgotten less of what is needed"))


@dataclass(frozen=True)
class Flip:
    """Two strategies whose order is not the same in all comparisons.

    Parameters
    ----------
    first, second
        Their labels.
    metric
        By which they were put in order.
    """

    first: str
    second: str
    metric: str


def flips(compared: Sequence[Comparison], metric: str) -> list[Flip]:
    """Pairs of usable strategies whose order by a metric turns round between comparisons.

    Parameters
    ----------
    compared
        At least two comparisons; strategies that are in all of them are looked at.
    metric
        Of the figures that are put in order.
    """
    found = []
    places = [{row.spec: row for row in each.rows if row.choice} for each in compared]
    shared = (
        [spec for spec in places[0] if all(spec in place for place in places)] if places else []
    )
    for one, other in combinations(shared, 2):
        signs = {_sign(place[one], place[other], metric) for place in places} - {0}
        if len(signs) > 1:
            first = places[0]
            found.append(Flip(first[one].label, first[other].label, metric))
    return found


def agreement(compared: Sequence[Comparison], name: Name = str) -> Iterator[str]:
    """Say whether the advice depends on the model, or on who writes the summaries.

    Parameters
    ----------
    compared
        All comparisons of a report.
    name
        Writes a name that comes from outside.
    """
    yield from advised_alike(compared, name)
    yield from ordered_alike(compared, name)


def advised_alike(compared: Sequence[Comparison], name: Name = str) -> Iterator[str]:
    """Say whether the same is advised, whatever was assumed: it belongs to what is advised.

    Parameters
    ----------
    compared
        All comparisons of a report.
    name
        Writes a name that comes from outside.
    """
    for field, noun in _FIELDS.items():
        for same in _varied(compared, field):
            advices = [Advice(each) for each in same]
            advised = _advised(advices, field, name)
            if len(advised) == 1:
                (best,) = advised
                shown = all(advice.shown for advice in advices)
                yield _same(best, counted(len(same), noun), shown=shown)
            elif field == "summarizer":
                # Who writes the summaries is an assumption: what turns round with it is not known.
                yield (
                    "Not determined, for it depends on who writes the summaries: "
                    f"{_told(advised)} would be advised."
                )
            else:
                # The model is a choice, and no assumption: what depends on it is said.
                yield f"It depends on the model: {_told(advised)} would be advised."


def ordered_alike(compared: Sequence[Comparison], name: Name = str) -> Iterator[str]:
    """Say of which strategies the order turns round.

    Parameters
    ----------
    compared
        All comparisons of a report.
    name
        Writes a name that comes from outside.
    """
    for field, noun in _FIELDS.items():
        for same, (metric, what) in product(_varied(compared, field), _ORDERS):
            if not (pairs := _pairs(same, metric, name)):
                continue
            if field == "summarizer":
                yield (
                    f"Not determined which has {what}, because it turns round between the "
                    f"{counted(len(same), noun)}: {pairs}."
                )
            else:
                yield f"Which has {what} depends on the model for {pairs}."


def _varied(compared: Sequence[Comparison], field: str) -> Iterator[list[Comparison]]:
    """Comparisons that differ in one thing alone, and are over the same conversations."""
    others = [each for each in ("model", "window", "summarizer") if each != field]
    groups: dict[object, list[Comparison]] = {}
    for each in compared:
        key = (frozenset(each.cases), *(getattr(each, other) for other in others))
        groups.setdefault(key, []).append(each)
    yield from (group for group in groups.values() if len(group) > 1)


def _advised(advices: Sequence[Advice], field: str, name: Name) -> dict[str, list[str]]:
    """Under which models, or summarisers, each strategy is advised."""
    advised: dict[str, list[str]] = {}
    for advice in advices:
        best = advice.advised
        said = name(best.label) if best else _NONE
        advised.setdefault(said, []).append(name(clean(getattr(advice.comparison, field))))
    return advised


def _same(best: str, number: str, *, shown: bool) -> str:
    if best == _NONE:
        return f"No strategy is advised under any of {number}."
    if not shown:
        return f"Under each of {number}, it would be the same: {best}."
    return f"Under each of {number}, the same is advised: {best}."


def _told(advised: dict[str, list[str]]) -> str:
    return listed([f"{best} under {listed(kinds)}" for best, kinds in advised.items()])


def _pairs(same: Sequence[Comparison], metric: str, name: Name) -> str:
    shown = [f"{name(pair.first)} or {name(pair.second)}" for pair in flips(same, metric)]
    return enumerated(shown, _LISTED) if shown else ""


def _sign(one: Row, other: Row, metric: str) -> int:
    ours, theirs = one.figures[metric], other.figures[metric]
    if ours is None or theirs is None:
        return 0
    difference = round(ours - theirs, _DIGITS)
    return (difference > 0) - (difference < 0)
