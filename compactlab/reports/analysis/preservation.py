"""Effect preservation: recall with summaries, between empty summaries and an oracle's.

As in trials of non-inferiority with assay sensitivity (ICH E10, 2000), it is 1 less a ratio: misses
with the summariser over misses with empty summaries of the same length, under the same strategy and
of the same needs. Thus the misses of a strategy are its exposure (the misses with empty summaries)
times the share of it that its summaries lose.
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

# Upper bound, in multiples of the exposure, for the ends of an interval.
_MOST = 5.0
# The bootstrap needs this many conversations, and its variance must come from this many: if one
# summary in twenty fails, 30 may contain none (docs/statistics.md).
_MANY, _CARRIERS = 60, 5.0
# A wider interval is uninformative.
_WIDEST = 1.0


@dataclass(frozen=True)
class Share:
    """A share over conversations, with its 95 % interval; None with fewer than 10."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def rest(self) -> Share:
        """1 less the share.

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
    """The memory of one strategy at a distance, with its own and with null summaries.

    Each conversation with needs at the distance counts once, with its share of misses over all
    replays.
    """

    row: Row
    lag: int

    @cached_property
    def _missed(self) -> dict[str, Floats]:
        shares = missed(self.row.runs, self.lag)
        return {writer: np.array(each, np.float64) for writer, each in shares.items()}

    def missed(self, writer: str = OWN) -> Floats:
        """The share of needs missed, by conversation; empty if not measured."""
        return self._missed.get(writer, np.zeros(0))

    @property
    def conversations(self) -> int:
        """The number of conversations with needs at the distance."""
        return len(self.missed())

    def recall(self, writer: str = OWN) -> Share | None:
        return _share(1 - self.missed(writer))

    @property
    def exposure(self) -> Share | None:
        """The share of needs missed with empty summaries: the strategy's own loss."""
        return _share(self.missed(JUNK))

    def preserved(self, writer: str = OWN) -> Share | None:
        """Effect preservation: the share of the exposure that summaries preserve.

        Negative if summaries lose more than empty ones. None if nothing is summarised, nothing is
        exposed, or no control was run.
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
        """The p value of the claim that at most this share of the exposure is preserved."""
        ours, junk = self.missed(), self.missed(JUNK)
        if not self.row.summarises or not len(junk):
            return 1.0
        return betting.p_at_least(ours - (1 - share) * junk, 0.0)

    def p_recalls(self, share: float) -> float:
        """The p value of the claim that recall is at most this share."""
        return betting.p_at_least(self.missed(), 1 - share)


def _resampled(ours: Floats, junk: Floats) -> tuple[float, float] | None:
    """The bootstrap interval; None if a few conversations dominate the variance.

    Their effective number is the square of the sum of squares over the sum of fourth powers: n if
    all deviate alike, few if most lose nothing and some lose much.
    """
    if len(ours) < _MANY:
        return None
    quotient = Quotient(ours[None], junk[None])
    pulls = quotient.influence(np.array([len(ours)]))[0]
    squares = np.where(np.abs(pulls) <= SAME, 0.0, pulls) ** 2  # smaller pulls are rounding errors
    if squares.sum() ** 2 < _CARRIERS * (squares**2).sum() or not squares.any():
        return None
    low, high = interval_ends(quotient)
    return 1 - float(high[0]), 1 - float(low[0])


def _surely(ours: Floats, junk: Floats) -> tuple[float, float]:
    """The interval of effect preservation that holds for any distribution."""

    def at_least(lost: float) -> float:  # p of the claim that at least this share is lost
        return betting.p_at_least(ours - lost * junk, 0.0)

    def at_most(less: float) -> float:  # p of the claim that at most this share is lost
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
    """The memory of a strategy at the distance of its comparison."""
    return Preservation(row, comparison.lag)
