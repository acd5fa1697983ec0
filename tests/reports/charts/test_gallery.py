"""The gallery: everything that there is to draw, in reading order, and nothing empty."""

import re
from dataclasses import replace
from importlib import import_module
from inspect import isfunction
from pkgutil import iter_modules
from typing import Any, get_args
from xml.etree import ElementTree

import pytest

from compactlab.reports import charts
from compactlab.reports.analysis.comparison import comparisons
from compactlab.reports.charts.catalogue import CHARTS
from compactlab.reports.charts.chart import Section
from compactlab.reports.charts.drawing import strategy_colours
from compactlab.reports.charts.gallery import gallery
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import Run

FIGURES = {
    "amnesia_age_1k": 0.1,
    "amnesia_goal": 0.2,
    "amnesia_round_0": 0.0,
    "amnesia_round_1": 0.4,
    "occupancy_verbatim": 0.7,
    "occupancy_lost": 0.3,
    **{f"occupancy_{state}": 0.0 for state in
       ("intact", "unknown", "retrievable", "conflict", "stale", "resurrected", "mutated",
        "presumed", "key_only")},
    "cost_with_recovery_usd": 0.5,
}  # fmt: skip


def drawn(results: Results, **given: Any) -> list[Any]:
    compared = comparisons(results)
    return gallery(results, compared[0], strategy_colours(results, compared), "part-1", **given)


def test_charts_stand_in_reading_order(make, store):
    run = make("keep_all()", cut=[2])
    charts = drawn(store(replace(run, metrics={**run.metrics, **FIGURES})))
    kinds, sections = [chart.kind for chart in charts], [chart.section for chart in charts]
    assert (kinds[0], kinds[-2:]) == ("pareto", ["session", "cumulative"])
    assert len(set(kinds)) == len(kinds) > 10
    assert sections == sorted(sections, key=get_args(Section).index)
    assert charts[0].name == "part-1-pareto"
    assert all(chart.title and chart.caption.endswith(".") for chart in charts)


def test_every_function_that_draws_a_chart_is_in_the_list():
    found = {
        f"{module.name}:{name}"
        for module in iter_modules(charts.__path__)
        for name, each in vars(import_module(f"{charts.__name__}.{module.name}")).items()
        if isfunction(each) and each.__module__.endswith(f".{module.name}") and name[0] != "_"
        if each.__annotations__.get("return") == "Chart | None"
    }
    assert found == {entry.place for entry in CHARTS.values()}


def test_what_is_empty_is_left_out(make, store):
    bare = Run("one", "native", "keep_all()", "m", 0, 0)
    assert drawn(store(bare)) == []


def test_the_largest_conversations_have_charts_of_their_own(make, store, monkeypatch):
    monkeypatch.setattr("compactlab.reports.charts.gallery.SESSIONS", 2)
    runs = [make("keep_all()", [(0, 100 + n)], f"c{n}") for n in range(4)]
    subjects = [chart.subject for chart in drawn(store(*runs)) if chart.kind == "session"]
    assert subjects == ["c3 (claude-code)", "c2 (claude-code)"]


def test_of_several_replays_the_first_is_drawn(make, store):
    first, second = (make("keep_all()", [(0, 100 * (n + 1))] * 3, seed=n) for n in range(2))
    (paid,) = [chart for chart in drawn(store(first, second)) if chart.kind == "cumulative"]
    (line,) = paid.figure.axes[0].lines
    assert line.get_ydata()[-1] == pytest.approx(first.metrics["cost_usd"])
    assert paid.subject == "one (claude-code)"


def test_any_conversation_can_be_asked_for(make, store):
    runs = [make("keep_all()", [(0, 100 + n)], f"c{n}") for n in range(3)]
    charts = drawn(store(*runs), cases=[("claude-code", "c0", 0)])
    assert [chart.subject for chart in charts if chart.kind == "cumulative"] == ["c0 (claude-code)"]


def test_charts_are_the_same_twice_and_share_no_ids(small):
    first, again = ([chart.markup() for chart in drawn(small)] for _ in range(2))
    assert first == again
    ids = [name for markup in first for name in re.findall(r' id="([^"]*)"', markup)]
    assert len(ids) == len(set(ids))


def test_hostile_names_do_nothing_in_any_chart(make, store):
    names = ["<img src=x>", "$\\frac{1}{2}$", "\u202ea\x00b", "\u6f22" * 60, ']]> & "']
    runs = [make(f"{name}x()", cut=[2], conversation="".join(names)) for name in names]
    results = store(*(replace(run, metrics={**run.metrics, **FIGURES}) for run in runs))
    charts = drawn(results)
    markup = "".join(chart.markup() for chart in charts)
    assert "<img" not in markup
    assert not {"\u202e", "\x00"} & {*markup, *"".join(chart.subject for chart in charts)}
    for chart in charts:
        ElementTree.fromstring(chart.markup())
