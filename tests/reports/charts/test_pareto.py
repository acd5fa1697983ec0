"""The front of cost and memory, with what is known of it."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from inline_snapshot import snapshot

from compactlab.reports.analysis.comparison import RECALL, Comparison, comparisons
from compactlab.reports.analysis.contrast import contrasts
from compactlab.reports.charts.chart import Chart, Look
from compactlab.reports.charts.palette import light
from compactlab.reports.charts.pareto import pareto
from tests.reports.conftest import CUT, make, store
from tests.reports.spoken import folded

Compare = Callable[..., Comparison]

COLOURS = {"keep_all()": "slate", "mine()": "blue", "keep_none()": "grey"}


def drawn(comparison: Comparison) -> Chart:
    chart = pareto(comparison, COLOURS, "part-1-pareto", ["mine()"])
    assert chart is not None
    return chart


def lines(chart: Chart) -> list[list[tuple[float, float]]]:
    paths = [line.get_xydata() for line in chart.figure.axes[0].lines]
    return [[(float(x), float(y)) for x, y in line] for line in paths]


def test_every_strategy_has_a_dot_and_tells_its_figures(compared, texts):
    whole = {"overflows": 0}
    comparison = compared(keep_all=whole, mine={"cost_usd": 0.01, "recall_20k": 0.75})
    chart = drawn(comparison)
    assert [(0.01, 0.75)] in lines(chart)
    assert [(comparison.rows[1].value("cost_usd"), 1.0)] in lines(chart)
    told = re.findall("<title>(.*?)</title>", chart.markup())
    assert "mine\u2028cost: 0.010 USD\u2028recall: 75.0%" in [
        "\u2028".join(each.split("\u2028")[:3]) for each in told
    ]


def test_named_are_the_front_the_reference_and_ones_own(texts):
    runs = [make("claude_code()", CUT, cut=[2], need=0.4)]
    runs += [make(n, CUT, cut=[2], need=0.5) for n in ("mine()", "other()")]
    runs.append(make("best()", CUT, cut=[2]))
    (comparison,) = comparisons(store(*runs))
    colours = dict.fromkeys((run.strategy for run in runs), "grey")
    chart = pareto(comparison, colours, "a", ["mine()"])
    assert chart is not None
    named = {"claude_code", "mine, other", "best"}  # two do the same
    assert named <= set(texts(chart.figure))
    assert chart.narrow is not None
    assert named <= set(texts(chart.narrow))


@pytest.mark.parametrize(("count", "all_are_named"), [(12, True), (30, False)])
def test_up_to_twenty_marks_all_have_names(count, all_are_named, texts):
    """Beyond, only the front, the reference and one's own have."""
    runs = [make(f"s{n}()", [(0, 200 + 60 * n)], cut=[], need=0.9 - n / 50) for n in range(count)]
    (comparison,) = comparisons(store(*runs))
    chart = pareto(comparison, dict.fromkeys((run.strategy for run in runs), "grey"), "a")
    assert chart is not None
    names = {f"s{n}" for n in range(count)}
    assert (names <= set(texts(chart.figure))) is all_are_named
    assert ("Named are the front" in chart.caption) is not all_are_named


@pytest.mark.parametrize("first", [1, -1])
def test_of_marks_on_each_other_ones_own_is_named_first(texts, first):
    twins = [make(name, CUT, cut=[2]) for name in ("another()", "mine()")][::first]
    (comparison,) = comparisons(store(make("keep_all()"), *twins))
    colours = dict.fromkeys((run.strategy for run in (*twins, make("keep_all()"))), "grey")
    for own, name, other in (["mine()"], "mine", "another"), (["another()"], "another", "mine"):
        chart = pareto(comparison, colours, "a", own)
        assert chart is not None
        assert f"{name}, {other}" in texts(chart.figure)


def test_outliers_stand_beyond_a_seam(compared):
    usual = {f"s{n}": {"cost_usd": 1.0 + n / 10, "recall_20k": 0.9} for n in range(9)}
    comparison = compared(keep_all={"cost_usd": 2.0}, far={"cost_usd": 90.0}, **usual)
    chart = pareto(comparison, dict.fromkeys((r.spec for r in comparison.rows), "grey"), "a")
    assert chart is not None
    axes = chart.figure.axes[0]
    (left, _), (right, _) = axes.transAxes.transform([(0, 0), (1, 0)])
    places = [(axes.transData.transform((x, 0.9))[0] - left) / (right - left) for x in (1.8, 90.0)]
    assert 0.7 < places[0] < 0.8 < places[1] < 1
    assert folded(chart.caption) == snapshot("""\
Up and to the left is better. Recall is of facts last stated 20,000 tokens ago or earlier.
Dashed: the Pareto front. Dotted: bounds. Beyond a double stroke, the axis is compressed.\
""")
    assert "double stroke" not in drawn(compared(keep_all={}, mine={"cost_usd": 0.01})).caption


def test_a_mark_of_the_front_lies_on_those_beside_it():
    runs = [make("keep_all()"), make("mine()", CUT, cut=[2]), make("as_recorded()", CUT, cut=[2])]
    (comparison,) = comparisons(store(*runs))
    assert [row.label for row in comparison.front] == ["mine"]
    chart = pareto(comparison, {**COLOURS, "as_recorded()": "ink"}, "part-1-pareto")
    assert chart is not None
    levels = {
        line.get_markeredgecolor(): line.get_zorder()
        for line in chart.figure.axes[0].lines
        if line.get_marker() == "o"
    }
    assert levels[light("blue")] > levels[light("ink")]


def test_axes_have_units_and_say_which_way_is_better(compared):
    axes = drawn(compared(keep_all={})).figure.axes[0]
    assert axes.get_xlabel() == snapshot("cost, USD (less is better)")
    assert axes.get_ylabel() == snapshot("recall, % (more is better)")


def test_bars_are_the_paired_intervals(compared):
    comparison = compared(
        12,
        keep_all={"overflows": 0},
        mine={"recall_20k": 0.75},
        keep_none={"recall_20k": 0.5},
    )
    rows = list(comparison.rows)
    for number, run in enumerate(row.runs for row in rows):
        for index, each in enumerate(run):
            each.metrics["cost_usd"] = 0.01 * (1 + number) * (1 + index / 50 * number)
    chart = drawn(comparison)
    reference = comparison.reference
    assert reference is not None
    cost = contrasts(comparison, reference)["mine()", "cost_usd"]
    assert cost.low is not None
    assert cost.high is not None
    dollars = reference.value("cost_usd") / 12
    ends = [cost.low * dollars, cost.high * dollars]
    bars = [line for line in lines(chart) if len(line) == 2]
    across = [[x for x, _ in bar] for bar in bars if {y for _, y in bar} == {0.75}]
    assert pytest.approx(ends) in across
    assert folded(chart.caption) == snapshot("""\
Up and to the left is better. Recall is of facts last stated 20,000 tokens ago or earlier.
Dashed: the Pareto front. Dotted: bounds. Bars: 95 % confidence intervals of the differences
from keep_all.\
""")


def test_upright_bars_go_from_the_most_that_may_be_forgotten(compared):
    comparison = compared(
        36, keep_all={"recall_20k": 1.0, "overflows": 0}, mine={"recall_20k": 0.75}
    )
    for row in comparison.rows:
        for index, run in enumerate(row.runs):
            if row.name == "mine":
                run.metrics["recall_20k"] = 0.9 - index / 120
    reference = comparison.reference
    assert reference is not None
    need = contrasts(comparison, reference)["mine()", "recall_20k"]
    assert need.low is not None
    assert need.high is not None
    assert need.low < need.high
    bars = [[y for _, y in line] for line in lines(drawn(comparison)) if len(line) == 2]
    assert pytest.approx([1 + need.low, 1 + need.high]) in bars


def test_what_exceeds_the_window_is_hollow(compared):
    chart = drawn(compared(keep_all={"overflows": 0}, mine={"cost_usd": 9.0, "overflows": 1}))
    faces = {
        line.get_xydata()[0][0]: line.get_markerfacecolor()
        for line in chart.figure.axes[0].lines
        if line.get_marker() == "o"
    }
    assert faces == {9.0: light("paper")}


def test_under_ten_conversations_there_are_no_bars(compared):
    chart = drawn(compared(9, keep_all={}, mine={"recall_20k": 0.75}))
    assert "confidence" not in chart.caption
    assert not [line for line in lines(chart) if len(line) == 2]


def test_without_needs_there_is_no_chart(compared):
    assert pareto(compared(keep_all=dict.fromkeys(RECALL.values())), COLOURS, "a") is None


# Bounds are lines: nobody can have their recall for their cost.


def test_bounds_are_named_lines_at_their_recall(texts):
    runs = [make("claude_code()", CUT, cut=[2], need=0.4), make("codex()", CUT, cut=[2], need=0.3)]
    runs += [make("oracle()", CUT, cut=[2]), make("keep_none()", CUT, cut=[2], need=0.0)]
    beside = [replace(make("keep_all()"), bound=True)]
    results = store(*runs, *beside, sees_future=["oracle()"], bounds={"keep_all()": "keep_all"})
    (comparison,) = comparisons(results)
    chart = pareto(comparison, dict.fromkeys((r.strategy for r in (*runs, *beside)), "grey"), "a")
    assert chart is not None
    (upper,) = chart.figure.axes[0].collections
    assert {float(y) for path in upper.get_paths() for y in path.vertices[:, 1]} == {1.0}
    labels = set(texts(chart.figure))
    assert {"oracle, keep_all (bound)", "keep_none (bound), 0%, below"} <= labels
    assert {"claude_code", "codex"} <= labels
    marks = [line for line in chart.figure.axes[0].lines if line.get_marker() == "o"]
    assert len(marks) == 2


def test_alone_bounds_are_marks(compared, texts):
    chart = drawn(compared(keep_all={}, keep_none={"recall_20k": 0.0}))
    assert {"keep_all", "keep_none"} <= set(texts(chart.figure))


@pytest.mark.parametrize("size", [None, 3.3])
def test_fifteen_marks_in_a_crowd_are_all_named(size, texts):
    """As over a recording where next to nothing was compacted."""
    names = [f"strategy_{n}" for n in range(15)]
    runs = [make(f"{name}()", [(0, 900 + n % 5)], cut=[]) for n, name in enumerate(names)]
    (comparison,) = comparisons(store(*runs))
    colours = dict.fromkeys((run.strategy for run in runs), "grey")
    chart = pareto(comparison, colours, "a", width=Look(width=size).layout)
    assert chart is not None
    written = " ".join(texts(chart.figure)).replace("\n", " ")
    assert all(re.search(rf"\b{name}\b", written) for name in names)
