"""The figures of a chart as a table: those that are drawn, with heads that have their units."""

import math
from collections.abc import Iterator

import numpy as np
import pytest
from matplotlib.figure import Figure

from compactlab.reports.analysis.comparison import comparisons
from compactlab.reports.charts.chart import Chart
from compactlab.reports.charts.drawing import strategy_colours
from compactlab.reports.charts.gallery import gallery
from compactlab.reports.charts.kit import CALLS, PERCENT, spread_values
from compactlab.reports.render.fields import write_csv
from compactlab.sim.store.results import Results


@pytest.fixture
def charts(small: Results) -> dict[str, Chart]:
    for run in small.runs:
        if run.status == "ok":
            cost = run.metrics["cost_usd"] or 0.0
            run.metrics |= {"cost_with_recovery_usd": 1.1 * cost, "amnesia_goal": 0.25,
                            "cost_with_recovery_worst_usd": 1.3 * cost}  # fmt: skip
    (comparison, *_) = comparisons(small)
    found = gallery(small, comparison, strategy_colours(small), "part-1")
    return {chart.kind: chart for chart in found}


def tips(figure: Figure) -> Iterator[list[str]]:
    """The lines of each tooltip."""
    for artist in figure.findobj(lambda each: (each.get_gid() or "").startswith("tip:")):
        text = bytes.fromhex(str(artist.get_gid()).removeprefix("tip:")).decode()
        yield text.split("\N{LINE SEPARATOR}")


def test_every_chart_but_that_of_panels_has_its_figures(charts):
    assert {"pareto", "classes", "causes", "lag", "type", "loops"} <= {*charts}
    for kind, chart in charts.items():
        if kind == "session":  # the page draws it again, and knows its figures
            continue
        head, *rows = chart.values
        assert head[0] == "strategy"
        assert rows
        assert all(len(row) <= len(head) for row in rows)
        assert write_csv(chart.values).count("\n") == len(rows) + 1


@pytest.mark.parametrize(("kind", "unit"), [("classes", "USD"), ("loops", "USD")])
def test_bills_are_those_of_the_tooltips(charts, kind, unit):
    chart = charts[kind]
    head, *rows = chart.values
    assert all(str(each).endswith(f", {unit}") for each in head[1:])
    told = {lines[0]: lines[1:] for lines in tips(chart.figure)}
    for label, *figures in rows:
        shown = [line.rpartition(": ")[2] for line in told[str(label)]]
        values = [float(text.removesuffix(" USD").replace(",", "")) for text in shown]
        known = [value for value in figures if isinstance(value, float) and value]
        assert values == pytest.approx(known, rel=0.05)


def test_recall_is_in_percent_as_on_the_axis(charts):
    chart = charts["pareto"]
    head, *rows = chart.values
    assert str(head[3]).startswith("recall, %")
    places = {
        tuple(map(float, xy)) for line in chart.figure.axes[0].lines for xy in line.get_xydata()
    }
    for _, drawn, cost, recall, *_ in rows:
        if drawn == "mark":
            assert any(
                math.isclose(x, float(str(cost))) and math.isclose(100 * y, float(str(recall)))
                for x, y in places
            )


def test_a_table_of_shares_has_them_in_percent(charts):
    head, *rows = charts["type"].values
    assert list(head) == ["strategy", "goal % \N{UPWARDS ARROW}"]
    assert {row[1] for row in rows} == {75.0}


def test_few_compactions_are_given_one_by_one_and_many_as_they_are_drawn():
    few = spread_values("a", "gain, %", np.array([0.5, 0.25]), PERCENT)
    assert few == [
        ["a", "gain, %", "one compaction", 50.0],
        ["a", "gain, %", "one compaction", 25.0],
    ]
    many = spread_values("a", "calls", np.arange(101.0), CALLS)
    assert [row[2:] for row in many] == [
        ["5th percentile", 5.0], ["25th percentile", 25.0], ["median", 50.0],
        ["75th percentile", 75.0], ["95th percentile", 95.0],
    ]  # fmt: skip
