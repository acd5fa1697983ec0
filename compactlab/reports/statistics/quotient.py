"""Statistics that are a sum over conversations divided by another: means, ratios, shares."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from compactlab.reports.statistics.product import products
from compactlab.reports.statistics.sample import Flags, Floats
from compactlab.sim.stream import stream

RESAMPLES = 10_000

# Resamples that are drawn at once.
_BLOCK = 1_000


class Statistic(Protocol):
    """A figure of each of several strategies, from sums over conversations."""

    @property
    def value(self) -> Floats:
        """The figure, by strategy."""

    def rows(self, chosen: NDArray[np.intp]) -> Statistic:
        """The same of only some of the strategies."""

    def resampled(self) -> Floats:
        """The figure in each resample of the conversations; strategies by resamples."""

    def left_out(self) -> Floats:
        """The figure without each of the conversations; strategies by conversations."""

    def effective(self) -> Floats:
        """How many conversations of one weight these are worth, by strategy."""

    def influence(self, conversations: NDArray[np.intp]) -> Floats:
        """By how much each of so many conversations pulls the figure, to the first order."""


@dataclass(frozen=True)
class Quotient:
    """One sum divided by another.

    Parameters
    ----------
    above, below
        Strategies by conversations; 0 where there is no value. A mean has ones below.

    Examples
    --------
    >>> Quotient(np.array([[1.0, 2.0, 6.0]]), np.ones((1, 3))).left_out().tolist()
    [[4.0, 3.5, 1.5]]
    """

    above: Floats
    below: Floats

    @property
    def value(self) -> Floats:
        """The figure, by strategy; NaN where nothing stands below."""
        return _divided(self.above.sum(axis=1), self.below.sum(axis=1))

    def rows(self, chosen: NDArray[np.intp]) -> Quotient:
        """The same of only some of the strategies."""
        return Quotient(self.above[chosen], self.below[chosen])

    def resampled(self) -> Floats:
        """The figure in each resample; strategies by resamples."""
        return _divided(resampled_sums(self.above), self.below_resampled())

    def below_resampled(self) -> Floats:
        """The lower sum in each resample."""
        if (self.below == self.below[:1]).all():
            return resampled_sums(self.below[:1])
        return resampled_sums(self.below)

    def left_out(self) -> Floats:
        """The figure without each of the conversations."""
        above = self.above.sum(axis=1, keepdims=True) - self.above
        return _divided(above, self.below.sum(axis=1, keepdims=True) - self.below)

    def effective(self) -> Floats:
        """How many conversations of one weight these are worth, by what each adds below.

        The square of the sum over the sum of the squares (Kish 1965, Survey Sampling, section
        11.7): one that costs as much as ten others leaves few that count.
        """
        return _divided(self.below.sum(axis=1) ** 2, (self.below**2).sum(axis=1))

    def influence(self, conversations: NDArray[np.intp]) -> Floats:
        """The pull of each conversation: linear in what it adds above and below, around 0."""
        pull = self.above - self.value[:, None] * self.below
        return _divided(pull * conversations[:, None], self.below.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class Gap:
    """A quotient less another one."""

    ours: Quotient
    theirs: Quotient

    @property
    def value(self) -> Floats:
        """The figure, by strategy."""
        return self.ours.value - self.theirs.value

    def rows(self, chosen: NDArray[np.intp]) -> Gap:
        """The same of only some of the strategies."""
        return Gap(self.ours.rows(chosen), self.theirs.rows(chosen))

    def resampled(self) -> Floats:
        """The figure in each resample."""
        return self.ours.resampled() - self.theirs.resampled()

    def left_out(self) -> Floats:
        """The figure without each of the conversations."""
        return self.ours.left_out() - self.theirs.left_out()

    def effective(self) -> Floats:
        """How many conversations of one weight these are worth: the fewer of the two."""
        return np.minimum(self.ours.effective(), self.theirs.effective())

    def influence(self, conversations: NDArray[np.intp]) -> Floats:
        """The pull of each conversation."""
        return self.ours.influence(conversations) - self.theirs.influence(conversations)


def resampled_sums(values: Floats) -> Floats:
    """The sums of rows over each resample of their columns; rows by resamples.

    All rows are summed over the same resamples: what the conversations of a resample have in
    common cancels out in a difference.
    """
    if (values == values[:, :1]).all():
        # A resample has as many conversations as there are.
        return np.repeat(values.sum(axis=1, keepdims=True), RESAMPLES, axis=1)
    sums = np.empty((len(values), RESAMPLES))
    for block, some in products(values, resamples(values.shape[1])):
        sums[:, block] = some
    return sums


@lru_cache(maxsize=8)
def resamples(conversations: int) -> NDArray[np.generic]:
    """How often each conversation is in each resample, drawn with replacement.

    Parameters
    ----------
    conversations
        How many there are.

    Returns
    -------
    numpy.ndarray
        Resamples by conversations, in the smallest type that holds the counts.
    """
    # Raw draws are the same under every version of numpy; what Generator makes of them need not be.
    source = np.random.PCG64(stream(0, "resamples", conversations).getrandbits(128))
    parts = []
    for start in range(0, RESAMPLES, _BLOCK):
        rows = min(_BLOCK, RESAMPLES - start)
        raw = source.random_raw((rows, conversations)) >> np.uint64(32)
        drawn = ((raw * np.uint64(conversations)) >> np.uint64(32)).astype(np.intp)
        places = drawn + np.arange(rows)[:, None] * conversations
        counts = np.bincount(places.ravel(), minlength=rows * conversations)
        parts.append(counts.astype(np.min_scalar_type(int(counts.max(initial=0)))))
    return np.concatenate(parts).reshape(RESAMPLES, conversations)


def mean_of(values: Floats, known: Flags) -> Quotient:
    """The mean of what is known, by row."""
    return Quotient(np.where(known, values, 0.0), known.astype(np.float64))


def _divided(above: Floats, below: Floats) -> Floats:
    shape = np.broadcast_shapes(above.shape, below.shape)
    found: Floats = np.divide(above, below, out=np.full(shape, np.nan), where=below != 0)
    return found
