"""Facts in a prompt: work in progress that it states, and old, changed and deleted ones."""

from __future__ import annotations

from collections import defaultdict
from typing import Literal

from compactlab.sim.core.clients import instruction_files
from compactlab.sim.facts.ledger import Ledger, numbers
from compactlab.sim.metrics.fact_timeline import fact_timeline, lack, share
from compactlab.sim.metrics.metric import OWN, Member, metric
from compactlab.sim.metrics.run_data import RunData

_DUE = "sum of such facts over sum of facts due, of all calls"
_KEPT = "sum of facts kept over sum of facts due, of all calls"
_OWN = "own, docs/concepts.md"


@metric("share", "higher", _KEPT, OWN)
def open_loops(data: RunData) -> float | None:
    """Share of open loops that the prompt still states, verbatim or intact.

    All pairs of a call of the script and an open loop that has not been closed, without those whose
    state is unknown.
    """
    timeline = fact_timeline(data)
    loops = timeline.ledger.of_kind.get("open_loop", 0)
    return share(timeline.kept, [due & loops for due in timeline.known])


@metric(
    "share",
    "higher",
    _KEPT,
    OWN,
    members=[
        Member("instruction_must", "must", "to do something", label="rules: must"),
        Member("instruction_must_not", "must_not", "not to do something", label="must not"),
    ],
)
def _instruction(data: RunData, polarity: Literal["must", "must_not"]) -> float | None:
    """Share of standing instructions {} that the prompt holds, verbatim or intact.

    All pairs of a call of the script and a due fact of that polarity whose scope is the rest of the
    session, without those whose state is unknown.
    """
    timeline = fact_timeline(data)
    asked = timeline.ledger.mask(
        number
        for number, fact in enumerate(timeline.ledger.facts)
        if fact.polarity == polarity and fact.scope == "session"
    )
    return share(timeline.kept, [due & asked for due in timeline.known])


@metric("share", "lower", _DUE, _OWN)
def resurrected_rate(data: RunData) -> float | None:
    """Share of finished tasks that the prompt requests without stating that they are finished.

    All pairs of a call of the script and a due fact of type ``done``, without those whose state is
    unknown; the share in the state resurrected: the prompt states the superseded task, verbatim or
    in other words, but not its end. A task without any trace is forgotten, not resurrected. In the
    closed loop, a call that needs such a fact may do the work again (``misuse`` of
    `compactlab.sim.replay.recovery`).
    """
    timeline = fact_timeline(data)
    finished = timeline.ledger.finished
    due = [facts & finished for facts in timeline.known]
    return share((states.resurrected for states in timeline.states), due)


@metric(
    "share", "lower", "sum of missed needs of handles over sum of their needs, of all calls", _OWN
)
def handles_forgotten(data: RunData) -> float | None:
    """Share of the uses of running agents at which the prompt no longer has their handle.

    A use is a need of a fact of type ``handle``: a call that asks an agent or a process for its
    result or progress. A handle is forgotten if it is neither verbatim nor intact. Unknown states
    are left out. ``amnesia_handle`` measures how long handles are missing, used or not.
    """
    timeline = fact_timeline(data)
    handles = timeline.ledger.of_kind.get("handle", 0)
    return lack(timeline.kept, [needed & handles for needed in timeline.needed])


@metric("share", "higher", _KEPT, _OWN)
def instruction_file(data: RunData) -> float | None:
    """Share of the facts in instruction files that the prompt holds, verbatim or intact.

    An instruction file is a message of the client before the first turn in which a heading, or
    "Contents of", names CLAUDE.md, AGENTS.md or GEMINI.md. All pairs of a call of the script and a
    due fact that such a message states, without those whose state is unknown. None without such
    facts: without labels, no facts are inferred from instruction files.
    """
    timeline = fact_timeline(data)
    files = {message.id for message in instruction_files(data.conversation.messages)}
    stated = timeline.ledger.mask(
        number
        for number, fact in enumerate(timeline.ledger.facts)
        if any(source.id in files for source in fact.origin)
    )
    return share(timeline.kept, [due & stated for due in timeline.known])


@metric("share", "lower", _DUE, _OWN)
def presumed_rate(data: RunData) -> float | None:
    """Share of open questions and proposals that the prompt states as if the user had decided.

    All pairs of a call of the script and a due fact of polarity ``asks``, without those whose state
    is unknown; the share in the state presumed: it is not verbatim, and in other words it is
    stated, demanded or rejected instead of asked, proposed or left open.
    """
    timeline = fact_timeline(data)
    asked = [due & timeline.ledger.asking for due in timeline.known]
    return share((states.presumed for states in timeline.states), asked)


_SUCH = "sum of such facts over sum of due facts, of all calls"
_REVISED = "sum of such facts over sum of revised facts, of all calls"

# Agents followed damaged rules less than missing ones: a damaged rule does more harm.
MUTATED, LOST = 1.5, 1.0


@metric("share", "lower", _REVISED, OWN)
def stale(data: RunData) -> float | None:
    """Share of revised facts of which the prompt holds only an older value.

    At each call of the script, a revised fact is due and supersedes others, as the end of a task
    does: the states stale and resurrected count. Facts whose state is unknown are left out.
    """
    timeline = fact_timeline(data)
    revised = timeline.ledger.revised
    due = [facts & revised for facts in timeline.known]
    return share((states.outdated for states in timeline.states), due)


@metric("share", "lower", _REVISED, OWN)
def conflict(data: RunData) -> float | None:
    """Share of revised facts whose new and old value both appear in unknown order.

    Only text that is not verbatim counts, because verbatim text is in the log's order.
    """
    timeline = fact_timeline(data)
    revised = timeline.ledger.revised
    due = [facts & revised for facts in timeline.known]
    return share((states.conflict for states in timeline.states), due)


@metric(
    "share",
    "lower",
    "sum of such facts over sum of dependents of changed facts, of all calls",
    "own, after the cascades of MEME, arXiv 2605.12477",
)
def cascade(data: RunData) -> float | None:
    """Share of dependents of a changed fact that the prompt holds without the change.

    A dependent is a due fact that follows, directly or through others, from a superseded fact; its
    value dates from before the change. It is an error if it is verbatim or intact, but no fact that
    supersedes the changed one is: the agent then relies on a value that it cannot know to be
    outdated. A superseded dependent is no longer due; its successor may be stale. All dependents at
    all calls of the script count, without those whose state is unknown.
    """
    timeline = fact_timeline(data)
    chains = _Chains(timeline.ledger)
    count = wrong = 0
    for moment, known, retained in zip(
        timeline.moments, timeline.known, timeline.kept, strict=True
    ):
        changed = moment.replaced & chains.premises
        if changed:
            dependents, errors = chains.of(changed, retained)
            count += (dependents & known).bit_count()
            wrong += (errors & known & retained).bit_count()
    return wrong / count if count else None


class _Chains:
    """Dependents of facts, and the facts that supersede these."""

    def __init__(self, ledger: Ledger) -> None:
        self._following: dict[int, int] = defaultdict(int)
        self._newer: dict[int, int] = defaultdict(int)
        for number in range(len(ledger.facts)):
            for premise in _premises(ledger, number):
                self._following[premise] |= 1 << number
        for number, older in ledger.older.items():
            for each in numbers(older):
                self._newer[each] |= 1 << number
        self.premises = ledger.mask(self._following)

    def of(self, changed: int, kept: int) -> tuple[int, int]:
        """The dependents of changed facts, and those whose change the prompt does not state."""
        dependents = untold = 0
        for premise in numbers(changed):
            dependents |= self._following[premise]
            if not self._newer[premise] & kept:
                untold |= self._following[premise]
        return dependents, untold


def _premises(ledger: Ledger, number: int) -> set[int]:
    """The facts that a fact follows from, directly or through others."""
    waiting, seen = [*ledger.facts[number].depends_on], set()
    while waiting:
        each = ledger.number[waiting.pop()]
        if each not in seen:
            seen.add(each)
            waiting += ledger.facts[each].depends_on
    return seen - {number}


@metric("share", "lower", "sum of such facts over sum of deleted facts, of all calls", OWN)
def deletion_leak(data: RunData) -> float | None:
    """Share of deleted facts that the prompt still holds, verbatim or intact.

    All pairs of a call of the script and a fact that was deleted before it, without those whose
    state is unknown. The prompt may also hold the deletion, so a strategy that keeps everything has
    a leak of 1: the metric does not show what an agent would believe.
    """
    timeline = fact_timeline(data)
    both = zip(timeline.moments, timeline.states, strict=True)
    return share(timeline.kept, [moment.deleted & ~states.unknown for moment, states in both])


@metric("share", "lower", _SUCH, OWN, label="mutated")
def mutation(data: RunData) -> float | None:
    """Share of due facts that are mutated: the prompt states another value, or the contrary.

    All pairs of a call of the script and a due fact, without those whose state is unknown.
    Questions that are stated as decided (the state presumed) count, too.
    """
    timeline = fact_timeline(data)
    return share((states.changed for states in timeline.states), timeline.known)


@metric("ratio", "lower", "sum of weighted facts over sum of due facts, of all calls", OWN)
def severity(data: RunData) -> float | None:
    """Mutated facts times 1.5 and lost or key-only ones times 1.0, over due facts.

    All pairs of a call of the script and a due fact, without those whose state is unknown. Stale,
    conflicting and retrievable facts have no weight. Mutations weigh more, because agents followed
    damaged rules less than missing ones. The weights are a choice, not a result.
    """
    mutated = mutation(data)
    timeline = fact_timeline(data)
    lost = share((states.lost | states.key_only for states in timeline.states), timeline.known)
    return None if mutated is None or lost is None else MUTATED * mutated + LOST * lost
