"""A chart as a file: whole, the same each time, in fonts and colours that are there."""

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from compactlab.reports.charts.chart import Chart
from compactlab.reports.charts.gallery import save_charts
from compactlab.reports.charts.loops import loops
from compactlab.reports.charts.pareto import pareto
from compactlab.reports.comparison import Comparison
from compactlab.sim.errors import UsageError
from compactlab.sim.results import Results
from compactlab.sim.run import Run

Compare = Callable[..., Comparison]


@pytest.fixture
def chart(compared: Compare) -> Chart:
    comparison = compared(keep_all={}, other={"amnesia_need": 0.2})
    found = pareto(comparison, {"keep_all()": "slate", "other()": "blue"}, "part-1-pareto")
    assert found is not None
    return found


@pytest.fixture
def small_pixels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures for which nobody has to wait."""
    monkeypatch.setattr("compactlab.reports.charts.chart.DOTS_PER_INCH", 20)


def test_it_is_saved_for_pages_and_for_slides(chart: Chart, tmp_path: Path) -> None:
    svg, png = chart.save(tmp_path)
    assert sorted(tmp_path.iterdir()) == [png, svg]
    root = ElementTree.fromstring(svg.read_text("utf-8"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "sans-serif" in root.attrib["font-family"]
    text = svg.read_text("utf-8")
    assert "var(--" not in text
    assert "://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert png.read_bytes().startswith(b"\x89PNG")
    width = int.from_bytes(png.read_bytes()[16:20], "big")
    assert width == int(chart.figure.get_figwidth() * 200)


@pytest.mark.usefixtures("small_pixels")
def test_the_same_figure_gives_the_same_bytes(
    chart: Chart, compared: Compare, tmp_path: Path
) -> None:
    again = pareto(
        compared(keep_all={}, other={"amnesia_need": 0.2}),
        {"keep_all()": "slate", "other()": "blue"},
        "part-1-pareto",
    )
    assert again is not None
    assert chart.markup() == again.markup() == chart.markup()
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    for one, other in zip(chart.save(tmp_path / "a"), again.save(tmp_path / "b"), strict=True):
        assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize("name", ["", "../x", "A", "a b", "a.svg", "-a", "nul\x00"])
def test_a_name_must_be_that_of_a_file_anywhere(name: str, chart: Chart) -> None:
    with pytest.raises(ValueError, match="no name for a chart"):
        Chart(name, "", "", chart.figure)


def test_a_chart_that_cannot_be_written_leaves_nothing(
    chart: Chart, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(chart: Chart) -> bytes:
        raise MemoryError

    monkeypatch.setattr(Chart, "_pixels", fails)
    with pytest.raises(MemoryError):
        chart.save(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("small_pixels")
def test_all_charts_of_a_store_are_saved(
    make: Callable[..., Run], store: Callable[..., Results], tmp_path: Path
) -> None:
    told: list[Path] = []
    results = store(make("keep_all()"), make("keep_all()", conversation="two"))
    files = save_charts(results, tmp_path / "new" / "charts", told.append)
    assert told == files
    names = [file.name for file in files]
    assert names[:2] == ["comparison-1-pareto.svg", "comparison-1-pareto.png"]
    assert "comparison-1-session-2.svg" in names
    assert sorted(files) == sorted((tmp_path / "new" / "charts").iterdir())


def test_a_folder_that_is_a_file_is_refused(small: Results, tmp_path: Path) -> None:
    (tmp_path / "charts").write_text("mine")
    with pytest.raises(UsageError, match="charts"):
        save_charts(small, tmp_path / "charts")


def test_foreign_text_is_escaped(compared: Compare) -> None:
    comparison = compared(**{"<script>&\"'": {"cost_with_rework_usd": 1.0}})
    drawn = loops(comparison, "a")
    assert drawn is not None
    assert "<script" not in drawn.markup()
    assert "&lt;script&gt;" in drawn.markup()
