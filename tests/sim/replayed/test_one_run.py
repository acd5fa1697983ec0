"""One run: what need not be replayed is not, and no figure tells."""

from collections.abc import Iterator

import pytest

from compactlab.scenarios.catalogue import find_scenario
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.experiment import shard
from compactlab.sim.experiment.conditions import Setting
from compactlab.sim.experiment.shard import run_one
from compactlab.sim.metrics import METRICS, RunData, figures
from compactlab.sim.replay.recovery import ClosedLoop
from compactlab.sim.replay.replay import Options, record, replay
from compactlab.sim.replay.sizes import Unseen
from compactlab.sim.replay.strategy import Strategy
from compactlab.sim.replay.trace import Step
from compactlab.sim.store.run import Run
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.summarizers.catalogue import find_summarizer

MODEL, WINDOW, LOOP = "claude-sonnet-4-5", 24_000, ClosedLoop()
SPECS = ("keep_all", "keep_none", "sliding_window(keep=40)", "auto_compact", "recency_buffer")


@pytest.fixture(scope="module")
def script() -> Conversation:
    return find_scenario("revised_decisions(tokens=20000)").conversation(seed=0)


def replayed(script: Conversation, strategy: Strategy, loop: ClosedLoop | None) -> RunData:
    summarizer, hidden = find_summarizer("lexrank"), Unseen()
    given = {"summarizer": summarizer, "window": WINDOW, "overhead": hidden, "loop": loop}
    return RunData(record(script, strategy, Options(MODEL, **given)), script)  # type: ignore[arg-type]


def measured(script: Conversation, strategy: Strategy) -> Run:
    blank = Run(script.id, script.format, strategy.spec, MODEL, WINDOW, 0)
    setting = Setting(
        MODEL, find_summarizer("lexrank"), WINDOW, overhead=Unseen(), loop=LOOP, tables=("calls",)
    )
    run = run_one(blank, script, strategy, setting)
    assert run.status == "ok", run.error
    return run


@pytest.mark.parametrize("spec", SPECS)
def test_the_figures_are_those_of_all_three_replays(script, spec):
    strategy = find_strategy(spec)
    opened, best, worst = (replayed(script, strategy, loop) for loop in (None, LOOP.best, LOOP))
    whole = RunData(opened.trace, script, best, worst)
    assert measured(script, strategy).metrics == figures(whole, METRICS)


def test_who_misses_nothing_is_replayed_once(script, monkeypatch):
    loops: list[ClosedLoop | None] = []

    def counted(conversation: Conversation, strategy: Strategy, options: Options) -> Iterator[Step]:
        loops.append(options.loop)
        return replay(conversation, strategy, options)

    monkeypatch.setattr(shard, "replay", counted)
    measured(script, find_strategy("keep_all"))
    assert loops == [None]
    loops.clear()
    measured(script, find_strategy("keep_none"))
    assert loops[:2] == [None, LOOP.best]
