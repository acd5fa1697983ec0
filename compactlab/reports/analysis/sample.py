"""Figures of strategies by conversation, and statistics that are quotients of their sums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from compactlab.reports.analysis.aggregate import (
    EXTREMES,
    read_and_missed,
    replays,
    values_of,
)
from compactlab.reports.analysis.comparison import Case, Row, case_of
from compactlab.reports.render.text import clean
from compactlab.sim.core.errors import UsageError
from compactlab.sim.core.stream import stream
from compactlab.sim.metrics import METRICS
from compactlab.sim.store.run import Run

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

# Smaller relative differences count as equal: sums of floats depend on their order.
SAME = 1e-9


@dataclass(frozen=True)
class Pairs:
    """One metric of several strategies and of their reference, by conversation."""

    ours: Floats  # strategies by conversations; NaN where there is no value
    theirs: Floats  # the reference's, by conversations

    @property
    def both(self) -> Flags:
        """Where both have a value; strategies by conversations."""
        known: Flags = ~(np.isnan(self.ours) | np.isnan(self.theirs))
        return known

    @property
    def differences(self) -> Floats:
        """Ours less theirs; 0 if equal, or if one has no value."""
        with np.errstate(invalid="ignore"):
            gap = self.ours - self.theirs
            size = np.maximum(np.abs(self.ours), np.abs(self.theirs))
            # Two infinities of one sign are equal: they have no difference.
            same = np.isnan(gap) | (np.abs(gap) <= np.where(np.isinf(size), 0.0, SAME * size))
        gaps: Floats = np.where(same, 0.0, gap)
        return gaps

    def rows(self, chosen: NDArray[np.intp]) -> Pairs:
        """Only some of the strategies."""
        return Pairs(self.ours[chosen], self.theirs)


class Sample:
    """The values of strategies by conversation over the same cases, averaged over replays.

    Conversations are sorted, so draws do not depend on the order of runs. They are a sample of a
    population, unless they are ``fixed``.
    """

    def __init__(self, rows: Sequence[Row], metrics: Sequence[str], *, fixed: bool = False) -> None:
        _check(rows)
        self.rows = rows
        self.fixed = fixed
        self._groups = [replays(sorted(row.runs, key=case_of)) for row in rows]
        self.conversations = [case_of(group[0])[:2] for group in self._groups[0]] if rows else []
        needed = list(dict.fromkeys([*metrics, "overflows", "calls"]))
        self._place = {name: index for index, name in enumerate(needed)}
        tables = [_values(groups, needed) for groups in self._groups]
        # Rows, conversations, metrics.
        self._values = np.array(tables).reshape(len(rows), -1, len(needed))

    def values(self, metric: str) -> Floats:
        """Rows by conversations; NaN where there is no value."""
        numbers: Floats = self._values[:, :, self._place[metric]]
        return numbers

    def parts(self, metric: str) -> tuple[Floats, Floats]:
        """Numerators and denominators of a pooled share: two arrays, rows by conversations."""
        if metric == "prefix_reuse":
            tokens = [read_and_missed(groups) for groups in self._groups]
            read = np.array([each for each, _ in tokens])
            return read, read + np.array([each for _, each in tokens])
        return np.nan_to_num(self.values("overflows")), np.nan_to_num(self.values("calls"))


def _check(rows: Sequence[Row]) -> None:
    first: set[Case] = set()
    for number, row in enumerate(rows):
        cases = {case_of(run) for run in row.runs}
        first = first if number else cases
        if odd := sorted(cases ^ first):
            scenario, conversation, seed = odd[0]
            raise UsageError(
                f"{clean(row.label)} and {clean(rows[0].label)} are not over the same "
                f"conversations: only one of them has {clean(conversation)} "
                f"({clean(scenario)}, seed {seed})"
            )


def _values(groups: Sequence[Sequence[Run]], metrics: Sequence[str]) -> Floats:
    """Conversations by metrics; the mean of replays, or the largest or smallest."""
    raw = values_of([run for group in groups for run in group], metrics)
    sizes = [len(group) for group in groups]
    if max(sizes, default=1) == 1:
        return raw
    starts = np.cumsum([0, *sizes[:-1]])
    known = ~np.isnan(raw)
    counts = np.add.reduceat(known.astype(np.float64), starts, axis=0)
    sums = np.add.reduceat(np.where(known, raw, 0.0), starts, axis=0)
    largest = np.maximum.reduceat(np.where(known, raw, -np.inf), starts, axis=0)
    means = np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
    smallest = np.minimum.reduceat(np.where(known, raw, np.inf), starts, axis=0)
    peaks, lows = (
        np.array([METRICS[name].aggregation == rule for name in metrics]) & (counts > 0)
        for rule in EXTREMES
    )
    values: Floats = np.where(peaks, largest, np.where(lows, smallest, means))
    return values


# Sums over many resamples: products of matrices small enough for one core.

# Libraries of linear algebra spread larger products over all cores. Two such processes wait for
# each other: up to 30 times as long. It also fixes the order of additions.
_WAYS, _PAIRS, _ROWS = 50, 100, 40

# Number of ways that are converted to floats at a time.
_BLOCK = 20 * _WAYS


def products(values: Floats, ways: NDArray[np.generic]) -> Iterator[tuple[slice, Floats]]:
    """Compute sums of the values, with the coefficients of each way.

    Examples
    --------
    >>> [(_, sums)] = products(np.array([[1.0, 2.0]]), np.array([[2, 0], [1, 1], [1, -1]]))
    >>> sums.tolist()
    [[2.0, 3.0, -1.0]]
    """
    for start in range(0, len(ways), _BLOCK):
        block = slice(start, start + _BLOCK)
        some = ways[block].astype(np.float64)
        whole = len(some) - len(some) % _WAYS
        sums = np.zeros((len(values), len(some)))
        for row in range(0, len(values), _ROWS):
            for pair in range(0, values.shape[1], _PAIRS):
                rows, pairs = slice(row, row + _ROWS), slice(pair, pair + _PAIRS)
                part = values[rows, pairs].T
                stacked = some[:whole, pairs].reshape(whole // _WAYS, _WAYS, len(part)) @ part
                sums[rows, :whole] += stacked.reshape(whole, part.shape[1]).T
                sums[rows, whole:] += (some[whole:, pairs] @ part).T
        yield block, sums


# Statistics that are quotients of two sums over conversations: means, ratios, shares.

RESAMPLES = 10_000

# Draws of conversations that are made at once.
_DRAWS_AT_ONCE = 10_000_000


@dataclass(frozen=True)
class Quotient:
    """A quotient of two sums over conversations; 0 stands for a missing value.

    Both are strategies by conversations. The denominators of a mean are ones.

    Examples
    --------
    >>> Quotient(np.array([[1.0, 2.0, 6.0]]), np.ones((1, 3))).value.tolist()
    [3.0]
    """

    above: Floats
    below: Floats

    @property
    def value(self) -> Floats:
        """The quotient by strategy; NaN if the denominator is 0."""
        return _divided(self.above.sum(axis=1), self.below.sum(axis=1))

    def rows(self, chosen: NDArray[np.intp]) -> Quotient:
        """A copy with some of the strategies."""
        return Quotient(self.above[chosen], self.below[chosen])

    def resampled(self) -> Floats:
        """The quotient in each resample; strategies by resamples."""
        return _divided(resampled_sums(self.above), self.below_resampled())

    def below_resampled(self) -> Floats:
        """The denominator in each resample."""
        if (self.below == self.below[:1]).all():
            return resampled_sums(self.below[:1])
        return resampled_sums(self.below)

    def effective(self) -> Floats:
        """The effective number of conversations, by their shares of the denominator.

        The square of the sum over the sum of the squares (Kish 1965, Survey Sampling, section
        11.7): it is small if a few conversations have most of the cost.
        """
        return _divided(self.below.sum(axis=1) ** 2, (self.below**2).sum(axis=1))

    def influence(self, conversations: NDArray[np.intp]) -> Floats:
        """The influence of each conversation, linear in its two summands and centred at 0."""
        pull = self.above - self.value[:, None] * self.below
        return _divided(pull * conversations[:, None], self.below.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class Gap:
    """The difference of two quotients."""

    ours: Quotient
    theirs: Quotient

    @property
    def value(self) -> Floats:
        """The difference, by strategy."""
        return self.ours.value - self.theirs.value

    def rows(self, chosen: NDArray[np.intp]) -> Gap:
        """A copy with some of the strategies."""
        return Gap(self.ours.rows(chosen), self.theirs.rows(chosen))

    def resampled(self) -> Floats:
        """The difference in each resample."""
        return self.ours.resampled() - self.theirs.resampled()

    def effective(self) -> Floats:
        """The effective number of conversations: the smaller of the two."""
        return np.minimum(self.ours.effective(), self.theirs.effective())

    def influence(self, conversations: NDArray[np.intp]) -> Floats:
        """The influence of each conversation."""
        return self.ours.influence(conversations) - self.theirs.influence(conversations)


Statistic = Quotient | Gap


def resampled_sums(values: Floats) -> Floats:
    """The sums of rows over each resample of their columns; rows by resamples.

    All rows use the same resamples, so that what rows have in common cancels out in differences.
    """
    if (values == values[:, :1]).all():
        # All conversations are equal: every resample has the same sum.
        return np.repeat(values.sum(axis=1, keepdims=True), RESAMPLES, axis=1)
    sums = np.empty((len(values), RESAMPLES))
    for block, some in products(values, resamples(values.shape[1])):
        sums[:, block] = some
    return sums


@lru_cache(maxsize=8)
def resamples(conversations: int) -> NDArray[np.generic]:
    """The count of each conversation in each resample, drawn with replacement."""
    # Raw draws are equal under every version of numpy; those of Generator may differ.
    source = np.random.PCG64(stream(0, "resamples", conversations).getrandbits(128))
    parts = []
    at_once = max(1, _DRAWS_AT_ONCE // max(1, conversations))
    for start in range(0, RESAMPLES, at_once):
        rows = min(at_once, RESAMPLES - start)
        raw = source.random_raw((rows, conversations)) >> np.uint64(32)
        drawn = ((raw * np.uint64(conversations)) >> np.uint64(32)).astype(np.intp)
        places = drawn + np.arange(rows)[:, None] * conversations
        counts = np.bincount(places.ravel(), minlength=rows * conversations)
        parts.append(counts.astype(np.min_scalar_type(int(counts.max(initial=0)))))
    return np.concatenate(parts).reshape(RESAMPLES, conversations)


def mean_of(values: Floats, known: Flags) -> Quotient:
    """The mean of the known values, by row."""
    return Quotient(np.where(known, values, 0.0), known.astype(np.float64))


def _divided(above: Floats, below: Floats) -> Floats:
    shape = np.broadcast_shapes(above.shape, below.shape)
    quotients: Floats = np.divide(above, below, out=np.full(shape, np.nan), where=below != 0)
    return quotients
