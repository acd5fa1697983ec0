"""A summariser or a source of one's own costs its own rows, and a class handed over does, too."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import compactlab
from compactlab import Strategy
from compactlab.sim.experiment.conditions import Setting
from compactlab.sim.experiment.sources import Source
from compactlab.sim.experiment.sweep import Experiment
from compactlab.sim.experiment.workers import ALONE, Workers
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.summarizers.catalogue import find_summarizer
from compactlab.strategies.summarizers.extractive import Lead
from tests.cli.field import deaf


def stop() -> None:
    raise KeyboardInterrupt


DEEDS: dict[str, tuple[Callable[[], object], str]] = {
    "exit": (lambda: sys.exit(0), "SystemExit: 0"),
    "end": (lambda: os._exit(0), "it ended its process, with exit code 0"),
    "stop": (stop, "KeyboardInterrupt: "),
    "deaf": (deaf, "it took longer than 2 s"),
}


@dataclass(frozen=True)
class Own(Strategy):
    """Does what it is told to do."""

    deed: str = ""

    def compact(self, view: Any, host: Any) -> Any:
        if self.deed:
            DEEDS[self.deed][0]()
        return view


@dataclass(frozen=True)
class OwnSummary(Lead):
    """Quotes the beginning, but for what it is told to do."""

    deed: str = ""

    def summarize(self, request: Any, count: Any) -> Any:
        DEEDS[self.deed][0]()
        return super().summarize(request, count)


def talk(kit: Any, name: str) -> Any:
    story = kit.Story()
    for turn in range(6):
        story.user(f"question {turn} " * 50).answer(f"answer {turn} " * 50)
    return story.script(id=name)


@pytest.mark.parametrize("deed", DEEDS)
@pytest.mark.parametrize("who", [ALONE, Workers(2)], ids=["one", "two"])
def test_a_class_that_was_handed_over_costs_its_own_row(kit, deed, who):
    script = talk(kit, "talk")
    planned = Experiment(
        (Source("talk", lambda: [script]),),
        (find_strategy("keep_all"), Own(deed), Own()),
        (kit.model,),
        Setting(metrics=("cost_usd",)),
    )
    results = planned.run(who, timeout=2)
    assert [run.status for run in results.runs] == ["ok", "failed", "ok"]
    assert results.runs[1].error.startswith(DEEDS[deed][1])
    assert results.runs[2].metrics == results.runs[0].metrics


@pytest.mark.parametrize("deed", DEEDS)
def test_a_summariser_costs_the_rows_that_ask_it(kit, deed):
    script = talk(kit, "talk")
    planned = Experiment(
        (Source("talk", lambda: [script]),),
        tuple(map(find_strategy, ("keep_all", "full_summary"))),
        (kit.model,),
        Setting(window=1_500, metrics=("cost_usd",)),
        summarizers=(OwnSummary(deed=deed), find_summarizer("lead")),
    )
    results = planned.run(timeout=2)
    assert {
        (run.strategy.partition("(")[0], run.summarizer): run.status for run in results.runs
    } == {
        ("keep_all", planned.summarizers[0].spec): "ok",
        ("full_summary", planned.summarizers[0].spec): "failed",
        ("keep_all", planned.summarizers[1].spec): "ok",
        ("full_summary", planned.summarizers[1].spec): "ok",
    }
    (failed,) = results.failed
    assert failed.error.startswith(DEEDS[deed][1])


@pytest.mark.parametrize("deed", DEEDS)
def test_a_source_costs_its_own_row_even_while_it_is_planned(kit, deed):
    script = talk(kit, "good")

    def load() -> Any:
        yield talk(kit, "first")
        DEEDS[deed][0]()

    planned = Experiment(
        (
            Source("bad", load, content=lambda: "the same"),
            Source("good", lambda: [script]),
        ),
        (find_strategy("keep_all"),),
        (kit.model,),
        Setting(metrics=("cost_usd",)),
    )
    results = planned.run(timeout=2)
    unreadable = [run for run in results.runs if run.status == "unreadable"]
    assert [run.source for run in unreadable] == ["bad"]
    assert unreadable[0].error.startswith(DEEDS[deed][1])
    assert ("good", "ok") in [(run.conversation, run.status) for run in results.runs]


def test_on_demand_it_runs_in_this_process(kit):
    """So that a debugger reaches it, and what it leaves behind is there."""
    seen: list[int] = []

    @dataclass(frozen=True)
    class Here(Strategy):
        def compact(self, view: Any, host: Any) -> Any:
            seen.append(os.getpid())
            return view

    script = talk(kit, "talk")
    compactlab.run([script], [Here()], [kit.model], metrics=["cost_usd"])
    assert seen == []
    compactlab.run([script], [Here()], [kit.model], metrics=["cost_usd"], isolate=False)
    assert set(seen) == {os.getpid()}


def test_in_python_too_it_is_shown_what_it_prints(kit, capsys):
    @dataclass(frozen=True)
    class Talks(Strategy):
        def compact(self, view: Any, host: Any) -> Any:
            print("so \x1b[31m far")
            return view

    results = compactlab.run([talk(kit, "talk")], [Talks()], [kit.model], metrics=["cost_usd"])
    assert results.runs[0].printed.startswith("so \x1b")
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("talks over talk printed:\n  so \ufffd[31m far\n")
