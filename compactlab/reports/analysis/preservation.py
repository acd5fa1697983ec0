"""What summaries keep: recall at a long lag, between a summary without content and an oracle.

Effect preservation, as in trials of non-inferiority with assay sensitivity (ICH E10, 2000): one
less the misses with the summariser over the misses with a summary of the same length that says
nothing, under the same strategy, of the same needs. So what a strategy misses is what it exposes
(the misses without content) times what its summaries lose of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from compactlab.reports.analysis import betting
from compactlab.reports.analysis.aggregate import replays
from compactlab.reports.analysis.bootstrap import FEWEST, interval_ends, settled
from compactlab.reports.analysis.comparison import Comparison, Row
from compactlab.reports.analysis.sample import Flags, Floats, Quotient, mean_of
from compactlab.sim.experiment.run import Run

JUNK, RANDOM, ORACLE = "junk", "random", "oracle"
CONTROLS = (JUNK, RANDOM, ORACLE)

# Below this an oracle misses so much that the loss is the strategy's, whatever the summary says.
CEILING = 0.8

# Of what is exposed, so many times as much may be missed: further no interval is looked for.
_MOST = 5.0


@dataclass(frozen=True)
class Share:
    """A share over conversations, with its 95 % interval."""

    value: float
    low: float
    high: float


def misses(runs: Sequence[Run], lag: int) -> dict[str, tuple[int, int]]:
    """The needs of runs from a lag on and the misses among them, by who wrote the summaries."""
    counts: dict[str, tuple[int, int]] = {}
    for run in runs:
        rows = run.rows.get("lags")
        columns = (rows["summaries"], rows["lag"], rows["needs"], rows["met"]) if rows else ()
        for writer, step, needs, met in zip(*columns, strict=True):
            if step >= lag:
                before, missed = counts.get(writer, (0, 0))
                counts[writer] = before + needs, missed + needs - met
    return counts


@dataclass(frozen=True)
class Preservation:
    """The memory of one strategy at a lag, with its own summaries and with null ones.

    Each conversation that has needs at the lag counts once: its share of misses, over all of its
    replays.
    """

    row: Row
    lag: int

    @cached_property
    def _counts(self) -> list[dict[str, tuple[int, int]]]:
        counts = (misses(group, self.lag) for group in replays(self.row.runs))
        return [each for each in counts if each.get("", (0, 0))[0]]

    @property
    def conversations(self) -> int:
        """How many conversations have needs at the lag."""
        return len(self._counts)

    @property
    def needs(self) -> int:
        """How many needs there are at the lag, in all replays."""
        return sum(each[""][0] for each in self._counts)

    def missed(self, writer: str = "") -> Floats:
        """The share of needs that is missed, by conversation; empty where it was not measured."""
        if not all(writer in each for each in self._counts):
            return np.zeros(0)
        return np.array([each[writer][1] / each[writer][0] for each in self._counts], np.float64)

    def recall(self, writer: str = "") -> Share | None:
        """The share of needs that is met."""
        return _share(1 - self.missed(writer))

    @property
    def exposure(self) -> Share | None:
        """The share of needs that is missed if summaries say nothing: the strategy's loss."""
        return _share(self.missed(JUNK))

    @property
    def summarises(self) -> bool:
        """Whether anything was written in its place, so that there is something to preserve."""
        return self.row.summarises

    def preserved(self, writer: str = "") -> Share | None:
        """Effect preservation: the share of what is exposed that is not missed.

        Negative where more is missed than with a summary that says nothing. None where nothing is
        summarised, nothing is exposed, or no control was run.
        """
        ours, junk = self.missed(writer), self.missed(JUNK)
        if not self.summarises or not len(junk) or not junk.any():
            return None

        value = 1 - float(ours.mean()) / float(junk.mean())
        if min(map(informative, (ours, junk, junk - ours))) >= FEWEST:
            low, high, _ = interval_ends(Quotient(ours[None], junk[None]), _all(ours))
            return _settled(value, 1 - float(high[0]), 1 - float(low[0]))
        return _settled(value, *_surely_preserved(ours, junk))

    def p_preserves(self, share: float) -> float:
        """How surely more than a share of what is exposed is preserved: p of the contrary."""
        ours, junk = self.missed(), self.missed(JUNK)
        if not self.summarises or not len(junk):
            return 1.0
        return betting.p_at_least(ours - (1 - share) * junk, 0.0)

    def p_recalls(self, share: float) -> float:
        """How surely more than a share of the needs is met: p of the contrary."""
        return betting.p_at_least(self.missed(), 1 - share) if self.conversations else 1.0


def informative(values: Floats) -> int:
    """How many values differ from the most frequent one: of what all share, nothing is learned.

    Examples
    --------
    >>> informative(np.array([0.0, 0.0, 0.0, 0.3])), informative(np.array([0.1, 0.2, 0.3]))
    (1, 2)
    """
    _, counts = np.unique(values.round(9), return_counts=True)
    return len(values) - int(counts.max(initial=0))


def _share(values: Floats) -> Share | None:
    if not len(values):
        return None
    if informative(values) >= FEWEST:
        low, high, _ = interval_ends(mean_of(values[None], _all(values)), _all(values))
        return _settled(float(values.mean()), float(low[0]), float(high[0]))
    return _settled(float(values.mean()), *betting.interval(values))


def _surely_preserved(ours: Floats, junk: Floats) -> tuple[float, float]:
    """The interval of effect preservation that holds for any distribution."""

    def at_least(lost: float) -> float:  # p of the claim that so much is lost, or more
        return betting.p_at_least(ours - lost * junk, 0.0)

    def at_most(less: float) -> float:  # p of the claim that so much is lost, or less
        return betting.p_at_least(-less * junk - ours, 0.0, -less)

    low = 1 - betting.bisected(at_least, 0.0, _MOST)
    return low, 1 + betting.bisected(at_most, -_MOST, 0.0)


def _all(values: Floats) -> Flags:
    return np.ones((1, len(values)), np.bool_)


def _settled(value: float, low: float, high: float) -> Share:
    ends = (settled(each, 1.0) for each in (value, min(low, value), max(high, value)))
    return Share(*(each or 0.0 for each in ends))


def preservation(comparison: Comparison, row: Row) -> Preservation:
    """The memory of a strategy at the lag of its comparison."""
    return Preservation(row, comparison.lag)
