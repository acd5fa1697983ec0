"""Whether memory was written before each compaction, and which facts reached it."""

from __future__ import annotations

from statistics import fmean, median

from compactlab.sim.core.conversation import FactType
from compactlab.sim.metrics.fact_timeline import fact_timeline, share
from compactlab.sim.metrics.metric import Member, metric
from compactlab.sim.metrics.run_data import RunData, shared
from compactlab.sim.replay.trace import SideCall

_SIGNET = "Signet specification, section 6.4"

# Whether memory was flushed before each compaction, how close to it, and the text shown to users.


@metric("share", "higher", "mean over compactions", _SIGNET, label="flushed")
def flushed_compactions(data: RunData) -> float | None:
    """Share of the compactions with a flush of memory in the same cycle before them.

    A *flush* is an extra turn before a compaction, in which the agent writes its memory; the Signet
    specification (6.4.1) demands one each time. A *cycle* is the time between two compactions of
    the session's view; compactions for a single turn or request do not end it. The metric is the
    share of compactions whose cycle has a flush. None without compactions, and for strategies that
    promise no flush. A reminder in the summary request promises a flush that never happens (0).
    Mechanisms that cannot be observed have no value.
    """
    margins = _margins(data)
    asked = data.trace.header.flushes or _flushes(data)
    return fmean(margin is not None for margin in margins) if margins and asked else None


@metric("tokens", "neither", "median over compactions with a flush", _SIGNET, aggregation="median")
def flush_margin(data: RunData) -> float | None:
    """Tokens between a flush and its compaction.

    For each compaction with a flush before it: the largest prompt since the flush, including the
    flush's own calls, less the flush's first prompt. The specification recommends to flush 4,000
    tokens early. If a turn grows by more than that, the flush comes too late for the turn's
    content; a margin of a few hundred tokens means that the flush came at the last moment. None
    without a flush.
    """
    margins = [margin for margin in _margins(data) if margin is not None]
    return median(margins) if margins else None


@metric("tokens", "lower", "sum over flushes", _SIGNET)
def flush_heard(data: RunData) -> int | None:
    """Tokens of the answers to flushes that the user sees.

    A flush must be invisible to the user, so this must be 0. It counts the rest of the agent's
    answers after the client has processed the token for silence, by the rules of its version. Most
    summarisers answer only with the token; ``lossy`` answers with more with the probability
    ``audible``. None without a flush.
    """
    flushes = _flushes(data)
    return sum(call.heard for call in flushes) if flushes else None


def _flushes(data: RunData) -> list[SideCall]:
    return [call for call in data.side_calls if call.purpose == "flush"]


def _margins(data: RunData) -> list[int | None]:
    """The growth of the prompt from the flush to each compaction; None without a flush.

    Events between two compactions have the same cycle number; a rewind may revert compactions, so a
    number may occur again.
    """
    margins: list[int | None] = []
    first: dict[int, int] = {}
    largest: dict[int, int] = {}
    cycle = 0
    for step in data.trace.steps:
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


# The facts that a flush wrote into memory before the compaction.

# Topics worth keeping (section 6.4.3 of the Signet specification), by types of facts.
TOPICS: dict[str, tuple[str, tuple[FactType, ...]]] = {
    "decisions": ("decisions", ("decision",)),
    "user": ("facts about the user (preferences, entities)", ("preference", "entity")),
    "progress": ("progress (artifacts, open loops)", ("artifact", "open_loop")),
    "actions": ("action items (open loops, goals)", ("open_loop", "goal")),
}


@shared
def _flushed(data: RunData) -> list[bool]:
    """Whether a compaction with a flush in its cycle came before each call of the script.

    Steps between two compactions have the same cycle number; a step with a higher number than the
    previous one follows a compaction.
    """
    flushed: set[int] = set()
    cycle, waiting = 0, False
    flushes = []
    for step in data.trace.steps:
        flushed.update(call.cycle for call in step.side if call.purpose == "flush")
        waiting = waiting or any(ended in flushed for ended in range(cycle, step.cycle))
        cycle = step.cycle
        if not step.recovery:
            flushes.append(waiting)
            waiting = False
    return flushes


@metric(
    "share",
    "higher",
    "sum of facts in memory over sum of facts due, of all flushed compactions",
    "Signet specification, section 6.4.3",
    members=[Member(f"flush_{topic}", kinds, words) for topic, (words, kinds) in TOPICS.items()],
)
def _reached(data: RunData, kinds: tuple[FactType, ...]) -> float | None:
    """Share of {} in memory when a compaction followed a flush.

    Of the facts of those types that are due at the first call of the script after a compaction with
    a flush in its cycle, the share that a note in memory then holds, verbatim or intact. All such
    compactions are summed.
    """
    timeline = fact_timeline(data)
    facts = 0
    for kind in kinds:
        facts |= timeline.ledger.of_kind.get(kind, 0)
    due = [
        moment & facts if flushed else 0
        for moment, flushed in zip(timeline.due, _flushed(data), strict=True)
    ]
    return share(timeline.memory, due)
