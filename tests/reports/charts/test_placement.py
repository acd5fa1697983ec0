"""Names of dots do not cover each other, as long as there is room."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.reports.analysis.aggregate import binned
from compactlab.reports.charts.names import place

FRAME = (0.0, 0.0, 600.0, 400.0)
dots = st.lists(
    st.tuples(st.integers(20, 580), st.integers(20, 380)), min_size=1, max_size=10, unique=True
)


@given(dots)
def test_names_lie_apart_and_within_the_frame(points: list[tuple[int, int]]) -> None:
    size = (60.0, 10.0)
    places = place(points, [size] * len(points), FRAME)
    boxes = [(x, y, x + size[0], y + size[1]) for x, y in places]
    for n, (left, low, right, high) in enumerate(boxes):
        assert left >= 0
        assert low >= 0
        assert right <= 600
        assert high <= 400
        for other in boxes[:n]:
            apart = left >= other[2] or other[0] >= right or low >= other[3] or other[1] >= high
            assert apart or len(points) > 6


@settings(max_examples=5)
@given(st.lists(st.tuples(st.integers(-20, 20), st.integers(-8, 8)), min_size=12, max_size=16))
def test_names_of_a_crowd_lie_apart_too(offsets: list[tuple[int, int]]) -> None:
    """A line may cross another name there, but no name covers one."""
    points = [(300.0 + x, 200.0 + y) for x, y in offsets]
    places = place(points, [(90.0, 11.0)] * len(points), FRAME)
    for n, (x, y) in enumerate(places):
        for left, low in places[:n]:
            assert abs(x - left) >= 90 or abs(y - low) >= 11


def test_names_keep_off_what_is_drawn_besides_if_they_can() -> None:
    line = [(50.0 + 4 * n, 50.0) for n in range(1, 30)]
    ((x, y),) = place([(50, 50)], [(30, 10)], (0, 0, 200, 100), line)
    assert not any(x < at < x + 30 and y < height < y + 10 for at, height in line)
    everywhere = [(float(x), float(y)) for x in range(0, 200, 3) for y in range(0, 100, 3)]
    assert place([(50, 50)], [(30, 10)], (0, 0, 200, 100), everywhere) == [(57.0, 45.0)]


@pytest.mark.parametrize("later", [126.0, 127.5])
def test_a_name_keeps_a_gap_from_the_end_of_another(later: float) -> None:
    """Names that only just do not touch would read as one."""
    frame, sizes = (0.0, 0.0, 150.0, 100.0), [(30.0, 10.0)] * 2
    left, right = (50.0, 50.0), (later, 50.0)  # the second has no room at its right
    assert place([left, right], sizes, frame)[0] == (57, 45)
    assert place([right, left], sizes, frame)[0] == (later - 37, 45)
    for dots in ([left, right], [right, left]):
        one, other = place(dots, sizes, frame)
        assert abs(one[1] - other[1]) >= 10 or abs(one[0] - other[0]) >= 30 + 4


def test_names_that_are_a_gap_apart_stay_beside_their_dots() -> None:
    places = place([(50, 50), (135, 50)], [(30, 10)] * 2, (0, 0, 150, 100))
    assert places == [(57, 45), (98, 45)]


def test_a_name_without_room_still_has_a_place() -> None:
    assert place([(5, 5)], [(90, 10)], (0, 0, 20, 20)) == [(12, 5)]


@given(st.lists(st.integers(0, 10**6), min_size=1), st.integers(1, 50))
def test_bins_are_few_and_keep_the_peak(values: list[int], bins: int) -> None:
    assert len(binned(values, bins)) <= bins
    assert max(binned(values, bins)) == max(values)
