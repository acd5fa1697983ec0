"""The chart of growth: its points are real runs, its slope is the exponent."""

import growth as script
import pytest


@pytest.mark.parametrize("exponent", [0, 1, 2])
def test_the_slope_is_the_exponent_of_the_upper_half(exponent):
    amounts = (1, 10, 100, 1_000)
    points = [script.Point(n, 5.0 * n**exponent, 0, 0) for n in amounts]
    assert script.slope(points) == exponent
    # The start of a process weighs on the small ones alone.
    started = [script.Point(1, 10_000.0, 0, 0), *points[1:]]
    assert script.slope(started) == exponent


def test_one_thing_grows_at_a_time_and_each_point_is_a_run():
    grown = script.series(1.0)
    assert max(grown["calls of a session"]) == 100_000
    assert max(grown["conversations"]) == 10_000
    for points in grown.values():
        first, second, *_ = points.values()
        assert sum(first[key] != second[key] for key in first) == 1
    smallest = min(grown["calls of a session"].items())[1]
    point = script.measured(script.POINT, smallest)
    assert point["calls"] > 50
    assert point["seconds"] > 0


def test_the_chart_has_a_panel_for_each_and_is_the_same_twice():
    found = {
        name: [script.Point(n, n / 100, 50, n) for n in points]
        for name, points in script.series(1.0).items()
    }
    text = script.drawing(found)
    assert text == script.drawing(found)
    for name in found:
        assert name in text
    assert text.count("slope 1<") == len(found)
