"""Bars: what they are made of is what was reckoned, and adds up."""

import itertools
from collections.abc import Callable
from dataclasses import replace

import pytest
from matplotlib.patches import PathPatch, Rectangle

from compactlab.reports.analysis.comparison import Comparison, comparisons
from compactlab.reports.charts.chart import Chart
from compactlab.reports.charts.drawing import canvas, width_of
from compactlab.reports.charts.kit import NAME_SIZE, USD, Piece, bars
from compactlab.reports.charts.stacked import breakdown, classes, occupancy
from compactlab.sim.facts.tracker import STATES

Compare = Callable[..., Comparison]


def pieces(chart: Chart | None, row: int) -> list[float]:
    """The lengths of the pieces of a bar, from left to right."""
    assert chart is not None
    bars = [bar for bar in chart.figure.axes[0].patches if isinstance(bar, Rectangle)]
    own = [bar for bar in bars if bar.get_y() < row < bar.get_y() + bar.get_height()]
    for one, other in itertools.pairwise(own):
        assert other.get_x() == pytest.approx(one.get_x() + one.get_width())
    return [bar.get_width() for bar in own]


def test_classes_of_tokens_add_up_to_the_cost(small, texts):
    comparison = comparisons(small)[0]
    chart = classes(comparison, "a-classes")
    for number, row in enumerate(comparison.rows):
        assert sum(pieces(chart, number)) == pytest.approx(row.value("cost_usd"))
    assert chart is not None
    labels = texts(chart.figure)
    assert {"cache read", "cache write", "output", "summary calls"} <= set(labels)
    assert "plain input" not in labels  # nothing was
    assert "cost of all conversations, USD" in labels


def test_without_classes_there_is_no_chart_of_them(compared):
    assert classes(compared(keep_all={"cost_read_usd": None}), "a") is None
    free = dict.fromkeys(("cost_usd", "cost_read_usd", "cost_write_usd", "cost_output_usd"), 0.0)
    assert classes(compared(keep_all=free), "a") is None


def test_causes_are_pieces_of_what_was_fresh(small, texts):
    comparison = comparisons(small)[0]
    chart = breakdown(comparison, "a-causes")
    number = [row.name for row in comparison.rows].index("keep_none")
    assert pieces(chart, number)[:3] == [0, 2_000, 2_400]  # append, cold start, compaction of two
    assert chart is not None
    assert "compaction_call" in texts(chart.figure)
    assert "cache-miss tokens, all conversations together" in texts(chart.figure)


def test_where_nothing_was_fresh_there_are_no_causes(make, store):
    bare = replace(make("keep_all()"), rows={})
    assert breakdown(comparisons(store(bare))[0], "a") is None


def test_states_fill_the_whole_bar(compared, texts):
    shares = dict.fromkeys((f"occupancy_{state}" for state in STATES), 0.0)
    mine = {**shares, "occupancy_verbatim": 0.5, "occupancy_stale": 0.2, "occupancy_lost": 0.3}
    chart = occupancy(compared(good={**shares, "occupancy_verbatim": 1.0}, mine=mine, none={}), "a")
    assert pieces(chart, 0) == [1.0, 0, 0]
    assert pieces(chart, 1) == pytest.approx([0.5, 0.2, 0.3])
    assert chart is not None
    labels = texts(chart.figure)
    assert [name for name in labels if name in STATES] == ["verbatim", "stale", "lost"]
    assert "none" not in labels


def test_without_facts_there_are_no_states(compared):
    assert occupancy(compared(keep_all={}), "a") is None


def test_forty_long_names_have_room_and_stay_different(compared, texts):
    names = [f"{'strategy_' * 8}{number}" for number in range(41)]
    chart = classes(compared(**{name: {} for name in names}), "a")
    assert chart is not None
    axes = chart.figure.axes[0]
    shown = [label.get_text() for label in axes.get_yticklabels()]
    assert len(set(shown)) == 41
    room = 72 * chart.figure.get_figwidth() * axes.get_position().x0
    assert max(width_of(text, NAME_SIZE) for text in shown) < room - 6


def test_a_piece_without_a_name_stands_in_no_key(texts):
    with canvas():
        drawn = bars(
            ["mine"], [Piece("", "blue", "", [1.0]), Piece("b", "sky", "", [2.0])], USD, ""
        )
        bare = bars(["mine"], [Piece("", "blue", "", [1.0])], USD, "")
    assert "b" in texts(drawn)
    assert drawn.get_figheight() > bare.get_figheight()
    assert not [each for each in bare.artists if isinstance(each, PathPatch)]
