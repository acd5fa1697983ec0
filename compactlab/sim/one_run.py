"""One run: a replay and its figures, which fails alone."""

from __future__ import annotations

import gc
import math
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from compactlab.sim.churn import Churn
from compactlab.sim.conversation import Conversation
from compactlab.sim.errors import CompactlabError
from compactlab.sim.metrics import Reading, figures
from compactlab.sim.model import Catalogue
from compactlab.sim.recording import Unseen
from compactlab.sim.replay import record
from compactlab.sim.results import Run
from compactlab.sim.rework import Closed
from compactlab.sim.strategy import Strategy
from compactlab.sim.summarize import Summarizer
from compactlab.sim.trace import SideCall, Step

_json = msgspec.json.Encoder(order="sorted").encode


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
    """
    try:
        with _uncollected():
            measured, calls = _measured(
                run,
                conversation,
                strategy,
                summarizer=summarizer,
                overhead=overhead,
                catalogue=catalogue,
                churn=churn,
                loop=loop,
                metrics=metrics,
            )
    except CompactlabError as error:
        return replace(run, status="failed", error=str(error))
    except Exception as error:
        return replace(run, status="failed", error=told(error))
    return replace(run, metrics=measured, calls=calls)


def _measured(
    run: Run,
    conversation: Conversation,
    strategy: Strategy,
    *,
    loop: Closed | None,
    metrics: Iterable[str] | None,
    **given: Any,
) -> tuple[dict[str, float | None], list[tuple[Any, ...]]]:
    """Figures and rows; the trace is gone when they are there, and no collector looks at it."""

    def read(loop: Closed | None = None) -> Reading:
        given.update(window=run.window or None, seed=run.seed, loop=loop)
        return Reading(record(conversation, strategy, run.model, **given), conversation)

    reading = read()
    if loop is not None:
        best = read(loop.best) if _misses(reading) else reading
        worst = read(loop) if _misleads(best) else best
        reading = reading.beside(best, worst)
    priced = zip(reading.trace.steps, reading.costs, strict=True)
    beside = zip(reading.premiums, reading.dead, strict=True)
    numbers = (request.place.number for request in reading.requests)
    waste = dict(zip(numbers, beside, strict=True))
    calls = [_call(step, dollars, reading, waste) for step, dollars in priced]
    return figures(reading, metrics), calls


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
def _uncollected() -> Iterator[None]:
    """Pause the cyclic collector: a replay makes many objects that live, and no cycles."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def told(error: Exception) -> str:
    """An error with where it came from, without the paths of this machine."""
    frames = traceback.extract_tb(error.__traceback__)
    where = [f"{Path(f.filename).name}:{f.lineno} in {f.name}" for f in frames[-3:]]
    return f"{type(error).__name__}: {error} ({'; '.join(where)})"


def _call(
    step: Step, dollars: float, reading: Reading, waste: Mapping[int, tuple[float, int]]
) -> tuple[Any, ...]:
    """A row of the table of calls, see :data:`compactlab.sim.results.CALL_COLUMNS`."""
    usage, side = step.usage, step.side
    numbers = [step.place.number, *(call.place.number for call in side)]
    return (
        step.answer,
        step.model,
        step.time,
        usage.uncached,
        usage.cache_read,
        usage.cache_write_5m,
        usage.cache_write_1h,
        usage.output,
        dollars,
        len(side),
        sum(call.usage.prompt + call.usage.output for call in side) if side else 0,
        math.fsum(map(reading.cost, side)) if side else 0.0,
        step.rewrite,
        step.compaction,
        step.overflow,
        _json(step.causes).decode(),
        _json(_causes(side)).decode() if side else "{}",
        math.fsum(waste[number][0] for number in numbers),
        sum(waste[number][1] for number in numbers),
    )


def _causes(side: Iterable[SideCall]) -> Counter[str]:
    found: Counter[str] = Counter()
    for call in side:
        found.update(call.causes)
    return found
