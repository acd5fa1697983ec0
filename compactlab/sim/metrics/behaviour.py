"""How often a strategy acted, and whether what it left still fitted."""

from __future__ import annotations

from collections.abc import Iterable

from compactlab.sim.message import Part
from compactlab.sim.metrics.reading import Reading
from compactlab.sim.model import find_model
from compactlab.sim.recording import BEFORE_THE_LOG


def calls(reading: Reading) -> int:
    """Calls of the replay, side calls not among them."""
    return len(reading.trace.steps)


def rewrites(reading: Reading) -> int:
    """Calls whose prompt is not the last one plus what is new."""
    return sum(step.rewrite for step in reading.trace.steps)


def compactions(reading: Reading) -> int:
    """Calls whose prompt lacks content that had been sent."""
    return sum(step.compaction for step in reading.trace.steps)


def overflows(reading: Reading) -> int:
    """Calls whose prompt is larger than the window."""
    return sum(step.overflow for step in reading.trace.steps)


def over_window(reading: Reading) -> float | None:
    """Share of the calls whose prompt is larger than the window."""
    total = len(reading.trace.steps)
    return overflows(reading) / total if total else None


def tokens_added(reading: Reading) -> int:
    """Prompt tokens of what nobody in the script said: summaries, place-holders, blocks, notes."""
    script = reading.conversation
    messages = {id(message) for message in script.messages}
    said = {id(part) for message in script.messages for part in message.parts}
    said |= {id(part) for part in script.system}
    total, sums = 0, [0]
    for step in reading.trace.steps:
        count = find_model(step.model).tokenizer.part

        def added(parts: Iterable[Part]) -> int:
            return sum(count(part) for part in parts if id(part) not in said)  # noqa: B023

        # What this prompt shares with the last one has been summed already.
        del sums[step.shared + 1 :]
        for message in step.added:
            own = id(message) in messages or message.id == BEFORE_THE_LOG
            sums.append(sums[-1] + (0 if own else added(message.parts)))
        blocks = [part for part in step.system if part.kind != "opaque"]
        total += sums[-1] + added(blocks)
    return total
