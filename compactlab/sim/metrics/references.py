"""Whether what the kept tail speaks of is still introduced before it."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from compactlab.sim.messages import Messages
from compactlab.sim.metrics.metric import OWN, Metric
from compactlab.sim.metrics.moments import moments
from compactlab.sim.metrics.reading import RECENT, Reading
from compactlab.sim.metrics.recency import kept_tail
from compactlab.sim.metrics.shared import shared

if TYPE_CHECKING:
    from compactlab.sim.metrics.terms import Lexicon


@shared
def reference_closure(reading: Reading) -> float | None:
    """Share of the identifiers in the kept tail whose introduction is still in context.

    At a compaction the *kept tail* is what the prompt ends with as the log does, unchanged and in
    order, ten messages at most. Of the *identifiers* in it (see below; thinking left out) those
    count that an earlier message of the log holds, too. Closed is one that stands in the prompt
    before the tail, whoever says it there: a message, a summary, a place-holder, a system block.
    What is missing of 1 are references that dangle. Looked at are 50 compactions at most, evenly
    spread over the run; those whose tail refers to nothing do not count. No pronouns: nobody has
    labelled what they stand for.
    """
    looked_at = moments(reading)
    if not looked_at:
        return None
    from compactlab.sim.metrics.terms import Context, terms_of

    names = terms_of(reading.conversation).names
    introduced, context = _Introduced(names), Context(names)
    shares = []
    for step, _, _, prompt in looked_at:
        kept = min(kept_tail(step.log, prompt), RECENT)
        tail, rest = prompt[len(prompt) - kept :], prompt[: len(prompt) - kept]
        referred = introduced.among(tail, step.log[: len(step.log) - kept])
        (stands,) = context.become(rest, step.system)
        if referred:
            shares.append(float((stands[[*referred]] > 0).mean()))
    return fmean(shares) if shares else None


class _Introduced:
    """Follows a log that mostly grows, so that what was said before is not gone through again."""

    def __init__(self, names: Lexicon) -> None:
        self._names = names
        self._log = Messages()
        self._known: set[int] = set()

    def among(self, tail: Messages, log: Messages) -> set[int]:
        """The distinct identifiers of some messages that the log before them holds, too."""
        same = self._log.shared(log)
        if same < len(self._log):
            same, self._known = 0, set()
        self._known.update(self._names.of(log[same:]).tolist())
        self._log = log
        return self._known.intersection(self._names.of(tail).tolist())


METRICS = (
    Metric("share", "higher", "of what the kept tail refers to, what is still introduced",
           "mean over compactions, 50 at most", OWN, reference_closure),
)  # fmt: skip
