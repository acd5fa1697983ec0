"""Stripes and dots are lines: a browser makes no images of them when it prints."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.reports.analysis.comparison import comparisons
from compactlab.reports.charts.drawing import rows_of_dots, stripes
from compactlab.reports.charts.stacked import breakdown, classes

sides = st.floats(-50, 600)


@given(sides, sides, sides, sides)
def test_no_line_leaves_its_box(a, b, c, d):
    (left, right), (low, high) = sorted((a, b)), sorted((c, d))
    for line in (*stripes((left, low, right, high)), *rows_of_dots((left, low, right, high))):
        for x, y in line:
            assert left - 1e-6 <= x <= right + 1e-6
            assert low - 1e-6 <= y <= high + 1e-6


def test_stripes_of_neighbours_go_on_across_the_edge():
    both = [*stripes((0, 0, 7, 4)), *stripes((7, 0, 20, 4))]
    assert {round(x - y, 6) % 5 for line in both for x, y in line} == {0}


@pytest.mark.parametrize("draw", [breakdown, classes])
def test_charts_have_no_patterns_of_svg(small, draw):
    chart = draw(comparisons(small)[0], "a")
    markup = chart.markup()  # type: ignore[attr-defined]
    assert "<pattern" not in markup
    assert "url(#h" not in markup
