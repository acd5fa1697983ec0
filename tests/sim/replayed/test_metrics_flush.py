"""Whether a flush came before each compaction, each on calls that one can add up by hand."""

from dataclasses import replace
from typing import Any

import pytest

from compactlab.sim.core.message import Usage
from compactlab.sim.experiment.conditions import Setting
from compactlab.sim.experiment.sources import Source
from compactlab.sim.experiment.sweep import Experiment
from compactlab.sim.metrics import METRICS, RunData
from compactlab.sim.replay.strategy import Pipeline
from compactlab.sim.replay.trace import SideCall
from compactlab.strategies.catalogue import find_strategy


def flush(tokens: int, cycle: int, heard: int = 0) -> SideCall:
    return SideCall("flush", "gpt-5@anthropic", 0.0, Usage(uncached=tokens), {}, cycle, heard)


def summary(tokens: int) -> SideCall:
    return SideCall("summary", "gpt-5@anthropic", 0.0, Usage(uncached=tokens), {})


def figures(kit: Any, *steps: tuple[int, int, tuple[SideCall, ...]], promised: bool = True) -> Any:
    """The three figures of calls that are told as tokens, cycle and side calls."""
    sizes, cycles, sides = zip(*steps, strict=True)
    trace = kit.trace_of(*(Usage(uncached=n) for n in sizes), cycle=cycles, side=sides)
    trace.header = replace(trace.header, flushes=promised)
    names = ("flushed_compactions", "flush_margin", "flush_heard")
    return tuple(METRICS[name].compute(RunData(trace, None)) for name in names)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        # A flush counts for the compaction after it: from its first prompt to the largest since.
        ([(100, 0, ()), (200, 0, (flush(150, 0), flush(160, 0))), (900, 0, ()), (50, 1, ())],
         (1.0, 750, 0)),
        # One in the last moment has the margin of its own words.
        ([(100, 0, ()), (50, 1, (flush(150, 0), flush(160, 0), summary(400)))], (1.0, 10, 0)),
        # One right after a compaction is no flush of that one.
        ([(100, 0, ()), (50, 1, (flush(40, 1),)), (700, 1, ()), (60, 2, ())], (0.5, 660, 0)),
        # Two compactions between two calls are two.
        ([(100, 0, (flush(90, 0),)), (50, 2, ())], (0.5, 10, 0)),
        # Going back and compacting again counts again.
        ([(100, 0, (flush(90, 0),)), (50, 1, ()), (80, 0, ()), (60, 1, ())], (1.0, 10, 0)),
        # The margin is the median.
        ([(100, 0, (flush(90, 0),)), (10, 1, ()), (100, 1, (flush(80, 1),)), (10, 2, ()),
          (100, 2, (flush(30, 2),)), (10, 3, ())], (1.0, 20, 0)),
        # A promise that is never kept is nothing; without compactions there is no share.
        ([(100, 0, ()), (50, 1, (summary(90),))], (0.0, None, None)),
        ([(100, 0, (flush(90, 0),))], (None, None, 0)),
        # What a user heard adds up.
        ([(100, 0, (flush(90, 0, 3), flush(95, 0, 4))), (50, 1, (flush(40, 1, 5),))],
         (1.0, 10, 12)),
    ],
)  # fmt: skip
def test_flushes_and_their_margins(steps, expected, kit):
    assert figures(kit, *steps) == expected


def test_without_a_promise_there_is_no_figure(kit):
    assert figures(kit, (100, 0, ()), (50, 1, ()), promised=False) == (None, None, None)


@pytest.fixture
def long(kit: Any) -> Any:
    story = kit.Story()
    for _ in range(12):
        story.user(kit.prose(100)).answer(kit.prose(300) + " We decided on tabs.")
    return story.script()


SPEC = (
    "memory_flush(soft_threshold_tokens=600, reserve_tokens_floor=1000) + "
    "auto_compact(reserve_tokens=1000, reserve_tokens_floor=0, keep_recent_tokens=500)"
)


def test_a_pipeline_that_flushes_says_so_in_its_trace(kit, long):
    flushing = find_strategy(SPEC)
    assert isinstance(flushing, Pipeline)
    trace = kit.replayed(long, flushing, summarizer=kit.Echo(), window=4000)
    assert trace.header.flushes
    assert not kit.replayed(long, flushing.steps[1], summarizer=kit.Echo()).header.flushes


def test_an_experiment_names_who_flushes_and_has_the_figures(kit, long):
    both = find_strategy(SPEC), find_strategy("keep_all")
    source = Source("story", lambda: [long])
    results = Experiment(
        (source,), both, (kit.model,), Setting(window=4000), summarizers=(kit.Echo(),)
    ).run()
    assert results.manifest["flushes"] == [both[0].spec]
    flushed, kept = (run.metrics for run in results.runs)
    assert flushed["flushed_compactions"] is not None
    assert 0 < flushed["flushed_compactions"] <= 1
    assert flushed["flush_heard"] == 0
    assert (kept["flushed_compactions"], kept["flush_heard"]) == (None, None)
