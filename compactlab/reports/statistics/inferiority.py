"""Non-inferiority: whether a strategy is no worse than the reference, up to a margin."""

from __future__ import annotations

import numpy as np

from compactlab.reports.statistics import bootstrap
from compactlab.reports.statistics.detectable import FEWEST_PAIRS
from compactlab.reports.statistics.estimation import Estimation
from compactlab.reports.statistics.sample import SAME, Floats, Pairs
from compactlab.reports.statistics.sign_flip import one_sided
from compactlab.sim.metrics.metric import Better

# One-sided, as is the end of an interval of 95 %.
ALPHA = 0.025


def no_worse(
    better: Better, margin: float, estimations: list[Estimation], pairs: Pairs
) -> list[bool | None]:
    """Say of each strategy whether it is worse by less than a margin.

    The worse end of its 95 % interval has to lie within the margin (Piaggio and others 2012, JAMA
    308:2594). With 6 to 9 conversations, where there is no interval, the differences less the
    margin are tested by all flips of their signs, one-sided at 2.5 %.

    Parameters
    ----------
    better
        Which direction of the metric is good.
    margin
        By how much it may be worse: in the metric's unit, or as a share of the reference for a
        ratio.
    estimations, pairs
        Of the strategies.

    Returns
    -------
    list
        None where it cannot be said: with fewer than 6 conversations, whatever they show, and of
        metrics without a good direction.
    """
    excess = _excess(better, margin, estimations, pairs)
    chances = one_sided(excess)
    found: list[bool | None] = []
    for own, count, p in zip(estimations, pairs.both.sum(axis=1), chances, strict=True):
        worst = own.high if better == "lower" else own.low
        if better == "neither" or own.estimate is None or count < FEWEST_PAIRS:
            found.append(None)
        elif worst is not None:
            same = 1.0 if own.kind == "ratio" else 0.0
            found.append((worst - same) * (1 if better == "lower" else -1) < margin)
        elif count < bootstrap.FEWEST:
            found.append(bool(p <= ALPHA))
        else:
            found.append(None)
    return found


def _excess(better: Better, margin: float, estimations: list[Estimation], pairs: Pairs) -> Floats:
    """By how much each conversation is worse than the margin allows; below 0 if it is not."""
    ratio = np.array([own.kind == "ratio" for own in estimations])[:, None]
    sign = -1.0 if better == "higher" else 1.0
    allowed = margin * np.where(ratio, np.abs(pairs.theirs), 1.0)
    with np.errstate(invalid="ignore"):
        excess = sign * pairs.differences - allowed
        sizes = np.maximum(np.abs(pairs.ours), np.abs(pairs.theirs)) + allowed
        some = pairs.both & np.isfinite(excess) & (np.abs(excess) > SAME * sizes)
    found: Floats = np.where(some, excess, 0.0)
    return found
