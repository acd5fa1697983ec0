"""What a comparison advises, how surely that is known, and whether it holds with other models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

from compactlab.reports.analysis.comparison import WHOLE, Comparison, Row
from compactlab.reports.analysis.contrast import MARGINS, Contrast, contrasts, reference_of
from compactlab.reports.render.document import name
from compactlab.reports.render.text import counted, enumerated, listed

COST, FORGOTTEN = "cost_usd", "amnesia_need"


@dataclass(frozen=True)
class Advice:
    """The strategies that a reader has to know of, picked by one rule.

    Advised is the cheapest choice that forgets no more than the reference, within the margin, if it
    costs no more either. That it does must be *shown* (non-inferiority); where no choice is shown
    to, the cheapest whose figure lies within the margin is named, and called not determined.

    Where nothing need be done, or where neither ``keep_all`` nor ``as_recorded`` is there to tell
    what forgets no more than it must, nothing is advised.
    """

    comparison: Comparison

    @cached_property
    def reference(self) -> Row | None:
        """What the others are compared with."""
        return reference_of(self.comparison)

    @property
    def no_reference(self) -> bool:
        """Whether nothing was run that forgets no more than it must."""
        return self.reference is None or self.reference.name not in WHOLE

    @cached_property
    def _against(self) -> Mapping[tuple[str, str], Contrast]:
        return contrasts(self.comparison, self.reference) if self.reference else {}

    def cost(self, row: Row) -> Contrast | None:
        """How its bill compares with that of the reference."""
        return self._against.get((row.spec, COST))

    def missed(self, row: Row) -> Contrast | None:
        """How its fact miss rate compares with that of the reference."""
        return self._against.get((row.spec, FORGOTTEN))

    @cached_property
    def choices(self) -> list[Row]:
        """What one could use, the cheapest first."""
        return [row for row in self.comparison.rows if row.choice]

    @property
    def cheapest(self) -> Row | None:
        """The cheapest choice, whatever it misses."""
        return self.choices[0] if self.choices else None

    @cached_property
    def best_recall(self) -> Row | None:
        """The cheapest choice with the lowest fact miss rate, to a tenth of a point."""
        known = [row for row in self.choices if row.recall is not None]
        return min(known, key=lambda row: round(row.value(FORGOTTEN), 3), default=None)

    @cached_property
    def steps(self) -> list[Row]:
        """The Pareto front; of equal fact miss rates, to a tenth of a point, the cheapest."""
        by_share: dict[float, Row] = {}
        for row in self.comparison.front:
            by_share.setdefault(round(row.value(FORGOTTEN), 3), row)
        return list(by_share.values())

    @cached_property
    def _safe(self) -> list[Row]:
        """Choices that are shown to forget no more than the reference, within the margin."""
        matches = [row for row in self.choices if (c := self.missed(row)) and c.no_worse]
        return [] if self.no_reference else matches

    @property
    def shown(self) -> bool:
        """Whether what is advised is shown to forget no more."""
        return self.sound in self._safe

    @cached_property
    def sound(self) -> Row | None:
        """The cheapest choice that forgets no more than the reference, within the margin."""
        if self._safe:
            return self._safe[0]
        return next((row for row in self.choices if self._within(row)), None)

    @property
    def advised(self) -> Row | None:
        """The same, if it costs no more than the reference: else it is a trade, and no advice."""
        best, reference = self.sound, self.reference
        if best is None or reference is None or self.idle is not None:
            return None
        return best if best.value(COST) <= reference.value(COST) else None

    @cached_property
    def idle(self) -> Row | None:
        """Who kept everything, or never acted, and costs no more than the cheapest choice.

        It has to be usable; where there is one, nothing need be done.
        """
        best, keep_all = self.cheapest, self.comparison.row("keep_all")
        rows = [*([keep_all] if keep_all else []), *self.comparison.rows]
        still = (
            row
            for row in rows
            if row is keep_all or not (row.control or row.as_recorded or row.acted)
        )
        sound = (row for row in still if row.usable)
        return next((r for r in sound if best and r.value(COST) <= best.value(COST)), None)

    @property
    def nearest(self) -> Row | None:
        """Without a choice: the valid candidate with the fewest calls that exceed the window."""
        rows = (row for row in self.comparison.rows if not (row.control or row.as_recorded))
        sound = [row for row in rows if not (row.faulty or row.sees_future)]
        return min(sound, key=lambda row: (row.value("over_window"), row.value(COST)), default=None)

    def _within(self, row: Row) -> bool:
        contrast = self.missed(row)
        if self.no_reference or contrast is None or contrast.estimate is None:
            return row.recall is None  # Nothing is needed, so nothing can be forgotten.
        return round(contrast.estimate, 9) <= MARGINS[FORGOTTEN]

    @cached_property
    def alike(self) -> list[tuple[Row, Contrast]]:
        """Choices as sound as the advised one, at a cost that does not differ significantly."""
        best = self.advised
        if best is None:
            return []
        against_best = contrasts(self.comparison, best, (COST,))
        others = [row for row in self.choices if row is not best and self._as_sound(row)]
        pairs = [(row, against_best[row.spec, COST]) for row in others]
        return [(row, contrast) for row, contrast in pairs if not contrast.determined]

    def _as_sound(self, row: Row) -> bool:
        return row in self._safe if self.shown else self._within(row)


# Whether comparisons agree: under other models, and under other assumptions on summaries.

# So many are told one by one.
_LISTED = 4
# Rounded to this, figures are equal.
_DIGITS = 9
_NONE = "none"
_FIELDS = {"summarizer": "summariser", "model": "model"}
_ORDERS = ((COST, "is cheaper"), (FORGOTTEN, "has the lower fact miss rate"))


def flips(compared: Sequence[Comparison], metric: str) -> list[tuple[str, str]]:
    """Labels of pairs of usable strategies whose order by a metric reverses."""
    reversals = []
    places = [{row.spec: row for row in each.rows if row.choice} for each in compared]
    shared = (
        [spec for spec in places[0] if all(spec in place for place in places)] if places else []
    )
    for one, other in combinations(shared, 2):
        signs = {_sign(place[one], place[other], metric) for place in places} - {0}
        if len(signs) > 1:
            first = places[0]
            reversals.append((first[one].label, first[other].label))
    return reversals


def agreement(compared: Sequence[Comparison]) -> Iterator[str]:
    """Say whether the advice depends on the model, or on who writes the summaries."""
    yield from advised_alike(compared)
    yield from ordered_alike(compared)


def advised_alike(compared: Sequence[Comparison]) -> Iterator[str]:
    """Say whether the same is advised, whatever was assumed: it belongs to what is advised."""
    for field, noun in _FIELDS.items():
        for same in _varied(compared, field):
            advices = [Advice(each) for each in same]
            advised = _advised(advices, field)
            if len(advised) == 1:
                (best,) = advised
                shown = all(advice.shown for advice in advices)
                yield _same(best, counted(len(same), noun), shown=shown)
            elif field == "summarizer":
                # Who writes the summaries is an assumption: what reverses with it is not known.
                yield (
                    "Which strategy to choose depends on the summariser, so it is not decided: "
                    f"{_by_condition(advised)}."
                )
            else:
                # The model is a choice, and no assumption: what depends on it is said.
                yield f"Which strategy to choose depends on the model: {_by_condition(advised)}."


def ordered_alike(compared: Sequence[Comparison]) -> Iterator[str]:
    """Say of which strategies the order reverses."""
    for field in _FIELDS:
        for same, (metric, what) in product(_varied(compared, field), _ORDERS):
            if not (pairs := _pairs(same, metric)):
                continue
            if field == "summarizer":
                yield f"Which one {what} depends on the summariser, so it is not decided: {pairs}."
            else:
                yield f"Which one {what} depends on the model: {pairs}."


def _varied(compared: Sequence[Comparison], field: str) -> Iterator[list[Comparison]]:
    """Comparisons that differ in one thing alone, and are over the same conversations."""
    others = [each for each in ("model", "window", "summarizer") if each != field]
    groups: dict[object, list[Comparison]] = {}
    for each in compared:
        key = (frozenset(each.cases), *(getattr(each, other) for other in others))
        groups.setdefault(key, []).append(each)
    yield from (group for group in groups.values() if len(group) > 1)


def _advised(advices: Sequence[Advice], field: str) -> dict[str, list[str]]:
    """Under which models, or summarisers, each strategy is advised."""
    advised: dict[str, list[str]] = {}
    for advice in advices:
        best = advice.advised
        label = name(best.label) if best else _NONE
        advised.setdefault(label, []).append(name(getattr(advice.comparison, field)))
    return advised


def _same(best: str, number: str, *, shown: bool) -> str:
    if best == _NONE:
        return f"No strategy is recommended with any of {number}."
    if not shown:
        return f"In these conversations, the choice is the same with each of {number}: {best}."
    return f"The recommended strategy is the same with each of {number}: {best}."


def _by_condition(advised: dict[str, list[str]]) -> str:
    return listed([f"{best} with {listed(kinds)}" for best, kinds in advised.items()])


def _pairs(same: Sequence[Comparison], metric: str) -> str:
    shown = [f"{name(one)} or {name(other)}" for one, other in flips(same, metric)]
    return enumerated(shown, _LISTED) if shown else ""


def _sign(one: Row, other: Row, metric: str) -> int:
    ours, theirs = one.figures[metric], other.figures[metric]
    if ours is None or theirs is None:
        return 0
    difference = round(ours - theirs, _DIGITS)
    return (difference > 0) - (difference < 0)
