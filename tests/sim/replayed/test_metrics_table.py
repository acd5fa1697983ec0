"""The table of metrics: complete, and the figures the same whoever works in whatever order."""

import re
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pytest

from compactlab.scenarios.catalogue import sources
from compactlab.sim import metrics
from compactlab.sim.experiment.conditions import Setting
from compactlab.sim.experiment.sweep import Experiment
from compactlab.sim.experiment.workers import Workers
from compactlab.sim.metrics import FAMILIES, METRICS, RunData, figures, measure
from compactlab.sim.metrics.metric import _declared
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.summarizers.catalogue import find_summarizer

UNITS = {
    "USD", "USD per need", "tokens", "share", "ratio", "calls", "per 100 calls", "seconds",
    "messages", "rounds", "summaries",
}  # fmt: skip
OF_RUN = r"(sum|count|mean|median|maximum|minimum|one less|overflows|95th)"


def test_a_metric_says_what_it_is():
    for name, metric in METRICS.items():
        assert metric.unit in UNITS, name
        assert metric.better in ("lower", "higher", "neither"), name
        assert 10 < len(metric.meaning) < 100, name
        assert re.match(OF_RUN, metric.of_run), name
        first, *more = metric.definition.splitlines()
        assert first.endswith("."), f"{name}: a first line that is a sentence"
        assert not more or not more[0], f"{name}: and an empty line, if anything follows"
        for foreign in ("Parameters", "Returns", "Examples", ">>>", ":func:", ":class:"):
            assert foreign not in metric.definition, name


def test_every_metric_that_a_file_declares_is_in_the_table_once():
    for file in iter_modules(metrics.__path__):
        import_module(f"{metrics.__name__}.{file.name}")
    declared = [each for file in _declared.values() for each in file]
    joined = [metric for family in FAMILIES for metric in family.metrics]
    assert sorted(each.name for each in declared) == sorted(METRICS)
    assert list(METRICS.values()) == joined


def test_only_what_is_asked_for_is_computed(kit, story):
    script = story.user("1").answer("1").script()
    reading = RunData(kit.replayed(script, kit.keep), script)
    assert figures(reading, ("calls", "overflows")) == {"calls": 1, "overflows": 0}
    assert "changes" not in vars(reading)  # what the dear ones need was not made


def test_measuring_gives_the_figures_of_the_table(kit, story):
    script = story.user("1").answer("1").script()
    assert list(measure(kit.replayed(script, kit.keep), script)) == list(METRICS)
    assert list(measure(kit.trace_of(), script)) == list(METRICS)


def test_a_share_is_a_share(kit):
    story = kit.Story().user(kit.prose(1500))
    for _ in range(20):
        story.acts('{"path": "src/main.py"}').result(kit.prose(200) + " src/main.py")
    script = story.answer("done").script()
    for spec in ("keep_all", "keep_none", "sliding_window(keep=5)", "turn_slice(history_limit=1)"):
        found = measure(kit.replayed(script, find_strategy(spec)), script)
        for name, metric in METRICS.items():
            if metric.unit == "share" and found[name] is not None:
                assert 0 <= found[name] <= 1, name


def test_counts_of_a_run(kit):
    story = kit.Story().user(kit.prose(100)).answer("ok").user(kit.prose(100)).answer("ok")
    script = story.user("x").answer("y").script()
    cut = kit.at(5, lambda messages: messages[-1:])
    named = ("calls", "rewrites", "compactions", "overflows", "over_window")
    found = measure(kit.replayed(script, cut, window=150), script, named)
    assert list(found.values()) == [3, 1, 1, 1, pytest.approx(1 / 3)]


# ---------------------------------------------------------------------- order and number of workers

SPECS = (
    "keep_all",
    "random_keep",
    "sliding_window(keep=6)",
    "auto_compact(keep_recent_tokens=500)",
)


def small(specs: tuple[str, ...]) -> Experiment:
    found, _ = sources(["coding_agent(turns=3, tokens=6000)"], seeds=3)
    strategies = tuple(map(find_strategy, specs))
    writers = (find_summarizer(),)
    return Experiment(tuple(found), strategies, (), Setting(window=40_000), summarizers=writers)


@pytest.fixture(scope="module")
def alone() -> Any:
    """The results of one worker."""
    return small(SPECS).run()


def stored(results: Any, folder: Any) -> dict[str, bytes]:
    results.save(folder)
    return {
        str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()
    }


def test_the_number_of_workers_changes_nothing(alone, tmp_path):
    several = small(SPECS).run(Workers(2))
    assert several == alone
    assert not alone.failed
    assert stored(several, tmp_path / "2") == stored(alone, tmp_path / "1")


def test_the_order_of_strategies_changes_nothing_but_the_order(alone):
    turned = small(SPECS[::-1]).run()

    def by_name(results: Any) -> dict[tuple[str, str], Any]:
        return {(run.conversation, run.strategy): run for run in results.runs}

    assert by_name(turned) == by_name(alone)
    assert [run.strategy for run in turned.runs[:4]] == [r.strategy for r in alone.runs[:4]][::-1]


def test_a_strategy_is_measured_alone_as_among_others(alone):
    single = small(SPECS[1:2]).run()
    assert single.runs == [run for run in alone.runs if run.strategy == single.runs[0].strategy]
