"""Whether what survives stands in the order in which it was said."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Sequence
from operator import le
from statistics import fmean

from compactlab.sim.message import Message
from compactlab.sim.messages import Messages
from compactlab.sim.metrics.metric import Metric
from compactlab.sim.metrics.moments import moments
from compactlab.sim.metrics.reading import Reading
from compactlab.sim.metrics.shared import shared

# What is left of a message, whole or in part. A summary stands for many at once, and what memory
# recalls was written elsewhere.
_SURVIVES = frozenset({"verbatim", "truncated", "stub", "recovered"})


@shared
def order_fidelity(reading: Reading) -> float | None:
    """Kendall's tau between the log's order and the prompt's, of what survives in the prompt.

    At a compaction, of the parts that are verbatim, truncated, a place-holder or put back, each at
    the place of the log message that it comes from: the pairs that stand in the log's order less
    those that stand the other way round, over all pairs. 1 if all keep their order, -1 if it is
    turned round. Parts of the same message have no order among each other. Summaries are left out,
    as they stand for many messages at once. Looked at are 50 compactions at most, evenly spread
    over the run; those with fewer than two survivors do not count.
    """
    places = _Places()
    taus = [kendall(places.of(prompt, step.log)) for step, _, _, prompt in moments(reading)]
    found = [tau for tau in taus if tau is not None]
    return fmean(found) if found else None


def kendall(places: Sequence[int]) -> float | None:
    """Kendall's tau between a sequence of places and its sorted order; equal ones make no pair.

    Parameters
    ----------
    places
        Where each stood before, in the order in which they stand now.

    Returns
    -------
    float or None
        From -1 to 1; None if no two places differ.

    Examples
    --------
    >>> kendall([1, 2, 3, 4]), kendall([4, 3, 2, 1]), kendall([1, 3, 2]), kendall([5, 5])
    (1.0, -1.0, 0.3333333333333333, None)
    """
    pairs = _pairs(len(places)) - sum(map(_pairs, Counter(places).values()))
    if not pairs:
        return None
    if all(map(le, places, places[1:])):
        return 1.0
    turned = 0
    before: list[int] = []
    for place in places:
        turned += len(before) - bisect_right(before, place)
        insort(before, place)
    return (pairs - 2 * turned) / pairs


def _pairs(count: int) -> int:
    return count * (count - 1) // 2


class _Places:
    """Where messages stand in a log that mostly grows."""

    def __init__(self) -> None:
        self._log = Messages()
        self._places: dict[str, int] = {}

    def of(self, prompt: Iterable[Message], log: Messages) -> list[int]:
        """The places in the log of what survives in a prompt, in the prompt's order."""
        same = self._log.shared(log)
        if same < len(self._log):
            same, self._places = 0, {}
        self._log = log
        for place, message in enumerate(log[same:], same):
            self._places[message.id] = place
        known = self._places
        return [
            known[part.sources[0].id]
            for message in prompt
            for part in message.parts
            if part.kind in _SURVIVES and part.sources and part.sources[0].id in known
        ]


METRICS = (
    Metric("ratio", "higher", "whether what survives keeps its order (Kendall's tau)",
           "mean over compactions, 50 at most", "M. Kendall, A New Measure of Rank Correlation, "
           "Biometrika 30, 1938", order_fidelity),
)  # fmt: skip
