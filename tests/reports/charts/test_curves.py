"""Lines over ages, rounds, calls and windows: through the figures, and no farther."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from matplotlib.text import Annotation, Text

from compactlab.reports.analysis.bootstrap import row_interval
from compactlab.reports.analysis.comparison import Comparison
from compactlab.reports.analysis.scope import sweeps
from compactlab.reports.charts.chart import Chart, Look
from compactlab.reports.charts.drawing import canvas
from compactlab.reports.charts.kit import WIDTH
from compactlab.reports.charts.lines import by_lag, by_round, by_window, cumulative
from compactlab.reports.charts.names import spaced
from compactlab.reports.charts.palette import light
from compactlab.sim.metrics.memory import LAGS
from compactlab.sim.store.tables import LAG_TABLE

Compare = Callable[..., Comparison]

COLOURS = {"keep_all()": "slate", "mine()": "blue", "other()": "grey"}


def lagged(comparison: Comparison, name: str, **recalls: Sequence[float | None]) -> None:
    """Give a strategy its recall at each step of the lag, by who wrote its summaries."""
    row = next(row for row in comparison.rows if row.name == name)
    steps = [
        (writer.removeprefix("own"), lag, 100, round(100 * share))
        for writer, shares in recalls.items()
        for lag, share in zip(LAGS, shares, strict=False)
        if share is not None
    ]
    columns = zip(*steps, strict=True)
    names = ("summaries", "lag", "needs", "met")
    for run in row.runs:
        run.rows["lags"] = LAG_TABLE.filled(dict(zip(names, columns, strict=True)))


def rounds(*forgotten: float | None) -> dict[str, float | None]:
    return {f"amnesia_round_{number}": value for number, value in enumerate(forgotten)}


def line(chart: Chart | None, label: str) -> Sequence[float]:
    assert chart is not None
    curve = next(each for each in chart.figure.axes[0].lines if each.get_label() == label)
    return [float(y) for y in curve.get_ydata()]


def test_recall_falls_with_the_lag(compared, texts):
    comparison = compared(keep_all={}, mine={"side_cost_usd": 0.1}, other={})
    lagged(comparison, "keep_all", own=[1, 1, 1])
    lagged(comparison, "mine", own=[0.9, None, 0.4], junk=[0.9, None, 0.2], oracle=[1, None, 0.8])
    lagged(comparison, "other", own=[0.8, 0.7, 0.6])
    chart = by_lag(comparison, COLOURS, "a-lag")
    assert line(chart, "mine") == [0.9, pytest.approx(math.nan, nan_ok=True), 0.4]
    assert chart is not None
    labels = texts(chart.figure)
    assert {"<1k", "2\N{EN DASH}5k"} <= set(labels)
    assert "5\N{EN DASH}10k" not in labels  # nobody had such needs
    assert {"keep_all (bound)", "mine", "other"} <= set(labels)
    assert chart.figure.axes[0].get_xlabel() == snapshot("distance of the need, tokens of the log")
    assert "%" in chart.figure.axes[0].get_ylabel()
    (band,) = chart.figure.axes[0].collections  # between junk and oracle, of who summarises
    heights = {float(y) for path in band.get_paths() for y in path.vertices[:, 1]}
    assert {0.2, 0.8, 0.9, 1.0} >= {round(y, 9) for y in heights}
    assert "what a summary can change" in chart.caption


def test_without_facts_there_are_no_curves(compared):
    comparison = compared(keep_all={})
    for run in comparison.rows[0].runs:
        run.rows["lags"] = LAG_TABLE.filled({})
    assert by_lag(comparison, COLOURS, "a") is None
    assert by_round(compared(keep_all={}), COLOURS, "a") is None


def test_where_nothing_is_compacted_nothing_survives_compactions(compared):
    assert by_round(compared(keep_all=rounds(0.0)), COLOURS, "a") is None


def test_survival_has_a_band_where_there_are_conversations_enough(compared):
    comparison = compared(12, mine=rounds(0.0, 0.5), other=rounds(0.0, 0.2))
    for index, run in enumerate(run for row in comparison.rows for run in row.runs):
        run.metrics["amnesia_round_1"] = 0.3 + index % 12 / 40
    chart = by_round(comparison, COLOURS, "a-survival")
    assert chart is not None
    (band,) = chart.figure.axes[0].collections  # the grey one has none
    row = next(row for row in comparison.rows if row.name == "mine")
    interval = row_interval(row, "amnesia_round_1")
    assert interval.low is not None
    assert interval.high is not None
    heights = {round(float(y), 9) for y in band.get_paths()[0].vertices[:, 1]}
    assert {round(1 - interval.low, 9), round(1 - interval.high, 9)} <= heights
    assert "95 % confidence intervals" in chart.caption


def test_cost_adds_up_to_the_cost_of_the_run(compared):
    comparison = compared(keep_all={}, mine={})
    runs = {row.spec: row.runs[0] for row in comparison.rows}
    chart = cumulative(comparison.rows, runs, COLOURS, "a-cumulative-1", "one (claude-code)")
    paid = line(chart, "mine")
    assert paid[0] == 0
    assert paid[-1] == pytest.approx(runs["mine()"].metrics["cost_usd"])
    assert all(later >= sooner for sooner, later in itertools.pairwise(paid))
    assert chart is not None
    assert chart.subject == "one (claude-code)"
    assert chart.figure.axes[0].get_ylabel() == snapshot("cumulative cost, USD")


def test_of_long_sessions_the_last_call_is_there(make, compared):
    comparison = compared(mine={})
    long = make("mine()", [(0, 100)] * 1_001)
    chart = cumulative(comparison.rows, {"mine()": long}, COLOURS, "a", "c")  # type: ignore[dict-item]
    assert chart is not None
    (drawn,) = chart.figure.axes[0].lines
    assert len(drawn.get_xdata()) < 170
    assert float(drawn.get_xdata()[-1]) == 1_001


def test_without_runs_there_is_no_running_cost(compared):
    assert cumulative(compared(mine={}).rows, {}, COLOURS, "a", "c") is None


# Every line is named at its end.


def ends(chart: Chart) -> dict[str, Annotation]:
    """The names at the ends of lines."""
    texts = chart.figure.axes[0].texts
    return {text.get_text(): text for text in texts if isinstance(text, Annotation)}


def crowded(compared: Compare, count: int, width: float = WIDTH) -> Chart:
    """Lines that all end at nearly the same height."""
    strategies = {f"s{n}": rounds(0.0, 0.5 + n / 1_000) for n in range(count)}
    comparison = compared(**strategies)
    colours = {row.spec: "grey" for row in comparison.rows}
    chart = by_round(comparison, colours, "a", width)
    assert chart is not None
    return chart


@pytest.mark.parametrize("width", [WIDTH, Look(width=3.3).layout])
def test_up_to_fifteen_lines_are_all_named_and_no_name_covers_another(compared, width):
    chart = crowded(compared, 15, width)
    names = ends(chart)
    assert {*names} == {f"s{n}" for n in range(15)}
    with canvas():
        chart.figure.draw_without_rendering()
        boxes = [Text.get_window_extent(text) for text in names.values()]
    assert all(not a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    assert all(box.x1 <= chart.figure.bbox.width for box in boxes)


def test_names_stand_in_the_order_of_the_ends(compared):
    names = ends(crowded(compared, 9))
    heights = [names[f"s{n}"].xyann[1] for n in range(9)]  # the more is missed, the lower
    assert heights == sorted(heights, reverse=True)


def test_of_more_lines_the_extremes_and_those_named_first_have_names(compared, texts):
    chart = crowded(compared, 20)
    assert len(ends(chart)) == 15
    assert {"s0", "s1", "s10", "s19"} <= {*ends(chart)}
    assert "5 other strategies" in texts(chart.figure)


def test_a_bound_is_a_bound(compared):
    comparison = compared(mine=rounds(0.0, 0.5), keep_none=rounds(0.0, 1.0))
    chart = by_round(comparison, {"mine()": "blue", "keep_none()": "grey"}, "a")
    assert chart is not None
    assert {*ends(chart)} == {"mine", "keep_none (bound)"}
    (bound,) = [each for each in chart.figure.axes[0].lines if each.get_label() == "keep_none"]
    assert bound.get_color() == light("muted")
    assert bound.get_marker() in ("", "None")


@given(st.lists(st.floats(0, 100), max_size=12), st.floats(0.5, 12), st.floats(100, 200))
def test_positions_keep_their_distance_and_their_order(wanted, apart, high):
    places = spaced(wanted, apart, high)
    assert len(places) == len(wanted)
    ordered = [place for _, place in sorted(zip(wanted, places, strict=True))]
    assert all(b - a >= apart - 1e-6 for a, b in itertools.pairwise(ordered))
    assert all(place <= high + 1e-6 for place in places)
    if apart * (len(wanted) - 1) <= high:
        assert all(place >= -1e-6 for place in places)


def test_positions_with_room_are_those_that_are_wanted():
    assert spaced([90, 10, 50], 10, 100) == [90, 10, 50]


def under(compared: Compare, window: int, **costs: float) -> Comparison:
    made = compared(**{name: {"cost_usd": cost} for name, cost in costs.items()})
    return replace(made, window=window)


def test_every_strategy_is_a_named_line_over_the_windows(compared):
    wide, narrow = under(compared, 64_000, a=1, b=2), under(compared, 40_000, a=4, b=3)
    (sweep,) = sweeps([wide, narrow])
    assert [each.window for each in sweep] == [40_000, 64_000]
    chart = by_window(sweep, {}, "windows-1")
    assert chart is not None
    axes = chart.figure.axes[0]
    number = narrow.conversations
    lines = {str(line.get_label()): line for line in axes.lines if line.get_label() in ("a", "b")}
    assert list(lines["a"].get_ydata()) == [4 / number, 1 / number]
    assert list(lines["b"].get_ydata()) == [3 / number, 2 / number]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["40k", "64k"]
    assert {"a", "b"} <= {text.get_text() for text in axes.texts}


def test_a_strategy_without_a_second_window_has_no_line(compared):
    one, two = under(compared, 64_000, a=1, b=2), under(compared, 40_000, a=4)
    (sweep,) = sweeps([one, two])
    chart = by_window(sweep, {}, "windows-1")
    assert chart is not None
    drawn = [line for line in chart.figure.axes[0].lines if line.get_label() == "b"]
    assert not drawn
    assert not any(math.isnan(y) for line in chart.figure.axes[0].lines for y in line.get_ydata())


def test_one_window_has_no_chart(compared):
    assert sweeps([under(compared, 40_000, a=1, b=2)]) == []
