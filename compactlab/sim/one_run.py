"""One run: a replay and its figures, which fails alone."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from compactlab.sim.blocks import forget_blocks
from compactlab.sim.churn import Churn
from compactlab.sim.conversation import Conversation
from compactlab.sim.deadline import OutOfTime, deadline
from compactlab.sim.errors import CompactlabError
from compactlab.sim.foreign import loaded
from compactlab.sim.isolation import TOO_LONG, isolated, told
from compactlab.sim.metrics import Reading, figures
from compactlab.sim.model import Catalogue
from compactlab.sim.recording import Unseen
from compactlab.sim.replay import record
from compactlab.sim.rework import Closed
from compactlab.sim.run import Run
from compactlab.sim.strategy import Strategy
from compactlab.sim.summarize import Summarizer
from compactlab.sim.tables import TABLES, Rows
from compactlab.sim.tokens import forget_counts


def run_one(
    run: Run,
    conversation: Conversation,
    strategy: Strategy,
    summarizer: Summarizer | None,
    overhead: Unseen,
    *,
    catalogue: Catalogue | None = None,
    churn: Churn | None = None,
    loop: Closed | None = None,
    metrics: Iterable[str] | None = None,
    tables: Iterable[str] = ("calls",),
    timeout: float | None = None,
) -> Run:
    """Replay and measure once; whatever goes wrong fails this run alone.

    Parameters
    ----------
    run
        What to replay; the row that is filled in.
    conversation, strategy, summarizer, overhead, catalogue, churn
        As for :func:`compactlab.sim.replay.replay`.
    loop
        The closed loop, to be replayed beside the open one.
    metrics
        Names of those that are computed; all by default.
    tables
        Names of those that are filled.
    timeout
        Seconds after which it is broken off.
    """
    try:
        with uncollected(), deadline(timeout):
            measured, rows = _measured(
                run,
                conversation,
                loaded(strategy),
                summarizer=summarizer,
                overhead=overhead,
                catalogue=catalogue,
                churn=churn,
                loop=loop,
                metrics=metrics,
                tables=tables,
            )
    except CompactlabError as error:
        return replace(run, status="failed", error=str(error))
    except OutOfTime:
        # It may have been broken off while it wrote down what the next one relies on.
        forget_counts()
        forget_blocks()
        return replace(run, status="failed", error=f"{TOO_LONG} {timeout:g} s")
    except (Exception, SystemExit, GeneratorExit) as error:
        return replace(run, status="failed", error=told(error))
    return replace(run, metrics=measured, rows=rows)


def run_apart(run: Run, work: Callable[[], Run], timeout: float | None = None) -> Run:
    """Run code that is not ours, which must not harm other runs.

    Parameters
    ----------
    run
        What to replay; the row of a run that does not come back.
    work
        Fills it in.
    timeout
        Seconds after which its process is killed.
    """
    outcome = isolated(work, timeout)
    if outcome.killed:  # perhaps for the memory that somebody else wanted
        outcome = isolated(work, timeout)
    done = outcome.value or replace(run, status="failed", error=outcome.fault)
    return replace(done, printed=outcome.printed)


def _measured(
    run: Run,
    conversation: Conversation,
    strategy: Strategy,
    *,
    loop: Closed | None,
    metrics: Iterable[str] | None,
    tables: Iterable[str],
    **given: Any,
) -> tuple[dict[str, float | None], dict[str, Rows]]:
    """Figures and rows; the trace is gone when they are there, and no collector looks at it."""

    def read(loop: Closed | None = None) -> Reading:
        given.update(window=run.window or None, seed=run.seed, loop=loop)
        return Reading(record(conversation, strategy, run.model, **given), conversation)

    reading = read()
    if loop is not None:
        best = read(loop.best) if _misses(reading) else reading
        worst = read(loop) if _misleads(best) else best
        reading = reading.beside(best, worst)
    filled = {name: TABLES[name].rows(reading) for name in tables}
    return figures(reading, metrics), {name: rows for name, rows in filled.items() if len(rows)}


def _misses(reading: Reading) -> bool:
    """Whether a call needs a fact and does not find it; if none does, the loop never closes."""
    moments = reading.ledger.moments
    return any(
        moments[step.answer].needed & ~(states.kept | states.unknown)
        for step, states in zip(reading.trace.steps, reading.states, strict=True)
    )


def _misleads(closed: Reading) -> bool:
    """Whether a call needs a fact of which its prompt, before all rework, holds a wrong value."""
    first = None
    for step, states in zip(closed.trace.steps, closed.states, strict=True):
        first = states if first is None else first
        if not step.rework:
            needed = closed.ledger.moments[step.answer].needed
            if needed & (first.stale | first.mutated):
                return True
            first = None
    return False


@contextmanager
def uncollected() -> Iterator[None]:
    """Pause the cyclic collector: a replay makes many objects that live, and no cycles."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
