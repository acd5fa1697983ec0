"""What of the facts a flush has brought into memory, before they were compacted away."""

from __future__ import annotations

from collections.abc import Callable

from compactlab.sim.conversation import FactType
from compactlab.sim.metrics.course import course, share
from compactlab.sim.metrics.metric import Metric
from compactlab.sim.metrics.reading import Reading
from compactlab.sim.metrics.shared import shared

# What is worth keeping before a compaction, after section 6.4.3 of the Signet specification, by
# the types of facts that it is made of.
TOPICS: dict[str, tuple[str, tuple[FactType, ...]]] = {
    "decisions": ("decisions", ("decision",)),
    "user": ("facts about the user (preferences, entities)", ("preference", "entity")),
    "progress": ("progress (artifacts, open loops)", ("artifact", "open_loop")),
    "actions": ("action items (open loops, goals)", ("open_loop", "goal")),
}


@shared
def _flushed(reading: Reading) -> list[bool]:
    """Of each call of the script, whether a compaction with a flush in its cycle came before it.

    What happens between two compactions has the same cycle number, and a step that has a higher
    one than the step before comes after a compaction.
    """
    flushed: set[int] = set()
    cycle, waiting = 0, False
    found = []
    for step in reading.trace.steps:
        flushed.update(call.cycle for call in step.side if call.purpose == "flush")
        waiting = waiting or any(ended in flushed for ended in range(cycle, step.cycle))
        cycle = step.cycle
        if not step.rework:
            found.append(waiting)
            waiting = False
    return found


def _reached(topic: str) -> Callable[[Reading], float | None]:
    words, kinds = TOPICS[topic]

    def reached(reading: Reading) -> float | None:
        found = course(reading)
        facts = 0
        for kind in kinds:
            facts |= found.ledger.of_kind.get(kind, 0)
        due = [
            moment & facts if flushed else 0
            for moment, flushed in zip(found.due, _flushed(reading), strict=True)
        ]
        return share(found.memory, due)

    reached.__name__ = reached.__qualname__ = f"flush_{topic}"
    reached.__doc__ = (
        f"Share of {words} that memory holds at a compaction after a flush.\n\n"
        "Facts of those types that are due at the first call of the script after a compaction in "
        "whose cycle there was a flush; the share that a note in memory holds by then, as they "
        "were said or intact. All such compactions together."
    )
    return reached


METRICS = tuple(
    Metric("share", "higher", f"{words} in memory when a compaction followed a flush",
           "sum of facts in memory over sum of facts due, of all flushed compactions",
           "Signet specification, section 6.4.3", _reached(topic))
    for topic, (words, _) in TOPICS.items()
)  # fmt: skip
