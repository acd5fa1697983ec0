"""Contrasts: how strategies differ from a reference, and what of it may be chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from compactlab.reports.aggregate import rule_of
from compactlab.reports.comparison import WHOLE, Comparison, Row
from compactlab.reports.statistics.adjustment import benjamini_hochberg, holm
from compactlab.reports.statistics.effect import rank_biserial
from compactlab.reports.statistics.estimation import Kind
from compactlab.reports.statistics.inferiority import no_worse
from compactlab.reports.statistics.paired import estimations, proportional
from compactlab.reports.statistics.sample import Sample
from compactlab.reports.statistics.sign_flip import signed_ranks, two_sided
from compactlab.sim.errors import UsageError, unknown
from compactlab.sim.metrics import METRICS

# What a comparison is about, declared before it is looked at: one figure of memory, one of money.
PRIMARY = ("amnesia_need", "cost_usd")

# By how much a strategy may be worse and still count as no worse: points, and a share of the cost.
MARGINS: Mapping[str, float] = MappingProxyType({"amnesia_need": 0.03, "cost_usd": 0.02})

ALPHA = 0.05


@dataclass(frozen=True)
class Contrast:
    """A strategy against a reference in one metric.

    Parameters
    ----------
    metric, subject, reference
        What is compared: a metric, and two specs.
    conversations
        How many have a value under both.
    kind
        ``ratio``: the sum of the subject's values over that of the reference's; 1 is the same.
        ``difference``: the subject's less the reference's, 0 is the same; of a mean and of an
        amount the mean over conversations, of a median the median of the differences, of a pooled
        share and of a maximum the difference of the two figures.
    estimate
        The ratio or difference; None where there is none, or where it is infinite.
    low, high
        The 95 % interval; None with fewer than 10 conversations, and of maxima.
    method
        How the interval was found: ``BCa``, ``percentile``, ``order`` (of medians); "" without one.
    p
        Of the two-sided sign-flip test; None without conversations.
    adjusted, correction
        The same for many comparisons, and how: ``Holm`` over strategies for a primary metric,
        ``BH`` over strategies and metrics for the others.
    wins, ties, losses
        Conversations in which the subject is better, the same, worse; lower counts as better where
        the metric has no good direction.
    effect
        Matched-pairs rank-biserial correlation, 1 if the subject is better in all conversations
        that differ, -1 if it is worse in all.
    detectable
        The smallest difference that 80 of 100 such samples would show, at 5 % without correction;
        of a ratio a share of the reference. None where it cannot be told.
    margin, no_worse
        By how much the subject may be worse, and whether it surely is not worse by that; None where
        nobody set a margin, or where so few conversations cannot tell.
    geometric, geometric_low, geometric_high
        The geometric mean of each conversation's ratio, with its interval: every conversation
        weighs alike. Of money alone; None of differences, and where a conversation has nothing.
    """

    metric: str
    subject: str
    reference: str
    conversations: int
    kind: Kind
    estimate: float | None
    low: float | None
    high: float | None
    method: str
    p: float | None
    adjusted: float | None
    correction: Literal["Holm", "BH", ""]
    wins: int
    ties: int
    losses: int
    effect: float
    detectable: float | None
    margin: float | None
    no_worse: bool | None
    geometric: float | None = None
    geometric_low: float | None = None
    geometric_high: float | None = None

    @property
    def same(self) -> float:
        """The estimate of two that do not differ: 1 of a ratio, 0 of a difference."""
        return 1.0 if self.kind == "ratio" else 0.0

    @property
    def determined(self) -> bool:
        """Whether there is a difference beyond chance: by the test and by the interval."""
        if self.adjusted is None or self.estimate is None or self.estimate == self.same:
            return False
        if self.low is not None and self.high is not None and self.low <= self.same <= self.high:
            return False
        if rule_of(self.metric) == "maximum" and self._direction() * self.effect <= 0:
            return False  # One conversation holds the largest; the others tell the reverse.
        return round(self.adjusted, 9) < ALPHA

    @property
    def better(self) -> bool:
        """Whether the subject is surely better."""
        return self.determined and self._direction() > 0

    @property
    def worse(self) -> bool:
        """Whether the subject is surely worse."""
        return self.determined and self._direction() < 0

    def _direction(self) -> int:
        sign = {"lower": -1, "higher": 1, "neither": 0}[METRICS[self.metric].better]
        above = self.estimate is not None and self.estimate > self.same
        return sign if above else -sign


def reference_of(comparison: Comparison) -> Row | None:
    """What the others are compared with, if nobody says so.

    Returns
    -------
    Row or None
        ``keep_all``; without it ``as_recorded``; without that the first row that is no yardstick,
        which is the cheapest; None if there are only yardsticks.
    """
    for name in WHOLE:
        if (row := comparison.row(name)) is not None:
            return row
    return next((row for row in comparison.rows if not row.null), None)


def contrasts(
    comparison: Comparison,
    reference: Row,
    metrics: Sequence[str] = PRIMARY,
    margins: Mapping[str, float] = MARGINS,
) -> dict[tuple[str, str], Contrast]:
    """Compare every strategy with a reference, conversation by conversation.

    Parameters
    ----------
    comparison
        The strategies.
    reference
        One of its rows, or a row of another comparison over the same conversations and seeds.
    metrics
        What to compare. Each of :data:`PRIMARY` is corrected for the number of strategies alone,
        all others for the number of strategies times that of the other metrics asked for.
    margins
        By metric, by how much a strategy may be worse and still be no worse.

    Returns
    -------
    dict
        By spec and metric, in the order of rows and metrics.

    Raises
    ------
    UsageError
        If a metric is not known, or if the reference is not over the same conversations.
    """
    for metric in metrics:
        if metric not in METRICS:
            raise UsageError(unknown("metric", metric, METRICS))
    rows = [row for row in comparison.rows if row is not reference]
    if not rows:
        return {}
    sample = Sample([reference, *rows], metrics)
    found = {metric: _contrasts(metric, sample, margins.get(metric)) for metric in metrics}
    others = [own for metric, all_of_it in found.items() if metric not in PRIMARY
              for own in all_of_it]  # fmt: skip
    explored = iter(_adjusted(others, "BH"))
    for metric, own in found.items():
        primary = metric in PRIMARY
        found[metric] = _adjusted(own, "Holm") if primary else [next(explored) for _ in rows]
    return {
        (row.spec, metric): found[metric][place]
        for place, row in enumerate(rows)
        for metric in found
    }


def _contrasts(metric: str, sample: Sample, margin: float | None) -> list[Contrast]:
    reference, *rows = sample.rows
    estimated, pairs, flips = estimations(metric, sample)
    better = METRICS[metric].better
    counts, chances = pairs.both.sum(axis=1), two_sided(flips)
    margins = [_margin(metric, own.kind, margin) for own in estimated]
    told: list[bool | None] = [None] * len(rows)
    if margin is not None:
        told = no_worse(better, margin, estimated, pairs)
    gains = pairs.differences if better == "higher" else -pairs.differences
    wins, losses = (gains > 0).sum(axis=1), (gains < 0).sum(axis=1)
    effects = rank_biserial(signed_ranks(gains))
    return [
        Contrast(
            metric, row.spec, reference.spec, int(counts[n]), own.kind,
            own.estimate, own.low, own.high, own.method,
            float(chances[n]) if counts[n] else None, None, "",
            int(wins[n]), int(counts[n] - wins[n] - losses[n]), int(losses[n]),
            float(round(effects[n], 9)), own.detectable,
            margins[n], told[n] if margins[n] is not None else None,
            own.geometric, own.geometric_low, own.geometric_high,
        )
        for n, (row, own) in enumerate(zip(rows, estimated, strict=True))
    ]  # fmt: skip


def _margin(metric: str, kind: Kind, margin: float | None) -> float | None:
    """The margin where it has the unit of the estimate: a share is none where nothing was spent."""
    return None if proportional(metric) and kind == "difference" else margin


def _adjusted(found: Sequence[Contrast], correction: Literal["Holm", "BH"]) -> list[Contrast]:
    adjust = holm if correction == "Holm" else benjamini_hochberg
    chances = adjust([own.p for own in found])
    return [
        replace(own, adjusted=p, correction=correction)
        for own, p in zip(found, chances, strict=True)
    ]
