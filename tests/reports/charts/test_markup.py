"""Markup is small, says the same, and looks the same."""

import re
from itertools import accumulate

from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.reports.charts.drawing import tidied

number = st.integers(-9_999, 99_999).map(lambda n: n / 100)
points = st.lists(st.tuples(number, number), min_size=1, max_size=8)


def places(path: str) -> list[tuple[float, float]]:
    """Where a path of one stroke goes, with what it says of each step."""
    steps = re.findall(r"([Mhvl])(-?[\d.]+)(?:[ ]?(-?[\d.]+))?", path)
    moves = [(float(a) if c != "v" else 0.0, float(a if c == "v" else b or 0)) for c, a, b in steps]
    return [*accumulate(moves, lambda at, move: (at[0] + move[0], at[1] + move[1]))]


@settings(max_examples=40)
@given(points)
def test_a_path_in_steps_goes_where_it_went(given_points):
    lines = " L ".join(f"{x} {y}" for x, y in given_points)
    path = re.search(' d="([^"]*)"', tidied(f'<path d="M {lines}"/>'))
    assert path is not None
    x, y = places(path[1])[-1]
    assert abs(x - given_points[-1][0]) <= 0.0501
    assert abs(y - given_points[-1][1]) <= 0.0501


def test_groups_that_say_nothing_are_left_out():
    assert tidied('<g id="axes"><g clip-path="url(#a)"> <g> <g/></g></g></g>') == (
        '<g clip-path="url(#a)"></g>'
    )


def test_texts_are_left_alone():
    markup = '<text style="fill: #1d2126">M 0 0 L 1.23456 1 &lt;g&gt; fill: #0971b2</text>'
    assert tidied(markup) == markup.replace(": #1d2126", ": var(--ink)")
