"""A name is taken for that of its own dot, also where dots crowd."""

from compactlab.reports.charts.drawing import canvas, figure
from compactlab.reports.charts.names import place, strayed, write_names
from compactlab.reports.charts.palette import light


def leads(named: dict[str, tuple[float, float]], loud: dict[str, str]) -> list[str]:
    """The colours of the lines from dots to names."""
    with canvas():
        drawn = figure(8, 6)
        axes = drawn.add_axes((0.1, 0.1, 0.8, 0.8))
        axes.set(xlim=(0, 100), ylim=(0, 100))
        write_names(axes, named, loud, [], crossed=False)
    return [str(line.get_color()) for line in axes.lines]


def test_a_name_that_stands_alone_needs_no_line() -> None:
    assert leads({"mine": (20, 20), "other": (70, 80)}, {"mine": "blue"}) == []


def test_a_loud_name_among_many_dots_has_a_line_in_the_colour_of_its_own() -> None:
    crowd = {f"quiet_{n}": (50 + n % 3 * 2.0, 50 + n // 3 * 2.0) for n in range(9)}
    colours = leads({**crowd, "mine": (52, 52.5)}, {"mine": "vermillion"})
    assert light("vermillion") in colours
    assert set(colours) <= {light("vermillion"), light("grey")}


def test_a_name_goes_where_no_other_dot_is_nearer() -> None:
    dots = [(100.0, 100.0), (135.0, 100.0)]  # right of the first, its name would touch the second
    places = place(dots, [(22.0, 10.0), (22.0, 10.0)], (0, 0, 300, 200))
    for dot, (x, y) in zip(dots, places, strict=True):
        assert not strayed((x, y, x + 22, y + 10), dot, dots)
