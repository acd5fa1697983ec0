"""Charts with a row a strategy that are no bars: spikes, loops, and tables that are looked at."""

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
from inline_snapshot import snapshot

from compactlab.reports.analysis.comparison import Comparison
from compactlab.reports.charts.profile import by_type, continuity
from compactlab.reports.charts.setbacks import loops, spikes, thrash
from compactlab.sim.store.tables import TABLES

Compare = Callable[..., Comparison]


def with_compactions(comparison: Comparison, **columns: list[float]) -> Comparison:
    """The same with compactions in the runs of its first row."""
    rows = TABLES["compactions"].filled(columns)
    first = comparison.rows[0]
    runs = tuple(replace(run, rows={**run.rows, "compactions": rows}) for run in first.runs)
    return replace(comparison, rows=(replace(first, runs=runs), *comparison.rows[1:]))


def test_spikes_are_ratios_and_only_what_pays_breaks_even(compared, texts):
    comparison = with_compactions(
        compared(mine={}, other={}),
        cache_miss_tokens=[900, 300, 50],
        cache_miss_tokens_before=[300.0, 0.0, 100.0],
        calls_to_next=[10, 10, 10],
        break_even_calls=[4.0, 12.0, math.inf],
    )
    chart = spikes(comparison, "a-spikes")
    assert chart is not None
    left, right = chart.figure.axes
    dots = [line.get_xdata() for axes in (left, right) for line in axes.lines]
    assert [3.0, 0.5] in [list(xs) for xs in dots]
    assert [4.0] in [list(xs) for xs in dots]
    labels = texts(chart.figure)
    assert "mine" in labels
    assert "other" not in labels
    assert {"3", "67%", "no break-even"} <= set(labels)
    assert left.get_xlabel() == snapshot("spike: cache-miss tokens, times those before")
    assert right.get_xlabel() == "break-even, calls"


def test_many_compactions_are_boxes(compared):
    count = 100
    comparison = with_compactions(
        compared(mine={}),
        cache_miss_tokens=[float(n) for n in range(1, count + 1)],
        cache_miss_tokens_before=[1.0] * count,
        calls_to_next=[5] * count,
        break_even_calls=[2.0] * count,
    )
    chart = spikes(comparison, "a")
    assert chart is not None
    whisker, box = chart.figure.axes[0].collections
    assert [float(x) for x in box.get_paths()[0].vertices[:, 0]] == [25.75, 75.25]
    assert [float(x) for x in whisker.get_paths()[0].vertices[:, 0]] == pytest.approx([5.95, 95.05])


def test_without_compactions_there_are_no_spikes(compared):
    assert spikes(compared(mine={}), "a") is None


def test_a_death_spiral_lies_in_the_red_on_both_sides(compared, texts):
    comparison = with_compactions(
        compared(mine={"compactions_per_100_calls": 30.0, "compactions_by_rereads": 0.5}, other={}),
        call=[10, 12, 13, 33],
        tokens_after=[95, 99, 110, 40],
        tokens_removed=[5, 1, -10, 60],
    )
    chart = thrash(comparison, "a-thrash")
    assert chart is not None
    left, right = chart.figure.axes
    dots = [[float(x) for x in line.get_xdata()] for axes in (left, right) for line in axes.lines]
    assert [2.0, 1.0, 20.0] in dots  # calls from one to the next
    assert [0.05, 0.01, 0.0, 0.6] in dots  # what made the prompt larger is drawn at 0
    zones = [axes.patches[0].get_extents().transformed(axes.transData.inverted())
             for axes in (left, right)]  # fmt: skip
    assert [zone.x1 for zone in zones] == pytest.approx([5, 0.1])
    assert {"mine", "30.0", "75%", "50%", "per 100 calls"} <= set(texts(chart.figure))
    assert "other" not in texts(chart.figure)


def test_a_conversation_that_compacts_once_has_no_interval(compared):
    once = with_compactions(
        compared(conversations=2, mine={}), call=[10], tokens_after=[50], tokens_removed=[50]
    )
    assert thrash(once, "a") is None
    assert thrash(compared(mine={}), "a") is None


def test_what_recovery_adds_is_drawn_and_told(compared, texts):
    chart = loops(
        compared(
            mine={
                "cost_usd": 1.0,
                "cost_with_recovery_usd": 1.5,
                "cost_with_recovery_worst_usd": 2.0,
            },
            other={"cost_usd": 3.0, "cost_with_recovery_usd": 2.75},
            open={"cost_usd": 9.0},
        ),
        "a-loops",
    )
    assert chart is not None
    axes = chart.figure.axes[0]
    assert [list(line.get_xdata()) for line in axes.lines] == [[2.0], [1.0, 3.0], [1.5, 2.75]]
    labels = texts(chart.figure)
    assert "+0.50 to +1.00" in labels
    assert "\N{MINUS SIGN}0.25" in labels
    assert "open" not in labels
    assert axes.get_xlabel() == snapshot("cost of all conversations, USD")


def test_what_reads_the_same_at_best_and_at_worst_is_told_once(compared, texts):
    worst = {"cost_usd": 1.0, "cost_with_recovery_usd": 1.5, "cost_with_recovery_worst_usd": 1.501}
    chart = loops(compared(mine=worst), "a-loops")
    assert chart is not None
    assert {"+0.50", "closed loop, worst case"} <= set(texts(chart.figure))
    same = {"cost_usd": 1.0, "cost_with_recovery_usd": 1.5, "cost_with_recovery_worst_usd": 1.5}
    chart = loops(compared(mine=same), "a-loops")
    assert chart is not None
    assert {"+0.50", "closed loop, best case"} <= set(texts(chart.figure))
    assert "closed loop, worst case" not in texts(chart.figure)


def test_figures_beside_the_rows_have_a_head_above_them(compared):
    """Of forty rows, nobody looks for it at the foot."""
    comparison = with_compactions(
        compared(mine={"cost_with_recovery_usd": 9.0}, other={}),
        cache_miss_tokens=[9e5] * 9, cache_miss_tokens_before=[300.0] * 9, calls_to_next=[9] * 9,
        break_even_calls=[4.0] * 9,
    )  # fmt: skip
    for chart, heads in (
        (spikes(comparison, "a"), {"number", "no break-even"}),
        (loops(comparison, "a"), {"recovery adds, USD"}),
    ):
        assert chart is not None
        marks = [each for axes in chart.figure.axes for each in axes.texts]
        by_text = {each.get_text(): each for each in marks}
        assert heads <= set(by_text)
        chart.figure.canvas.draw()
        tops = [each.get_window_extent().y0 for name, each in by_text.items() if name not in heads]
        assert all(by_text[head].get_window_extent().y0 > max(tops) for head in heads)


def test_great_spikes_have_their_thousands_told_apart(compared):
    comparison = with_compactions(
        compared(mine={}), cache_miss_tokens=[9e5, 300], cache_miss_tokens_before=[300.0, 300.0],
        calls_to_next=[9, 9], break_even_calls=[4.0, 4.0],
    )  # fmt: skip
    chart = spikes(comparison, "a")
    assert chart is not None
    chart.figure.canvas.draw()
    assert "1,000" in [each.get_text() for each in chart.figure.axes[0].get_xticklabels()]


def test_an_open_loop_has_no_recovery(compared):
    assert loops(compared(mine={}), "a") is None


def test_types_are_columns_with_what_is_held(compared, texts):
    chart = by_type(compared(mine={"amnesia_goal": 0.25, "amnesia_entity": 0.999}, other={}), "a")
    assert chart is not None
    labels = texts(chart.figure)
    assert {"75", "<1", "goal", "entity", "% \N{UPWARDS ARROW}"} <= set(labels)
    assert "decision" not in labels


def test_continuity_says_unit_and_direction_of_each_column(compared, texts):
    mine = {"order_fidelity": -0.5, "novelty": 0.25, "drift_identifiers": 0.1}
    chart = continuity(compared(mine=mine), "a-continuity")
    assert chart is not None
    labels = texts(chart.figure)
    assert {"tau \N{UPWARDS ARROW}", "% \N{DOWNWARDS ARROW}", "%", "25", "10"} <= set(labels)
    assert "\N{MINUS SIGN}0.50" in labels
    assert "an order below 0 counts as 0" in chart.caption
    # Novelty is good by three quarters; order below 0 is not good at all, and drift is neither.
    shades = [patch.get_alpha() for patch in chart.figure.artists if patch.get_alpha()]
    assert shades == [0.5, 0.5, 0.4]  # the first two: forward need and structural validity


def test_without_figures_there_is_no_table(compared):
    assert by_type(compared(mine={}), "a") is None
