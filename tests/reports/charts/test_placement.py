"""Names of dots cover nothing, and are taken for those of their own dots."""

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.reports.analysis.calls import binned
from compactlab.reports.charts.drawing import canvas, figure
from compactlab.reports.charts.names import nearest_in, place, write_names

FRAME = (0.0, 0.0, 600.0, 400.0)
SIZE = (60.0, 12.0)
Point = tuple[float, float]
dots = st.lists(
    st.tuples(st.integers(20, 580), st.integers(20, 380)), min_size=1, max_size=14, unique=True
)


def far(corner: Point, dot: Point) -> float:
    """How far a dot is from a name whose lower left corner is given."""
    box = (*corner, corner[0] + SIZE[0], corner[1] + SIZE[1])
    return math.dist(nearest_in(box, dot), dot)


@settings(deadline=None)
@given(dots, dots)
def test_names_lie_apart_within_the_frame_and_off_all_marks(named, others):
    places = place(named, [SIZE] * len(named), FRAME, others)
    shown = [(x, y) for at in places if at is not None for x, y in [at]]
    for number, (x, y) in enumerate(shown):
        assert 0 <= x <= 600 - SIZE[0] + 1e-6
        assert 0 <= y <= 400 - SIZE[1] + 1e-6
        assert all(far((x, y), dot) > 0 for dot in [*named, *others])
        for left, low in shown[:number]:
            assert abs(x - left) >= SIZE[0] or abs(y - low) >= SIZE[1]


@settings(deadline=None)
@given(dots)
def test_a_name_or_the_line_to_it_is_nearest_to_its_dot(named):
    places = place(named, [SIZE] * len(named), FRAME)
    for dot, at in zip(named, places, strict=True):
        if at is not None and (own := far(at, dot)) <= 9:  # farther, it has a line
            assert all(far(other, dot) >= own for other in places if other is not None)
            assert all(far(at, other) >= own - 1e-6 for other in named)


def test_a_dozen_names_in_a_crowd_all_have_a_place():
    crowd = [(300.0 + 9 * n, 150.0 + 8 * n) for n in range(12)]
    places = place(crowd, [SIZE] * 12, FRAME)
    assert None not in places


def test_names_keep_off_what_is_drawn_besides():
    line = [(50.0 + 4 * n, 50.0) for n in range(1, 30)]
    (at,) = place([(50, 50)], [(30, 10)], (0, 0, 200, 100), (), line)
    assert at is not None
    assert not any(at[0] < x < at[0] + 30 and at[1] < y < at[1] + 10 for x, y in line)


def test_a_name_without_room_is_left_out():
    """The mark still tells it to who points there."""
    assert place([(5, 5)], [(90, 10)], (0, 0, 20, 20)) == [None]
    everywhere = [(float(x), float(y)) for x in range(0, 200, 3) for y in range(0, 100, 3)]
    assert place([(50, 50)], [(30, 10)], (0, 0, 200, 100), (), everywhere) == [None]


def test_what_found_no_room_goes_first_at_the_next_try():
    """The second has one place, which the first would take."""
    frame = (0.0, 0.0, 150.0, 100.0)
    places = place([(50, 50), (126, 50)], [(60.0, 10.0), (30.0, 10.0)], frame)
    assert None not in places


def lines_of(named: dict[str, Point], marks: list[Point]) -> tuple[list[str], int]:
    """The names that are written, and how many have a line to their dot."""
    with canvas():
        drawn = figure(8, 6)
        axes = drawn.add_axes((0.1, 0.1, 0.8, 0.8))
        axes.set(xlim=(0, 100), ylim=(0, 100))
        write_names(axes, named, marks, [])
    leads = [text for text in axes.texts if text.arrow_patch is not None]
    return [text.get_text() for text in axes.texts], len(leads)


def test_a_name_that_stands_alone_needs_no_line():
    assert lines_of({"mine": (20, 20), "other": (70, 80)}, []) == (["mine", "other"], 0)


def test_a_name_among_many_marks_has_a_line_to_its_own():
    crowd = [(50 + x * 1.2, 50 + y * 1.6) for x in range(-3, 4) for y in range(-3, 4)]
    assert lines_of({"mine": (50, 50)}, crowd) == (["mine"], 1)


def test_dots_on_each_other_share_a_place_for_their_names():
    assert lines_of({"mine": (20, 20), "same": (20, 20)}, []) == (["mine, same"], 0)


@given(st.lists(st.integers(0, 10**6), min_size=1), st.integers(1, 50))
def test_bins_are_few_and_keep_the_peak(values, bins):
    assert len(binned(values, bins)) <= bins
    assert max(binned(values, bins)) == max(values)
