"""How far a compaction moves the context: descriptive, as dropping anything at all moves it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from compactlab.sim.metrics.metric import Metric
from compactlab.sim.metrics.moments import moments
from compactlab.sim.metrics.reading import Reading
from compactlab.sim.metrics.shared import shared

if TYPE_CHECKING:
    from compactlab.sim.metrics.terms import Numbers


def drift_words(reading: Reading) -> float | None:
    """One less the cosine between the words of the context before a compaction and after it.

    *Before* is the prompt before with all that came to the log since; *after* is the prompt of the
    compaction's call; system blocks are in both, thinking in none. Words are runs of letters,
    digits and underscores in lower case. A word weighs how often it stands there, times its
    inverse document frequency: ln((1 + n) / (1 + k)) + 1, if k of the n messages of the script
    hold it, rounded to tenths. 0 if nothing moved, 1 if no word is left. It rises with all
    that is dropped, so no direction of it is good. Looked at are 50 compactions at most, evenly
    spread over the run.
    """
    return _mean(drift.words for drift in _drifts(reading))


def drift_identifiers(reading: Reading) -> float | None:
    """Jensen-Shannon divergence between the identifiers before a compaction and after it.

    Of the distributions of *identifiers* (see below), each weighing the parts that hold it, over
    the same contexts as ``drift_words``; to the base 2. 0 if they are equal, 1 if they share
    nothing.
    """
    return _mean(drift.names for drift in _drifts(reading))


def drift_tools(reading: Reading) -> float | None:
    """The same divergence between the names of the tools that are called in them."""
    return _mean(drift.tools for drift in _drifts(reading))


class _Drift(NamedTuple):
    """How far one compaction moved the context."""

    words: float
    names: float
    tools: float


@shared
def _drifts(reading: Reading) -> list[_Drift]:
    looked_at = moments(reading)
    if not looked_at:
        return []
    from compactlab.sim.metrics.terms import Context, terms_of

    terms = terms_of(reading.conversation)
    terms.weights()  # numbers all words of the script, so that only summaries bring new ones
    context = Context(terms.words, terms.names, terms.tools)
    found = []
    for step, before, system, prompt in looked_at:
        was = context.become(before, system)
        now = context.become(prompt, step.system)
        words, names, tools = zip(map(_padded, was, now), now, strict=True)
        found.append(_Drift(_turned(terms.weights(), *words), _diverged(*names), _diverged(*tools)))
    return found


def _padded(was: Numbers, now: Numbers) -> Numbers:
    """Counts from before the lexicon grew."""
    import numpy as np

    return np.concatenate([was, np.zeros(len(now) - len(was), dtype=np.int64)])


def _turned(weights: Numbers, was: Numbers, now: Numbers) -> float:
    """One less the cosine of two vectors of counts."""
    product = int((weights * was * now).sum())
    lengths = int((weights * was * was).sum()) * int((weights * now * now).sum())
    if not lengths:
        return float(was.any() != now.any())
    return max(0.0, 1 - product / math.sqrt(lengths))


def _diverged(was: Numbers, now: Numbers) -> float:
    there = (was + now).nonzero()[0]
    return divergence(zip(was[there].tolist(), now[there].tolist(), strict=True))


def divergence(counts: Iterable[tuple[int, int]]) -> float:
    """Jensen-Shannon divergence of two distributions, to the base 2.

    Parameters
    ----------
    counts
        How often each thing was counted here and there.

    Returns
    -------
    float
        From 0, if shares are equal, to 1, if nothing is shared; 1 also if there is nothing at all
        on one side.

    Examples
    --------
    >>> divergence([(1, 2), (3, 6)]), divergence([(1, 0), (0, 5)]), divergence([])
    (0.0, 1.0, 0.0)
    """
    # Many things are counted alike; and what fsum adds may come in any order.
    alike = Counter(counts)
    here = sum(one * times for (one, _), times in alike.items())
    there = sum(other * times for (_, other), times in alike.items())
    if not here or not there:
        return float(here != there)
    terms = []
    for (one, other), times in alike.items():
        p, q = one / here, other / there
        terms += [times * share * math.log2(2 * share / (p + q)) for share in (p, q) if share]
    return min(1.0, max(0.0, math.fsum(terms) / 2))


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return fmean(found) if found else None


_OF_SOME = "mean over compactions, 50 at most"
_TF_IDF = "cosine of TF-IDF vectors; K. Sparck Jones, Journal of Documentation 28, 1972"
_LIN = "J. Lin, Divergence Measures Based on the Shannon Entropy, IEEE Trans. Inf. Theory 37, 1991"

METRICS = (
    Metric("share", "neither", "how far a compaction moves the words of the context", _OF_SOME,
           _TF_IDF, drift_words),
    Metric("share", "neither", "how far it moves the identifiers in it", _OF_SOME, _LIN,
           drift_identifiers),
    Metric("share", "neither", "how far it moves the tools that are called in it", _OF_SOME, _LIN,
           drift_tools),
)  # fmt: skip
