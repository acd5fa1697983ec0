"""Panels: all strategies, on the same axes, with what happened at which call."""

from collections.abc import Sequence

import pytest
from matplotlib.colors import to_rgba
from matplotlib.patches import PathPatch, Polygon

from compactlab.reports.charts.chart import Chart
from compactlab.reports.charts.palette import light
from compactlab.reports.charts.sessions import BINS, Panel, session
from compactlab.sim.models.model import built_in
from compactlab.sim.store.run import Run

CUT = [(0, 1_000), (1_000, 500), (0, 900), (900, 2_000)]


def drawn(*runs: Run) -> Chart:
    panels = [Panel(run.strategy, "blue", run, built_in()) for run in runs]
    chart = session(panels, "a-session-1", "one (claude-code)")
    assert chart is not None
    return chart


def outlines(chart: Chart) -> list[Sequence[Sequence[float]]]:
    return [each.get_xy().tolist() for each in chart.figure.artists if isinstance(each, Polygon)]


def test_the_area_is_the_prompt_and_the_bars_are_what_was_fresh(make):
    area, bars, *_ = outlines(drawn(make("mine()", CUT, cut=[2])))
    low = min(y for _, y in area)
    heights = [y - low for _, y in area]
    scale = max(heights) / 2_900
    tops = [heights[n] / scale for n in (1, 3, 5, 7)]
    assert tops == pytest.approx([1_000, 1_500, 900, 2_900])
    cache_misses = [(bars[4 * n + 1][1] - low) / scale for n in range(4)]
    assert cache_misses == pytest.approx([1_000, 500, 900, 2_000])


def strokes(chart: Chart, colour: str, *, dashed: bool) -> list[list[float]]:
    """From where to where the lines of a look go from left to right."""
    return [
        [float(x) for x, _ in each.get_path().vertices]
        for each in chart.figure.artists
        if isinstance(each, PathPatch)
        and each.get_edgecolor() == to_rgba(light(colour))
        and (each.get_linestyle() != "-") == dashed
    ]


def test_ticks_stand_at_their_calls_and_the_window_spans_all(make):
    chart = drawn(make("mine()", CUT, cut=[2]))  # the last call is over the window
    area, *_ = outlines(chart)
    left, right = min(x for x, _ in area), max(x for x, _ in area)
    step = (right - left) / 4
    assert strokes(chart, "alarm", dashed=True) == [pytest.approx([left, right])]
    assert strokes(chart, "ink", dashed=False) == [pytest.approx([left + 2.5 * step] * 2)]
    assert strokes(chart, "alarm", dashed=False) == [pytest.approx([left + 3.5 * step] * 2)]


def test_every_strategy_has_a_panel(make, texts):
    chart = drawn(*(make(f"s{n}()", CUT) for n in range(41)))
    labels = texts(chart.figure)
    assert {f"s{n}()" for n in range(41)} <= set(labels)
    assert "tokens" in labels
    assert "call number" in labels
    assert chart.subject == "one (claude-code)"


def test_panels_have_the_same_axes(make):
    small, _, large, *_ = outlines(drawn(make("a()", [(0, 500)] * 4), make("b()", CUT)))
    low = min(y for _, y in small)
    assert (max(y for _, y in large) - low) == pytest.approx(
        2_900 / 500 * (max(y for _, y in small) - low)
    )


def test_a_panel_far_beyond_the_others_is_cut_off_and_says_so(make, texts):
    usual = [make(f"s{n}()", CUT) for n in range(9)]
    chart = drawn(*usual, make("huge()", [(0, 50_000)] * 3))
    (head,) = [text for text in texts(chart.figure) if "up to" in text]
    assert head.endswith("up to 50.0k")


def test_long_sessions_have_few_bars(make):
    area, *_ = outlines(drawn(make("a()", [(0, 100 + n) for n in range(1_000)])))
    assert len(area) <= 2 * BINS + 3


def test_without_calls_there_is_no_chart():
    run = Run("one", "native", "a()", "m", 0, 0)
    assert session([Panel("a", "blue", run, built_in())], "a", "one") is None
