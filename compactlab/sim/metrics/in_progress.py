"""What becomes of work in progress: finished tasks, agents in flight, instructions, questions."""

from __future__ import annotations

from compactlab.sim.core.instructions import instruction_files
from compactlab.sim.metrics.fact_timeline import fact_timeline, lack, share
from compactlab.sim.metrics.metric import Metric
from compactlab.sim.metrics.run_data import RunData


def resurrected_rate(data: RunData) -> float | None:
    """Share of finished tasks that the prompt asks for without saying that they are finished.

    All pairs of a call of the script and a due fact of type ``done``, without those whose state is
    unknown; the share in the state resurrected: the task that it supersedes is stated, verbatim or
    in other words, and the end of it is not. A task of which nothing is left is forgotten, and not
    resurrected. In the closed loop, a call that needs such a fact may do the work again (``misuse``
    of `compactlab.sim.replay.recovery`).
    """
    timeline = fact_timeline(data)
    finished = timeline.ledger.finished
    due = [facts & finished for facts in timeline.known]
    return share((states.resurrected for states in timeline.states), due)


def handles_forgotten(data: RunData) -> float | None:
    """Share of the uses of agents in flight at which the prompt no longer holds their handle.

    A use is a need of a fact of type ``handle``: the call that asks an agent or a process for what
    it has brought, or how far it is. Forgotten is a handle that is neither verbatim nor intact.
    Those whose state is unknown are left out. How long handles are missing, used or not, is
    ``amnesia_handle``.
    """
    timeline = fact_timeline(data)
    handles = timeline.ledger.of_kind.get("handle", 0)
    return lack(timeline.kept, [needed & handles for needed in timeline.needed])


def instruction_file(data: RunData) -> float | None:
    """Share of what instruction files say that is verbatim or intact.

    An instruction file is a message of the client in front of the first turn in which a heading, or
    "Contents of", names CLAUDE.md, AGENTS.md or GEMINI.md. All pairs of a call of the script and a
    due fact that such a message states, without those whose state is unknown. None where the script
    has no such facts: none are inferred from instruction files without labels.
    """
    timeline = fact_timeline(data)
    files = {message.id for message in instruction_files(data.conversation.messages)}
    stated = timeline.ledger.mask(
        number
        for number, fact in enumerate(timeline.ledger.facts)
        if any(source.id in files for source in fact.origin)
    )
    return share(timeline.kept, [due & stated for due in timeline.known])


def presumed_rate(data: RunData) -> float | None:
    """Share of open questions and proposals that the prompt states as if the user had decided.

    All pairs of a call of the script and a due fact of polarity ``asks``, without those whose state
    is unknown; the share in the state presumed: it is not verbatim, and where it stands in other
    words it is stated, demanded or rejected, and not asked, proposed or left open.
    """
    timeline = fact_timeline(data)
    asked = [due & timeline.ledger.asking for due in timeline.known]
    return share((states.presumed for states in timeline.states), asked)


_OWN = "own, docs/failures.md"
_DUE = "sum of such facts over sum of facts due, of all calls"

METRICS = (
    Metric("share", "lower", "finished tasks that the prompt asks for as if they were open",
           _DUE, _OWN, resurrected_rate),
    Metric("share", "lower", "uses of agents in flight whose handle the prompt does not hold",
           "sum of missed needs of handles over sum of their needs, of all calls", _OWN,
           handles_forgotten),
    Metric("share", "higher", "facts of instruction files that the prompt holds",
           "sum of facts kept over sum of facts due, of all calls", _OWN, instruction_file),
    Metric("share", "lower", "open questions that the prompt states as if they were decided",
           _DUE, _OWN, presumed_rate),
)  # fmt: skip
