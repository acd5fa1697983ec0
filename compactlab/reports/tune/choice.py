"""The choice of a setting by its costs in conversations, and the certainty of the choice."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from compactlab.reports.analysis.betting import p_at_least
from compactlab.reports.analysis.bootstrap import (
    FEWEST,
    LEVEL,
    interval_ends,
    normal_quantile,
    student_quantiles,
)
from compactlab.reports.analysis.sample import SAME, Flags, Floats, Quotient, resampled_sums
from compactlab.reports.analysis.significance import ALPHA, holm
from compactlab.sim.core.stream import stream

# The number of random splits into two halves.
SPLITS = 200
# Shares that are equal to a tenth of a point count as equal.
_DIGITS = 3


@dataclass(frozen=True)
class Choice:
    """Settings, with their cost and misses in each conversation."""

    costs: Floats  # dollars, settings by conversations
    # Shares of needs at the distance that are missed; NaN for conversations without such needs.
    missed: Floats
    # The minimum recall, as the mean over conversations; None for no limit.
    limit: float | None = None
    usable: Flags | None = None  # which settings are usable; None for all
    own: int | None = None  # the current setting, which wins ties
    # The relative margin by which a setting may cost more if it misses less.
    margin: float = 0.0

    @property
    def conversations(self) -> int:
        return int(self.costs.shape[1])

    @cached_property
    def _every(self) -> NDArray[np.intp]:
        return np.arange(self.conversations)

    def recall(self, among: NDArray[np.intp] | None = None) -> Floats:
        """Mean recall, by setting; NaN without needs."""
        missed = self.missed if among is None else self.missed[:, among]
        known = ~np.isnan(missed)
        counts = known.sum(axis=1)
        sums = np.where(known, missed, 0.0).sum(axis=1)
        shares = np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)
        recalled: Floats = 1 - shares
        return recalled

    def allowed(self, among: NDArray[np.intp] | None = None) -> Flags:
        """Which settings keep to the limit in these conversations."""
        usable = np.ones(len(self.costs), np.bool_) if self.usable is None else self.usable
        if self.limit is None:
            return usable
        # Without needs, nothing is missed.
        kept: Flags = usable & (np.nan_to_num(self.recall(among), nan=1.0) >= self.limit)
        return kept

    def best(self, among: NDArray[np.intp] | None = None) -> int | None:
        """The cheapest setting that keeps to the limit; of ties the current or the last one."""
        among = self._every if among is None else among
        allowed = self.allowed(among)
        if not allowed.any():
            return None
        sums = self.costs[:, among].sum(axis=1)
        sums = np.where(allowed, sums, np.inf)
        return self._last(np.flatnonzero(sums <= sums.min() * (1 + SAME)))

    def _last(self, equal: NDArray[np.intp]) -> int:
        """Of equal settings the current one, else the last: the largest trigger compacts least."""
        return self.own if self.own is not None and self.own in equal else int(equal[-1])

    def advised(self, among: NDArray[np.intp] | None = None) -> int | None:
        """Of the settings within the margin of the cheapest, the one with the highest recall.

        Differences of cost within the margin are noise; differences of recall often are not.
        """
        near = np.flatnonzero(self.within(self.margin, among))
        if not len(near):
            return None
        recalled = np.round(np.nan_to_num(self.recall(among), nan=1.0)[near], _DIGITS)
        return self._last(near[recalled == recalled.max()])

    def shown(self) -> Flags:
        """Which settings significantly keep to the limit: all together at 2.5 %, by betting."""
        if self.limit is None:
            return np.ones(len(self.costs), np.bool_)
        known = [row[~np.isnan(row)] for row in self.missed]
        chances = [p_at_least(row, 1 - self.limit) if len(row) else 1.0 for row in known]
        return np.array([p is not None and p <= ALPHA for p in holm(chances)])

    def needed(self) -> int:
        """The number of conversations from which on a limit could be proven, without any miss."""
        number = 1
        worst = 1 - (self.limit or 0.0)
        while len(self.costs) * p_at_least(np.zeros(number), worst) > ALPHA:
            number += 1
        return number

    def candidates(self) -> Flags | None:
        """Which allowed settings may be the cheapest: those that do not cost significantly more.

        It is the confidence set of the optimum: in 95 of 100 samples it contains the setting that
        is cheapest over all such conversations. A setting is excluded if its largest difference
        from another, over its standard error, exceeds the 95 % quantile of the same in centred
        resamples (multiple comparisons with the best, Hsu 1984, Annals of Statistics 12:1136; by
        the bootstrap as Hansen, Lunde and Nason 2011, Econometrica 79:453). None with fewer than 10
        conversations.
        """
        if self.conversations < FEWEST:
            return None
        allowed = self.allowed()
        inside = allowed.copy()
        rows = np.flatnonzero(allowed)
        sums = resampled_sums(self.costs[rows]) / self.conversations
        means = self.costs[rows].mean(axis=1)
        wide = _wider(self.conversations)
        for index, row in enumerate(rows):
            gaps = self.costs[row] - self.costs[rows]
            errors = gaps.std(axis=1, ddof=1) / math.sqrt(self.conversations)
            told = errors > SAME * np.abs(means).max()
            # A difference that is equal in every conversation is not random.
            if (means[index] - means > SAME * np.abs(means).max())[~told].any():
                inside[row] = False
                continue
            if not told.any():
                continue
            seen = (means[index] - means)[told] / errors[told]
            drawn = (sums[index] - sums - (means[index] - means)[:, None])[told]
            chance = np.quantile((drawn / errors[told, None]).max(axis=0), LEVEL) * wide
            inside[row] = seen.max() <= chance
        return inside

    def within(self, margin: float, among: NDArray[np.intp] | None = None) -> Flags:
        """Which allowed settings cost at most ``margin`` more than the best one, as a share."""
        among = self._every if among is None else among
        best = self.best(among)
        sums = self.costs[:, among].sum(axis=1)
        if best is None:
            return np.zeros(len(sums), np.bool_)
        flat: Flags = self.allowed(among) & (sums <= sums[best] * (1 + margin) * (1 + SAME))
        return flat

    def ratio(self, row: int, other: int) -> Ratio:
        """The cost ratio of two settings, with a 95 % interval from 10 conversations on."""
        return ratio(self.costs[row], self.costs[other])


@dataclass(frozen=True)
class Ratio:
    """A ratio of sums over conversations, and its 95 % interval; None with fewer than 10."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def cheaper(self) -> bool:
        """Whether the first is significantly cheaper."""
        return self.high is not None and self.high < 1

    @property
    def costs_more(self) -> bool:
        """Whether the first costs significantly more."""
        return self.low is not None and self.low > 1


def ratio(ours: Floats, theirs: Floats) -> Ratio:
    """The ratio of two costs, paired by conversation."""
    value = float(ours.sum() / theirs.sum()) if theirs.sum() else math.nan
    if len(ours) < FEWEST or (differing := int((ours != theirs).sum())) == 0:
        return Ratio(value, *((value, value) if len(ours) >= FEWEST else (None, None)))
    if differing < FEWEST // 2:  # so few do not show how often others differ
        return Ratio(value)
    low, high = interval_ends(Quotient(ours[None], theirs[None]))
    return Ratio(value, float(low[0]), float(high[0]))


def _wider(count: int) -> float:
    """The correction of the width of a bootstrap interval for few conversations."""
    student = float(student_quantiles(np.array([count - 1.0]), (1 + LEVEL) / 2)[0])
    return student / normal_quantile((1 + LEVEL) / 2) * math.sqrt(count / (count - 1))


# Held out: the choice is made on some conversations and evaluated on the others.


@dataclass(frozen=True)
class HeldOut:
    """The cost and recall of a choice from one half of the conversations on the other half.

    The regret is its extra cost there, relative to the best allowed setting of that half.
    """

    chosen_on: int
    reported_on: int
    chosen: int | None  # the choice from the first half
    best: int | None  # the best setting of the other half
    regret: float | None  # for these two halves of similar cost
    recall: float | None  # of the choice, on the other half
    mean: float | None = None  # the mean regret over random halves
    high: float | None = None  # the 95 % quantile of the regret
    close: float | None = None  # the share of halves with a regret within the margin
    kept: float | None = None  # the share of halves whose choice keeps to the limit


def held_out(choice: Choice, margin: float) -> HeldOut | None:
    """Choose on one half and evaluate on the other; None with fewer than four conversations."""
    count = choice.conversations
    if count < 4:
        return None
    # Every second one by cost, so that the halves are similar.
    order = np.argsort(-choice.costs.mean(axis=0), kind="stable")
    one, other = np.sort(order[::2]), np.sort(order[1::2])
    regrets, kept = [], []
    rng = stream(0, "halves", count)
    for _ in range(SPLITS):
        drawn = rng.sample(range(count), count)
        halves = [np.sort(np.array(drawn[at : at + -(-count // 2)])) for at in (0, -(-count // 2))]
        for first, second in (halves, halves[::-1]):
            regret, keeps = _regret(choice, first, second)
            kept.append(keeps)
            if regret is not None:
                regrets.append(regret)
    chosen = choice.advised(one)
    recall = None if chosen is None else float(choice.recall(other)[chosen])
    return HeldOut(
        len(one),
        len(other),
        chosen,
        choice.best(other),
        _regret(choice, one, other)[0],
        None if recall is None or math.isnan(recall) else recall,
        float(np.mean(regrets)) if regrets else None,
        float(np.quantile(regrets, LEVEL)) if regrets else None,
        float(np.mean([each <= margin for each in regrets])) if regrets else None,
        float(np.mean(kept)),
    )


def _regret(
    choice: Choice, first: NDArray[np.intp], second: NDArray[np.intp]
) -> tuple[float | None, bool]:
    """The extra cost of one half's choice on the other, and whether it keeps to the limit."""
    chosen, best = choice.advised(first), choice.best(second)
    if chosen is None:
        return None, False
    keeps = bool(choice.allowed(second)[chosen])
    if best is None:
        return None, keeps
    sums = choice.costs[:, second].sum(axis=1)
    return float(sums[chosen] / sums[best] - 1), keeps


def left_out(choice: Choice, reference: int) -> Ratio | None:
    """The cost of leave-one-out choices over the reference, over all conversations.

    Each conversation is evaluated with the choice from all others. None if nothing can be chosen.
    """
    every = np.arange(choice.conversations)
    if choice.conversations < 2:
        return None
    chosen = [choice.advised(every[every != out]) for out in every]
    if any(each is None for each in chosen):
        return None
    ours = np.array([choice.costs[row, out] for out, row in enumerate(chosen) if row is not None])
    return ratio(ours, choice.costs[reference])
