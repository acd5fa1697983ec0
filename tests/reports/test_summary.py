"""What `Results` gives to Python users: ten columns, a notebook's table, LaTeX, and axes."""

import inspect
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
from inline_snapshot.extra import raises
from matplotlib import pyplot
from matplotlib.axes import Axes

import compactlab
from compactlab.reports.analysis.advice import Advice
from compactlab.reports.analysis.comparison import comparisons
from compactlab.reports.charts.catalogue import CHARTS
from compactlab.reports.charts.plot import Plots
from compactlab.reports.page.summary import COLUMNS, escaped
from compactlab.sim.store.run import Run
from tests.reports.conftest import CUT, Make, Store

TALK = "coding_agent(turns=8, tokens=30000)"
METHODS = [name for name in dir(Plots) if not name.startswith("_")]
HOSTILE = "$x_{1}$ & <b>50%</b> \\input{/etc/passwd} #1"


@pytest.fixture(scope="module")
def replayed() -> compactlab.Results:
    settings: Any = {"window": 12_000, "seeds": 2, "controls": False, "loop": "closed"}
    return compactlab.run(TALK, ["codex", "claude_code"], distance=10_000, **settings)


@pytest.fixture
def by_hand(make: Make, store: Store) -> Callable[..., compactlab.Results]:
    def build(*runs: Run, **manifest: Any) -> compactlab.Results:
        made = store(*runs, **manifest)
        return compactlab.Results(made.runs, made.manifest, None, made.bounds)

    return build


@pytest.fixture(autouse=True)
def closed_figures() -> Iterator[None]:
    yield
    pyplot.close("all")


def test_a_summary_has_ten_columns_and_they_are_explained(replayed):
    summary = replayed.summary()
    assert list(summary.columns) == list(COLUMNS)
    assert len(summary.columns) == 10
    explained = inspect.getdoc(compactlab.Results.summary) or ""
    assert all(f"``{name}``" in explained for name in COLUMNS)


def test_its_figures_are_those_of_the_analysis(replayed):
    (comparison,) = comparisons(replayed)
    advice, summary = Advice(comparison), replayed.summary()
    assert list(summary["strategy"]) == [row.label for row in comparison.rows]
    for row, (_, line) in zip(comparison.rows, summary.iterrows(), strict=True):
        assert line["cost_usd"] == pytest.approx(row.value("cost_usd") / 2)
        assert line["compactions"] == pytest.approx(row.value("compactions") / 2)
        assert line["distance_tokens"] == comparison.lag
        if row.recall is not None:
            assert line["recall_percent"] == pytest.approx(100 * row.recall)
        cost = advice.cost(row)
        if row is advice.reference:
            assert line["cost_change_percent"] == 0
        elif cost is not None and cost.estimate is not None:
            assert line["cost_change_percent"] == pytest.approx(100 * (cost.estimate - 1))
        assert math.isnan(line["cost_change_low"])  # two conversations have no interval


def test_bounds_are_added_where_they_are_asked_for(replayed):
    labels = replayed.summary(bounds=True)["strategy"]
    assert {"keep_all", "keep_none"} <= set(labels)
    assert not {"keep_all", "keep_none"} & set(replayed.summary()["strategy"])


def test_calls_that_are_over_the_window_or_rejected_are_a_share(make, by_hand):
    torn = make("torn()", CUT, cut=[1])
    over = make("over()", CUT, cut=[1])
    runs = [
        replace(torn, metrics={**torn.metrics, "rejected_calls": 3, "overflows": 0}),
        replace(over, metrics={**over.metrics, "rejected_calls": 0, "overflows": 2}),
    ]
    summary = by_hand(make("keep_all()"), *runs).summary().set_index("strategy")
    calls = len(CUT)
    assert summary["unusable_calls_percent"]["torn"] == pytest.approx(100 * 3 / calls)
    assert summary["unusable_calls_percent"]["over"] == pytest.approx(100 * 2 / calls)


def test_several_models_are_told_by_the_index(make, by_hand):
    models = ("claude-sonnet-4-5", "claude-opus-4-5")
    results = by_hand(*(make("keep_all()", model=model) for model in models))
    assert list(results.summary().index) == [f"Model {model}" for model in models]
    assert [rf"\emph{{Model {model}}}" in results.to_latex() for model in models] == [True, True]


def test_without_runs_there_is_an_empty_frame():
    results = compactlab.Results([])
    assert list(results.summary().columns) == list(COLUMNS)
    assert results.to_latex().count(r"\\") == 1
    assert "<table>" in results._repr_html_()


def test_a_notebook_shows_the_summary_and_no_markup_of_others(make, by_hand):
    shown = by_hand(make(f"{HOSTILE}()"))._repr_html_()
    tags: list[str] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: tags.append(tag)  # type: ignore[method-assign]
    parser.feed(shown)
    assert set(tags) == {"div", "table", "thead", "tbody", "tr", "th", "td", "p"}
    assert "&lt;b&gt;50%&lt;/b&gt;" in shown


def test_a_table_of_a_paper_has_escaped_names_and_equal_rows(make, by_hand):
    text = by_hand(make("keep_all()"), make(f"{HOSTILE}()", CUT, cut=[1], need=0.5)).to_latex()
    assert text.count(r"\toprule") == text.count(r"\bottomrule") == 1
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {6}
    assert r"\input{" not in text
    assert escaped(HOSTILE) in text


def test_methods_have_the_names_of_charts():
    assert {name.replace("_", "-") for name in METHODS} <= set(CHARTS)
    assert len(METHODS) == 8


@pytest.mark.parametrize("name", METHODS)
def test_every_chart_is_drawn_into_the_axes_that_are_given(name, replayed):
    method = getattr(replayed.plot, name)
    figure, axes = pyplot.subplots(1, 2, figsize=(9, 4))
    assert method(ax=axes[1]) is axes[1]
    assert axes[1].has_data()
    assert axes[1].get_xlabel()
    assert not axes[0].has_data()
    own = method()
    assert isinstance(own, Axes)
    assert own.figure is not figure


def test_an_axes_has_the_figures_of_the_analysis(replayed):
    (comparison,) = comparisons(replayed)
    axes = replayed.plot.cost_by_class()
    ends = [0.0] * len(comparison.rows)
    for container in axes.containers:
        ends = [end + bar.get_width() for end, bar in zip(ends, container, strict=True)]
    assert ends == pytest.approx([row.value("cost_usd") for row in comparison.rows])
    assert [text.get_text() for text in axes.get_yticklabels()] == ["codex", "claude_code"][
        :: 1 if comparison.rows[0].label == "codex" else -1
    ]


def test_what_cannot_be_drawn_is_said(replayed):
    with raises("UsageError: there is no comparison 3 of 1"):
        replayed.plot.cost_and_recall(comparison=3)
    with raises("UsageError: nothing to draw in these results"):
        replayed.plot.cumulative_cost(conversation="nobody")


def test_a_dollar_in_a_name_is_a_dollar(make, by_hand):
    r"""Matplotlib would read ``$\frac$`` as a formula, and fail."""
    results = by_hand(make("keep_all()"), make("a$\\frac$b()", CUT, cut=[1], need=0.5))
    for name in ("cost_and_recall", "cost_by_class", "cumulative_cost"):
        axes = getattr(results.plot, name)(ax=pyplot.subplots()[1])
        axes.figure.canvas.draw()


def test_a_stored_run_has_the_same_methods(replayed, tmp_path):
    replayed.save(tmp_path / "store")
    again = compactlab.Results.load(tmp_path / "store")
    assert again.to_latex() == replayed.to_latex()
    assert again._repr_html_() == replayed._repr_html_()
