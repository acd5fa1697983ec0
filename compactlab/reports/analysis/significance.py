"""Tests of differences: sign flips, non-inferiority, sizes of effects, and many comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from sys import float_info

import numpy as np
from numpy.typing import NDArray

from compactlab.reports.analysis import betting
from compactlab.reports.analysis.bootstrap import (
    FEWEST,
    Estimation,
    effective,
    smallest_share,
)
from compactlab.reports.analysis.comparison import Case, Row, case_of
from compactlab.reports.analysis.sample import SAME, Floats, Pairs, products
from compactlab.sim.core.stream import stream
from compactlab.sim.metrics.metric import Better
from compactlab.sim.store.run import Run

# The sign-flip permutation test: a coin may swap the two names of each pair.

# Up to this many pairs, all flips are tried; beyond, FLIPS of them are drawn.
EXACT = 14
FLIPS = 9_999


def two_sided(differences: Floats) -> Floats:
    """The share of sign flips whose sum is at least as extreme, in either direction.

    Under the null hypothesis that the names in each pair are exchangeable, all flips are equally
    likely (Fisher 1935, The Design of Experiments, section 21). Sums give the same p as means and
    ratios of sums: these are monotonic in the sums, because the total of both stays the same.

    Examples
    --------
    >>> two_sided(np.array([[1.0, 2.0, 3.0], [1.0, -1.0, 0.0]])).tolist()
    [0.25, 1.0]
    """
    shares = np.ones(len(differences))
    pairs = np.count_nonzero(differences, axis=1)
    few, many = (np.flatnonzero(flags) for flags in ((pairs > 0) & (pairs <= EXACT), pairs > EXACT))
    if len(few):
        shares[few] = _enumerated(differences[few], int(pairs[few].max()))
    if len(many):
        shares[many] = _as_far(differences[many], drawn_flips(differences.shape[1]))
    return shares


def signed_ranks(differences: Floats) -> Floats:
    """Signed ranks of the differences by size, from 1 on; 0 for equal values.

    With them the test is Wilcoxon's (1945, Biometrics Bulletin 1:80), which allows infinite values.

    Examples
    --------
    >>> signed_ranks(np.array([[0.0, -0.5, np.inf, 0.5]])).tolist()
    [[0.0, -1.5, 3.0, 1.5]]
    """
    ranks = np.zeros_like(differences)
    for row, own in zip(ranks, differences, strict=True):
        places = np.flatnonzero(own)
        if len(places):
            places = places[np.argsort(np.abs(own[places]), kind="stable")]
            sizes = np.abs(own[places])
            # Sizes that differ only by rounding share one rank, the middle of theirs.
            group = np.cumsum([0, *(sizes[1:] > sizes[:-1] * (1 + SAME))])
            members = np.bincount(group)
            row[places] = np.sign(own[places]) * (np.cumsum(members) - (members - 1) / 2)[group]
    return ranks


def _enumerated(differences: Floats, pairs: int) -> Floats:
    # Flips do not change pairs without a difference. Move the others to the front.
    front = np.argsort(differences == 0, axis=1, kind="stable")[:, :pairs]
    own = np.take_along_axis(differences, front, axis=1)
    return _as_far(own, every_flip(pairs))


def _as_far(differences: Floats, flips: NDArray[np.int8]) -> Floats:
    """The share of flips whose sums are at least as extreme as the observed ones."""
    seen = differences.sum(axis=1, keepdims=True)
    # A sum that differs only by rounding is as extreme.
    margin = SAME * np.abs(differences).sum(axis=1, keepdims=True)
    count = np.zeros(len(differences))
    for _, sums in products(differences, flips):
        count += (np.abs(sums) >= np.abs(seen) - margin).sum(axis=1)
    return count / len(flips)


def conversations_needed(strategies: int, level: float = 0.05) -> int | None:
    """The number of conversations from which on a difference can be significant.

    If all n conversations differ in one direction, the two-sided p is 2 / 2**n, and Holm's
    correction multiplies it by the number of strategies.

    Examples
    --------
    >>> [conversations_needed(strategies) for strategies in (1, 7, 30, 500)]
    [6, 9, 11, None]
    """
    if strategies >= level * (FLIPS + 1):
        return None
    pairs = 1
    while strategies * 2 / 2**pairs >= level:
        pairs += 1
    return pairs


@lru_cache(maxsize=EXACT)
def every_flip(pairs: int) -> NDArray[np.int8]:
    """All sign flips of this many pairs; flips by pairs, 1 or -1."""
    ways = np.arange(2**pairs)[:, None] >> np.arange(pairs)
    return np.where(ways & 1, -1, 1).astype(np.int8)


@lru_cache(maxsize=8)
def drawn_flips(pairs: int) -> NDArray[np.int8]:
    """The observed signs and random sign flips of this many pairs; flips by pairs, 1 or -1."""
    source = np.random.PCG64(stream(0, "flips", pairs).getrandbits(128))
    words = -(-FLIPS * pairs // 64)
    raw = np.atleast_1d(source.random_raw(words)).astype("<u8").view(np.uint8)
    bits = np.unpackbits(raw)[: FLIPS * pairs].reshape(FLIPS, pairs)
    flips = np.ones((FLIPS + 1, pairs), np.int8)
    # The first row is the observation: nothing is flipped.
    flips[1:] -= 2 * bits.view(np.int8)
    return flips


# Non-inferiority: whether a strategy is worse than the reference by less than a margin.

# One-sided: one end of a 95 % interval.
ALPHA = 0.025


def no_worse(better: Better, margin: float, estimations: list[Estimation]) -> list[bool | None]:
    """Whether each strategy is worse by less than a margin.

    The worse end of its 95 % interval has to lie within the margin (Piaggio and others 2012, JAMA
    308:2594). None without an interval.
    """
    verdicts: list[bool | None] = []
    for own in estimations:
        worst = own.high if better == "lower" else own.low
        if better == "neither" or worst is None:
            verdicts.append(None)
        else:
            same = 1.0 if own.kind == "ratio" else 0.0
            verdicts.append((worst - same) * (1 if better == "lower" else -1) < margin)
    return verdicts


def no_less(better: Better, margin: float, pairs: Pairs) -> list[bool | None]:
    """The same for shares, by a test that holds for any distribution of losses."""
    if better == "neither":
        return [None] * len(pairs.ours)
    losses = pairs.differences if better == "lower" else -pairs.differences
    return [
        betting.p_at_least(own[both], margin) <= ALPHA
        if both.sum() >= FEWEST and own.max() <= 1
        else None
        for own, both in zip(losses, pairs.both, strict=True)
    ]


# Effect sizes without a unit: the frequency of wins, and differences of ranks.


def rank_biserial(ranks: Floats) -> Floats:
    """Ranks of the positive differences less those of the negative ones, over all ranks.

    1 if all are positive, -1 if all are negative, 0 without any (Kerby 2014, Comprehensive
    Psychology 3:1, for matched pairs).

    Examples
    --------
    >>> rank_biserial(np.array([[3.0, -1.0, 2.0, 0.0]])).round(3).tolist()
    [0.667]
    """
    total = np.abs(ranks).sum(axis=1)
    effects: Floats = np.divide(ranks.sum(axis=1), total, out=np.zeros(len(ranks)), where=total > 0)
    return effects


def mcnemar(only_ours: int, only_theirs: int) -> float:
    """The exact two-sided p of McNemar's test, on binary pairs.

    It assumes independent pairs. Facts of one conversation are not, so it only supplements the
    sign-flip test (McNemar 1947, Psychometrika 12:153).

    Examples
    --------
    >>> mcnemar(1, 5), mcnemar(3, 3)
    (0.21875, 1.0)
    """
    pairs = only_ours + only_theirs
    ways, tail = 1, 0
    for heads in range(min(only_ours, only_theirs) + 1):
        tail += ways
        ways = ways * (pairs - heads) // (heads + 1)
    # In whole numbers: a float overflows at 2**1024. A p too small for a float is not shown as 0.
    return min(1.0, max(float_info.min, 2 * tail / (1 << pairs)))


# Corrections for multiple comparisons.


def holm(chances: Sequence[float | None]) -> list[float | None]:
    """Adjust p values so that rejecting below 5 % has a family-wise error rate of at most 5 %.

    The smallest is multiplied by their number n, the next by n - 1, and so on; each is at least the
    previous one (Holm 1979, Scandinavian Journal of Statistics 6:65).

    Examples
    --------
    >>> holm([0.01, 0.04, None, 0.03])
    [0.03, 0.06, None, 0.06]
    """
    order = _ascending(chances)
    adjusted: list[float | None] = [None] * len(chances)
    largest = 0.0
    for rank, (p, index) in enumerate(order):
        largest = max(largest, min(1.0, p * (len(order) - rank)))
        adjusted[index] = largest
    return adjusted


def benjamini_hochberg(chances: Sequence[float | None]) -> list[float | None]:
    """Adjust p values so that rejecting below 5 % has a false discovery rate of at most 5 %.

    Each is multiplied by the number of p values over its rank, and is at most the next one
    (Benjamini and Hochberg 1995, Journal of the Royal Statistical Society B 57:289).

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, None, 0.03])
    [0.03, 0.04, None, 0.04]
    """
    order = _ascending(chances)
    adjusted: list[float | None] = [None] * len(chances)
    smallest = 1.0
    for rank in range(len(order), 0, -1):
        p, index = order[rank - 1]
        smallest = min(smallest, p * (len(order) / rank))
        adjusted[index] = smallest
    return adjusted


def _ascending(chances: Sequence[float | None]) -> list[tuple[float, int]]:
    return sorted((p, index) for index, p in enumerate(chances) if p is not None)


# Facts that only one of two strategies forgot: a check on the results by conversation.

_TABLE = "facts"


@dataclass(frozen=True)
class Discordance:
    """Needed facts, by which of two strategies had forgotten them.

    McNemar's exact p assumes independent facts: it is too small if facts of a conversation are
    forgotten together.
    """

    facts: int
    conversations: int
    subject: int  # facts forgotten by the subject alone, at any call that needed them
    reference: int
    p: float
    correlation: float  # intraclass correlation of the differences, from 0 to 1
    detectable: float | None  # smallest detectable difference of shares, given the correlation


def discordance(subject: Row, reference: Row) -> Discordance | None:
    """Compare two strategies fact by fact."""
    ours, theirs = (_first_of_each(row) for row in (subject, reference))
    differences = {}
    for conversation, run in ours.items():
        mine, yours = _missed(run), _missed(theirs[conversation])
        gaps = [mine[fact] - yours[fact] for fact in mine if fact in yours]
        if gaps:
            differences[conversation] = gaps
    groups = list(differences.values())
    facts = sum(map(len, groups))
    if not facts:
        return None
    worse, better = (sum(group.count(sign) for group in groups) for sign in (1, -1))
    alike = correlation(groups)
    pairs = effective(facts, len(groups), alike)
    least = smallest_share(pairs, (worse + better) / facts)
    return Discordance(
        facts, len(groups), worse, better, mcnemar(worse, better), round(alike, 9), least
    )


def correlation(groups: Sequence[Sequence[float]]) -> float:
    """The intraclass correlation of values in groups, one-way, from 0 to 1.

    The estimate by the analysis of variance (Donner 1986, International Statistical Review 54:67);
    negative estimates count as 0.

    Examples
    --------
    >>> correlation([[1, 1, 1], [0, 0, 0]]), correlation([[1, 0], [0, 1]])
    (1.0, 0.0)
    """
    sizes = np.array([len(group) for group in groups], np.float64)
    count, total = len(groups), sizes.sum()
    if count < 2 or total == count:
        return 0.0
    means = np.array([np.mean(group) for group in groups])
    middle = (sizes * means).sum() / total
    between = (sizes * (means - middle) ** 2).sum() / (count - 1)
    pairs = zip(groups, means, strict=True)
    within = sum(((np.array(group) - mean) ** 2).sum() for group, mean in pairs) / (total - count)
    size = (total - (sizes**2).sum() / total) / (count - 1)
    spread = between + (size - 1) * within
    return float(max(0.0, (between - within) / spread)) if spread > 0 else 0.0


def _first_of_each(row: Row) -> dict[tuple[str, str], Run]:
    by_conversation: dict[tuple[str, str], Run] = {}
    runs: dict[Case, Run] = {case_of(run): run for run in row.runs}
    for case in sorted(runs):
        by_conversation.setdefault(case[:2], runs[case])
    return by_conversation


def _missed(run: Run) -> dict[str, int]:
    """Whether each needed fact was missing at a call that needed it."""
    table = run.rows.get(_TABLE)
    if not table:
        return {}
    columns = (table[name] for name in ("fact", "needs", "first_missed"))
    return {
        fact: int(missed > 0) for fact, needs, missed in zip(*columns, strict=True) if needs > 0
    }
