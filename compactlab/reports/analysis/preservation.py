"""What summaries keep: recall at a long lag, between a summary without content and an oracle.

Effect preservation, as in trials of non-inferiority with assay sensitivity (ICH E10, 2000): one
less the misses with the summariser over the misses with a summary of the same length that says
nothing, under the same strategy, of the same needs. So what a strategy misses is what it exposes
(the misses without content) times what its summaries lose of that.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from compactlab.reports.analysis import betting
from compactlab.reports.analysis.aggregate import JUNK, OWN, missed
from compactlab.reports.analysis.bootstrap import FEWEST, interval_ends, settled
from compactlab.reports.analysis.comparison import Comparison, Row
from compactlab.reports.analysis.sample import SAME, Floats, Quotient

# So many times as much as is exposed may be missed: further no interval is looked for.
_MOST = 5.0
# Resamples tell how much is preserved if there are so many conversations, and the variance comes
# from so many of them: one summary in twenty that fails may be in none of 30 (docs/statistics.md).
_MANY, _CARRIERS = 60, 5.0
# An interval that is wider than this tells nothing.
_WIDEST = 1.0


@dataclass(frozen=True)
class Share:
    """A share over conversations, with its 95 % interval; None with fewer than 10."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def rest(self) -> Share:
        """What it is a share of, less it.

        Examples
        --------
        >>> Share(0.25, 0.0, 0.5).rest
        Share(value=0.75, low=0.5, high=1.0)
        """
        if self.low is None or self.high is None:
            return _settled(1 - self.value)
        return _settled(1 - self.value, 1 - self.high, 1 - self.low)


@dataclass(frozen=True)
class Preservation:
    """The memory of one strategy at a lag, with its own summaries and with null ones.

    Each conversation that has needs at the lag counts once: its share of misses, over all of its
    replays.
    """

    row: Row
    lag: int

    @cached_property
    def _missed(self) -> dict[str, Floats]:
        shares = missed(self.row.runs, self.lag)
        return {writer: np.array(each, np.float64) for writer, each in shares.items()}

    def missed(self, writer: str = OWN) -> Floats:
        """The share of needs that is missed, by conversation; empty where it was not measured."""
        return self._missed.get(writer, np.zeros(0))

    @property
    def conversations(self) -> int:
        """How many conversations have needs at the lag."""
        return len(self.missed())

    def recall(self, writer: str = OWN) -> Share | None:
        """The share of needs that is met."""
        return _share(1 - self.missed(writer))

    @property
    def exposure(self) -> Share | None:
        """The share of needs that is missed if summaries say nothing: the strategy's loss."""
        return _share(self.missed(JUNK))

    def preserved(self, writer: str = OWN) -> Share | None:
        """Effect preservation: the share of what is exposed that is not missed.

        Negative where more is missed than with a summary that says nothing. None where nothing is
        summarised, nothing is exposed, or no control was run.
        """
        ours, junk = self.missed(writer), self.missed(JUNK)
        if not self.row.summarises or not len(junk) or not junk.any():
            return None
        value = 1 - float(ours.mean()) / float(junk.mean())
        if len(junk) < FEWEST or writer == JUNK:
            return _settled(value)
        low, high = _resampled(ours, junk) or _surely(ours, junk)
        return _settled(value, low, high) if high - low <= _WIDEST else _settled(value)

    def p_preserves(self, share: float) -> float:
        """How surely more than a share of what is exposed is preserved: p of the contrary."""
        ours, junk = self.missed(), self.missed(JUNK)
        if not self.row.summarises or not len(junk):
            return 1.0
        return betting.p_at_least(ours - (1 - share) * junk, 0.0)

    def p_recalls(self, share: float) -> float:
        """How surely more than a share of the needs is met: p of the contrary."""
        return betting.p_at_least(self.missed(), 1 - share)


def _resampled(ours: Floats, junk: Floats) -> tuple[float, float] | None:
    """The interval by the bootstrap; None where few conversations may make all the difference.

    From how many it comes: the square of the sum of squares over the sum of fourth powers, which is
    n where all deviate alike, and few where most lose nothing and some lose much.
    """
    if len(ours) < _MANY:
        return None
    quotient = Quotient(ours[None], junk[None])
    pulls = quotient.influence(np.array([len(ours)]))[0]
    squares = np.where(np.abs(pulls) <= SAME, 0.0, pulls) ** 2  # smaller ones are rounding
    if squares.sum() ** 2 < _CARRIERS * (squares**2).sum() or not squares.any():
        return None
    low, high = interval_ends(quotient)
    return 1 - float(high[0]), 1 - float(low[0])


def _surely(ours: Floats, junk: Floats) -> tuple[float, float]:
    """The interval of effect preservation that holds for any distribution."""

    def at_least(lost: float) -> float:  # p of the claim that so much is lost, or more
        return betting.p_at_least(ours - lost * junk, 0.0)

    def at_most(less: float) -> float:  # p of the claim that so much is lost, or less
        return betting.p_at_least(-less * junk - ours, 0.0, -less)

    low = 1 - betting.bisected(at_least, 0.0, _MOST)
    return low, 1 + betting.bisected(at_most, -_MOST, 0.0)


def _share(values: Floats) -> Share | None:
    if not len(values):
        return None
    if len(values) < FEWEST:
        return _settled(float(values.mean()))
    return _settled(float(values.mean()), *betting.interval(values))


def _settled(value: float, low: float | None = None, high: float | None = None) -> Share:
    if low is None or high is None:
        return Share(settled(value, 1.0) or 0.0)
    ends = (settled(each, 1.0) for each in (value, min(low, value), max(high, value)))
    return Share(*(each or 0.0 for each in ends))


def preservation(comparison: Comparison, row: Row) -> Preservation:
    """The memory of a strategy at the lag of its comparison."""
    return Preservation(row, comparison.lag)
