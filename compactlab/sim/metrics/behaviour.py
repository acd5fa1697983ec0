"""How often a strategy acted, and whether what it left still fitted."""

from __future__ import annotations

from compactlab.sim.metrics.reading import Reading


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
