"""The recommendation of a comparison, its significance, and whether it holds under other models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

import numpy as np

from compactlab.reports.analysis.betting import p_at_least
from compactlab.reports.analysis.comparison import ENOUGH, Comparison, Row
from compactlab.reports.analysis.contrast import Contrast, contrasts
from compactlab.reports.analysis.preservation import Preservation, preservation
from compactlab.reports.analysis.significance import ALPHA, holm
from compactlab.reports.analysis.trade_off import knee
from compactlab.reports.render.document import name
from compactlab.reports.render.text import counted, enumerated, listed

COST = "cost_usd"

# The share of the exposed facts that summaries have to preserve. Half of it is usual in trials that
# show that a drug keeps the effect of another (ICH E10).
PRESERVED = 0.5
# If even an oracle's summaries preserve less, the strategy loses the facts, not the summary.
CEILING = 0.8


@dataclass(frozen=True)
class Advice:
    """The reference, the usable strategies and the recommendation of a comparison.

    The reference is a cost that a user can have (:attr:`~.comparison.Comparison.reference`). The
    rule recommends the cheapest choice that costs no more than the reference and that significantly
    recalls at least :data:`~.comparison.ENOUGH` at the distance. If it summarises, its summaries
    must also significantly preserve half of what summaries without content lose. Otherwise these
    conversations cannot distinguish good summaries from empty ones. Both tests hold for any
    distribution of losses (:mod:`.betting`), and Holm's correction over choices limits wrong
    recommendations to one comparison in forty.

    Nothing is recommended if needs are inferred, if no null summariser or no ``keep_none`` was run
    as a control, or if nothing needs to be done.

    Bounds and dominated strategies do not change the recommendation. They only make it less
    certain. A bound that was not run counts as unknown.
    """

    comparison: Comparison

    @property
    def reference(self) -> Row | None:
        """The row that the others are compared with; it exists if there is a choice."""
        return self.comparison.reference

    @cached_property
    def _against(self) -> Mapping[tuple[str, str], Contrast]:
        return contrasts(self.comparison, self.reference) if self.reference else {}

    def cost(self, row: Row) -> Contrast | None:
        """The contrast of the row's bill with that of the reference."""
        return self._against.get((row.spec, COST))

    def recalled(self, row: Row) -> Contrast | None:
        """The contrast of the row's recall with that of the reference."""
        return self._against.get((row.spec, self.comparison.headline))

    def memory(self, row: Row) -> Preservation:
        """The row's recall at the distance, and what its summaries preserve."""
        if row.spec not in self._memories:
            self._memories[row.spec] = preservation(self.comparison, row)
        return self._memories[row.spec]

    @cached_property
    def _memories(self) -> dict[str, Preservation]:
        return {}

    @cached_property
    def choices(self) -> list[Row]:
        """The usable strategies, the cheapest first."""
        return list(self.comparison.choices)

    @property
    def cheapest(self) -> Row | None:
        """The cheapest choice, whatever it misses."""
        return self.choices[0] if self.choices else None

    @cached_property
    def best_recall(self) -> Row | None:
        """The cheapest choice with the highest recall, to a tenth of a point.

        None if recall is unknown, or the same under all choices.
        """
        if self.silent == "controls":
            return None
        shares = {row.spec: round(row.recall, 3) for row in self.choices if row.recall is not None}
        known = [row for row in self.choices if row.spec in shares]
        return max(known, key=lambda r: shares[r.spec]) if len({*shares.values()}) > 1 else None

    @cached_property
    def steps(self) -> list[Row]:
        """The Pareto front; of equal recall (to a tenth of a point) only the cheapest."""
        if self.silent == "controls":
            return []
        by_share: dict[float, Row] = {}
        for row in self.comparison.front:
            by_share.setdefault(round(row.recall or 0.0, 3), row)
        return list(by_share.values())

    @cached_property
    def knee(self) -> Row | None:
        """The knee of the Pareto front: the point farthest below the line of its ends, if any."""
        costs = [row.value(COST) for row in self.steps]
        index = knee(costs, [1 - (row.recall or 0.0) for row in self.steps]) if costs else None
        return None if index is None else self.steps[index]

    @cached_property
    def enough(self) -> Row | None:
        """The cheapest choice whose recall, untested, is high enough in these conversations.

        None if no choice's recall is, and if these conversations cannot show recall.
        """
        if self.silent not in ("", "few"):
            return None
        return next((row for row in self.choices if (row.recall or 0.0) >= ENOUGH), None)

    # The rule.

    @cached_property
    def silent(self) -> str:
        """Why these conversations cannot show recall; empty if they can."""
        comparison = self.comparison
        known = any(row.recall is not None for row in comparison.rows)
        if not (known and any(self.memory(row).conversations for row in comparison.rows)):
            return "early"
        if not any(self.memory(row).exposure for row in self.choices):
            return "controls"
        if self.inferred:
            return "inferred"
        if self._forgetful is None:
            return "null"
        if "keep_all" in comparison.unknown or self.reference is None:
            return "bounds"
        return "" if self.conversations >= self.needed else "few"

    @cached_property
    def inferred(self) -> bool:
        """Whether needs are inferred from what recorded agents did."""
        return any(run.labels == "inferred" for row in self.comparison.rows for run in row.runs)

    @cached_property
    def conversations(self) -> int:
        """How many conversations have needs at the distance of the comparison."""
        return max((self.memory(row).conversations for row in self.comparison.rows), default=0)

    @cached_property
    def needed(self) -> int:
        """The number of conversations that a choice without misses needs to be recommended."""
        number = 1
        while len(self.choices) * p_at_least(np.zeros(number), 1 - ENOUGH) > ALPHA:
            number += 1
        return number

    @cached_property
    def _forgetful(self) -> Row | None:
        """The null strategy, if its recall is below the required one."""
        null = self.comparison.row("keep_none")
        return null if null and null.recall is not None and null.recall < ENOUGH else None

    def p(self, row: Row) -> float:
        """The p value, before Holm, of the claim that the choice recalls too little."""
        memory = self.memory(row)
        recalls = memory.p_recalls(ENOUGH)
        return max(recalls, memory.p_preserves(PRESERVED)) if row.summarises else recalls

    @cached_property
    def proven(self) -> list[Row]:
        """Choices that significantly recall enough, the cheapest first."""
        if self.silent:
            return []
        chances = holm([self.p(row) for row in self.choices])
        pairs = zip(self.choices, chances, strict=True)
        return [row for row, p in pairs if p is not None and p <= ALPHA]

    @property
    def advised(self) -> Row | None:
        """The cheapest proven choice, if it costs no more than the reference.

        The number of compared strategies does not change which one it is, only whether it is
        certain. It is the cheapest undominated choice that recalls enough if tested alone.
        """
        best, reference = self._candidate, self.reference
        if best not in self.proven or best is None or reference is None or self.idle is not None:
            return None
        return best if self.no_more_expensive(best, reference) else None

    @cached_property
    def _candidate(self) -> Row | None:
        front = (row for row in self.choices if not self.comparison.dominated(row))
        return next((row for row in front if self.p(row) <= ALPHA), None)

    def no_more_expensive(self, row: Row, other: Row) -> bool:
        """Whether a cost is no higher than another, within the precision of the replay."""
        return row.value(COST) <= other.value(COST) * (1 + self.comparison.deviation)

    def limited(self, row: Row) -> bool:
        """Whether even an oracle's summaries preserve too little: the strategy loses the facts."""
        preserved = row.figures["preserved_oracle"]
        return preserved is not None and preserved < CEILING

    @cached_property
    def idle(self) -> Row | None:
        """A usable strategy that kept everything or never acted, and costs no more than any choice.

        If there is one, nothing needs to be done.
        """
        best, keep_all = self.cheapest, self.comparison.row("keep_all")
        if "keep_all" in self.comparison.unknown:
            return None
        rows = [*([keep_all] if keep_all else []), *self.comparison.rows]
        still = (
            row
            for row in rows
            if row is keep_all or not (row.control or row.as_recorded or row.acted)
        )
        sound = (row for row in still if row.usable)
        return next((r for r in sound if best and self.no_more_expensive(r, best)), None)

    @property
    def nearest(self) -> Row | None:
        """Without a choice: the valid strategy with the fewest calls that exceed the window."""
        rows = (row for row in self.comparison.rows if not (row.control or row.as_recorded))
        sound = [r for r in rows if not (r.faulty or r.doubtful or r.bare or r.sees_future)]
        return min(sound, key=lambda row: (row.value("over_window"), row.value(COST)), default=None)

    @cached_property
    def alike(self) -> list[tuple[Row, Contrast]]:
        """Other proven choices whose cost differs from the recommended one's by chance at most."""
        best = self.advised
        if best is None:
            return []
        against_best = contrasts(self.comparison, best, (COST,))
        pairs = [(row, against_best[row.spec, COST]) for row in self.proven if row is not best]
        return [(row, contrast) for row, contrast in pairs if not contrast.determined]


# Whether comparisons under other models or other summarisers agree.

# Up to this many are listed individually.
_LISTED = 4
# Figures that are equal after this rounding count as equal.
_DIGITS = 9
_NONE = "none"
_FIELDS = {"summarizer": "summariser", "model": "model"}
_ORDERS = ((COST, "is cheaper"), ("recall", "recalls more"))


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
    """Say whether the same strategy is recommended under every model and summariser."""
    for field, noun in _FIELDS.items():
        for same in _varied(compared, field):
            advised = _advised(map(Advice, same), field)
            if len(advised) == 1:
                (best,) = advised
                yield _same(best, counted(len(same), noun))
            elif field == "summarizer":
                # The summariser is an assumption: a result that reverses with it is undecided.
                yield (
                    "Which strategy to choose depends on the summariser, so it is not decided: "
                    f"{_by_condition(advised)}."
                )
            else:
                # The model is a choice, not an assumption: name the findings that depend on it.
                yield f"Which strategy to choose depends on the model: {_by_condition(advised)}."


def ordered_alike(compared: Sequence[Comparison]) -> Iterator[str]:
    """Name the strategies whose order reverses."""
    for field in _FIELDS:
        for same, (metric, what) in product(_varied(compared, field), _ORDERS):
            if not (pairs := _pairs(same, metric)):
                continue
            if field == "summarizer":
                yield f"Which one {what} depends on the summariser, so it is not decided: {pairs}."
            else:
                yield f"Which one {what} depends on the model: {pairs}."


def _varied(compared: Sequence[Comparison], field: str) -> Iterator[list[Comparison]]:
    """Groups of comparisons over the same conversations that differ in one field only."""
    others = [each for each in ("model", "window", "summarizer") if each != field]
    groups: dict[object, list[Comparison]] = {}
    for each in compared:
        key = (frozenset(each.cases), *(getattr(each, other) for other in others))
        groups.setdefault(key, []).append(each)
    yield from (group for group in groups.values() if len(group) > 1)


def _advised(advices: Iterable[Advice], field: str) -> dict[str, list[str]]:
    """Under which models, or summarisers, each strategy is advised."""
    advised: dict[str, list[str]] = {}
    for advice in advices:
        best = advice.advised
        label = name(best.label) if best else _NONE
        advised.setdefault(label, []).append(name(getattr(advice.comparison, field)))
    return advised


def _same(best: str, number: str) -> str:
    if best == _NONE:
        return f"No strategy is recommended with any of {number}."
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
