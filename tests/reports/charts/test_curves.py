"""Lines over ages, rounds and calls: through the figures, and no farther."""

import itertools
import math
from collections.abc import Callable, Sequence

import pytest
from matplotlib.figure import Figure

from compactlab.reports.analysis.bootstrap import row_interval
from compactlab.reports.analysis.comparison import Comparison
from compactlab.reports.charts.chart import Chart
from compactlab.reports.charts.lines import by_lag, by_round, cumulative
from compactlab.sim.metrics.lag import LAGS
from compactlab.sim.store.tables import LAG_TABLE

Compare = Callable[..., Comparison]
Texts = Callable[[Figure], list[str]]

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


def test_recall_falls_with_the_lag(compared: Compare, texts: Texts) -> None:
    comparison = compared(keep_all={}, mine={"side_cost_usd": 0.1}, other={})
    lagged(comparison, "keep_all", own=[1, 1, 1])
    lagged(comparison, "mine", own=[0.9, None, 0.4], junk=[0.9, None, 0.2], oracle=[1, None, 0.8])
    lagged(comparison, "other", own=[0.8, 0.7, 0.6])
    chart = by_lag(comparison, COLOURS, "a-lag")
    assert line(chart, "mine") == [0.9, pytest.approx(math.nan, nan_ok=True), 0.4]
    assert chart is not None
    labels = texts(chart.figure)
    assert {"less than 1k", "2k to 5k"} <= set(labels)
    assert "5k to 10k" not in labels  # nobody had such needs
    assert {"keep_all", "mine", "1 other strategy"} <= set(labels)
    assert chart.figure.axes[0].get_xlabel().endswith("tokens of the log")
    assert "%" in chart.figure.axes[0].get_ylabel()
    (band,) = chart.figure.axes[0].collections  # between junk and oracle, of who summarises
    heights = {float(y) for path in band.get_paths() for y in path.vertices[:, 1]}
    assert {0.2, 0.8, 0.9, 1.0} >= {round(y, 9) for y in heights}
    assert "what a summary can change" in chart.caption


def test_without_facts_there_are_no_curves(compared: Compare) -> None:
    comparison = compared(keep_all={})
    for run in comparison.rows[0].runs:
        run.rows["lags"] = LAG_TABLE.filled({})
    assert by_lag(comparison, COLOURS, "a") is None
    assert by_round(compared(keep_all={}), COLOURS, "a") is None


def test_where_nothing_is_compacted_nothing_survives_compactions(compared: Compare) -> None:
    assert by_round(compared(keep_all=rounds(0.0)), COLOURS, "a") is None


def test_survival_has_a_band_where_there_are_conversations_enough(compared: Compare) -> None:
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


def test_cost_adds_up_to_the_cost_of_the_run(compared: Compare) -> None:
    comparison = compared(keep_all={}, mine={})
    runs = {row.spec: row.runs[0] for row in comparison.rows}
    chart = cumulative(comparison.rows, runs, COLOURS, "a-cumulative-1", "one (claude-code)")
    paid = line(chart, "mine")
    assert paid[0] == 0
    assert paid[-1] == pytest.approx(runs["mine()"].metrics["cost_usd"])
    assert all(later >= sooner for sooner, later in itertools.pairwise(paid))
    assert chart is not None
    assert chart.subject == "one (claude-code)"
    assert chart.figure.axes[0].get_ylabel() == "cumulative cost, USD"


def test_of_long_sessions_the_last_call_is_there(
    make: Callable[..., object], compared: Compare
) -> None:
    comparison = compared(mine={})
    long = make("mine()", [(0, 100)] * 1_001)
    chart = cumulative(comparison.rows, {"mine()": long}, COLOURS, "a", "c")  # type: ignore[dict-item]
    assert chart is not None
    (drawn,) = chart.figure.axes[0].lines
    assert len(drawn.get_xdata()) < 170
    assert float(drawn.get_xdata()[-1]) == 1_001


def test_without_runs_there_is_no_running_cost(compared: Compare) -> None:
    assert cumulative(compared(mine={}).rows, {}, COLOURS, "a", "c") is None
