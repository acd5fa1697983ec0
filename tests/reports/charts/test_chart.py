"""A chart as a file: whole, the same each time, in fonts and colours that are there."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.reports.analysis.comparison import Comparison
from compactlab.reports.charts.chart import Chart, Slide, stem, wrapped
from compactlab.reports.charts.drawing import width_of
from compactlab.reports.charts.gallery import save_charts
from compactlab.reports.charts.pareto import pareto
from compactlab.reports.charts.setbacks import loops
from compactlab.sim.core.errors import UsageError
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import Run

Compare = Callable[..., Comparison]


@pytest.fixture
def chart(compared: Compare) -> Chart:
    comparison = compared(keep_all={}, other={"amnesia_need": 0.2})
    drawn = pareto(comparison, {"keep_all()": "slate", "other()": "blue"}, "part-1-pareto")
    assert drawn is not None
    return drawn


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
    def fails(slide: Slide, dots: int) -> bytes:
        raise MemoryError

    monkeypatch.setattr(Slide, "pixels", fails)
    with pytest.raises(MemoryError):
        chart.save(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("small_pixels")
def test_all_charts_of_a_store_are_saved(
    make: Callable[..., Run], store: Callable[..., Results], tmp_path: Path
) -> None:
    written: list[Path] = []
    results = store(make("keep_all()"), make("keep_all()", conversation="two"))
    files = save_charts(results, tmp_path / "new" / "charts", written.append)
    assert written == files
    names = [file.name for file in files]
    assert names[:2] == ["cost-and-memory.svg", "cost-and-memory.png"]
    assert "context-two-claude-code.svg" in names
    assert sorted(files) == sorted((tmp_path / "new" / "charts").iterdir())


def test_files_of_several_comparisons_say_of_which_they_are(
    make: Callable[..., Run],
    store: Callable[..., Results],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def named(chart: Chart, folder: Path) -> list[Path]:
        return [folder / f"{chart.name}.{form}" for form in ("svg", "png")]

    monkeypatch.setattr(Chart, "save", named)
    models = ("claude-sonnet-4-5", "claude-opus-4-5")
    results = store(*(make("keep_all()", model=model) for model in models))
    names = {file.name for file in save_charts(results, tmp_path)}
    for model in models:
        assert f"model-{model}-cost-and-memory.png" in names
        assert f"model-{model}-context-one-claude-code.svg" in names


@given(st.text(), st.text(), st.integers(1, 4))
def test_any_conversation_gives_names_of_files_and_none_twice(a: str, b: str, times: int) -> None:
    taken: set[str] = set()
    for subject in [a, b] * times:
        name = stem("session", b, subject, taken)
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
        assert len(name) < 160
        assert name not in taken
        taken.add(name)


def test_a_file_tells_its_title_its_subject_and_what_was_compared(
    chart: Chart, tmp_path: Path
) -> None:
    shown = replace(chart, subject="<talk> & 7", scope="Two strategies over a conversation.")
    svg, _ = shown.save(tmp_path)
    root = ElementTree.fromstring(svg.read_text("utf-8"))
    heights = [float(part.attrib["height"]) for part in root if part.tag.endswith("svg")]
    parts = ["".join(part.itertext()) for part in root if part.tag.endswith("svg")]
    assert parts[0] == f"{chart.title}<talk> & 7"
    assert parts[2].startswith("Each mark is a strategy, over all conversations of this comparison")
    assert parts[2].endswith("better.Two strategies over a conversation.")
    assert float(root.attrib["viewBox"].split()[3]) == pytest.approx(sum(heights), abs=0.2)
    assert chart.title not in "".join(ElementTree.fromstring(chart.markup()).itertext())


@pytest.mark.usefixtures("small_pixels")
def test_a_name_that_looks_like_a_colour_stays_a_name(chart: Chart, tmp_path: Path) -> None:
    svg, _ = replace(chart, subject="var(--ink) and var(--nothing)").save(tmp_path)
    root = ElementTree.fromstring(svg.read_text("utf-8"))
    assert "var(--ink) and var(--nothing)" in "".join(root.itertext())
    assert "var(--ink) and var(--nothing)" in root.attrib["aria-label"]
    assert "var(--" not in "".join(each.attrib.get("style", "") for each in root.iter())


@given(st.text(max_size=300))
def test_a_caption_is_no_wider_than_its_drawing(text: str) -> None:
    lines = wrapped(text, 7.5, 200)
    assert all(width_of(line, 7.5) <= 200 or len(line) <= 12 for line in lines)
    if all(width_of(word, 7.5) <= 200 for word in text.split()):
        assert " ".join(lines) == " ".join(text.split())


def test_a_folder_that_is_a_file_is_refused(small: Results, tmp_path: Path) -> None:
    (tmp_path / "charts").write_text("mine")
    with pytest.raises(UsageError, match="charts"):
        save_charts(small, tmp_path / "charts")


def test_foreign_text_is_escaped(compared: Compare) -> None:
    comparison = compared(**{"<script>&\"'": {"cost_with_recovery_usd": 1.0}})
    drawn = loops(comparison, "a")
    assert drawn is not None
    assert "<script" not in drawn.markup()
    assert "&lt;script&gt;" in drawn.markup()
