"""Work in progress: open loops, instructions, tasks, agents, questions."""

from __future__ import annotations

from typing import Literal

from compactlab.sim.core.instructions import instruction_files
from compactlab.sim.metrics.fact_timeline import fact_timeline, lack, share
from compactlab.sim.metrics.metric import Member, metric
from compactlab.sim.metrics.run_data import RunData

_DUE = "sum of such facts over sum of facts due, of all calls"
_KEPT = "sum of facts kept over sum of facts due, of all calls"
_OWN = "own, docs/concepts.md"


@metric("share", "higher", _KEPT, "open loops kept: project's notes on metrics, section 4")
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
    "instruction persistence: project's notes on metrics, section 4",
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
