"""Whether memory was written down before each compaction, how near to it, and who heard of it."""

from __future__ import annotations

from statistics import fmean, median

from compactlab.sim.metrics.metric import Metric
from compactlab.sim.metrics.reading import Reading
from compactlab.sim.trace import SideCall


def flushed_compactions(reading: Reading) -> float | None:
    """Share of the session's compactions before which there was a flush in the same cycle.

    A *flush* is an extra turn before a compaction, in which the agent writes its memory down; the
    Signet specification (6.4.1) demands one each time. A *cycle* is what lies between two
    compactions of the session's view; compactions that hold for a turn or a request alone end none.
    Of the compactions, the share in whose cycle there was a flush. None where nothing was
    compacted, and for strategies that promise no flush: a reminder in the request for the summary
    is a promise of one that is never kept (0), and of a mechanism that cannot be seen from outside
    nothing is said.
    """
    margins = _margins(reading)
    asked = reading.trace.header.flushes or _flushes(reading)
    return fmean(margin is not None for margin in margins) if margins and asked else None


def flush_margin(reading: Reading) -> float | None:
    """Median over flushed compactions of the tokens that came between flush and compaction.

    For each compaction with a flush before it: the largest prompt from the flush on, the flush's
    own calls among them, less the flush's first prompt. The specification recommends to flush 4,000
    tokens early; where a turn grows by more than that, the flush comes too late for what the turn
    adds, and a margin of a few hundred tokens says that it came in the last moment. None without a
    flush.
    """
    margins = [margin for margin in _margins(reading) if margin is not None]
    return median(margins) if margins else None


def flush_heard(reading: Reading) -> int | None:
    """Tokens of what flushes answered that the user was shown.

    A flush must be invisible to the user, so this must be 0. It is what is left of the agent's
    answers when the client has dealt with the token for silence, by the rules of its version. The
    scripted agent answers with the token alone; another summariser may say more. None without a
    flush.
    """
    flushes = _flushes(reading)
    return sum(call.heard for call in flushes) if flushes else None


def _flushes(reading: Reading) -> list[SideCall]:
    return [call for call in reading.side_calls if call.purpose == "flush"]


def _margins(reading: Reading) -> list[int | None]:
    """For each compaction: by how much the prompt grew from the flush on; None without a flush.

    What happened between two compactions has the same cycle number; going back in the script may
    take compactions back, and then a number occurs again.
    """
    margins: list[int | None] = []
    first: dict[int, int] = {}
    largest: dict[int, int] = {}
    cycle = 0
    for step in reading.trace.steps:
        for call in step.side:
            if call.purpose == "flush":
                first.setdefault(call.cycle, call.usage.prompt)
                largest[call.cycle] = max(call.usage.prompt, largest.get(call.cycle, 0))
        margins += (
            largest[ended] - first[ended] if ended in first else None
            for ended in range(cycle, step.cycle)
        )
        cycle = step.cycle
        if cycle in first:
            largest[cycle] = max(step.usage.prompt, largest[cycle])
    return margins


_SIGNET = "Signet specification, section 6.4"

METRICS = (
    Metric("share", "higher", "compactions before which memory was flushed, in the same cycle",
           "mean over compactions", _SIGNET, flushed_compactions),
    Metric("tokens", "neither", "tokens that came between a flush and its compaction",
           "median over compactions with a flush", _SIGNET, flush_margin),
    Metric("tokens", "lower", "tokens that a user was shown of the answers to flushes",
           "sum over flushes", _SIGNET, flush_heard),
)  # fmt: skip
