"""A chart as a file: whole, the same each time, in fonts and colours that are there."""

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from matplotlib.text import Text

from compactlab.reports.analysis.comparison import Comparison
from compactlab.reports.charts.catalogue import CHARTS, FORMS, short_names, stem
from compactlab.reports.charts.chart import Chart, Look, Slide, wrapped
from compactlab.reports.charts.drawing import width_of
from compactlab.reports.charts.gallery import save_charts
from compactlab.reports.charts.pareto import pareto
from compactlab.reports.charts.plot import Plots
from compactlab.reports.charts.setbacks import loops
from compactlab.reports.charts.stacked import classes
from compactlab.sim.core.errors import UsageError
from tests.lines import refusal

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


def test_it_is_saved_for_pages_and_for_slides(chart, tmp_path):
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
def test_the_same_figure_gives_the_same_bytes(chart, compared, tmp_path):
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
def test_a_name_must_be_that_of_a_file_anywhere(name, chart):
    with pytest.raises(ValueError, match="not a name for a chart"):
        Chart(name, "", "", chart.figure)


def test_a_kind_without_a_name_is_refused_as_no_page_would_show_it(chart):
    assert refusal(ValueError, lambda: Chart("a", "", "", chart.figure, "peaks")) == snapshot(
        "'peaks' is not among CHARTS of charts/catalogue.py: name it"
    )


def test_a_chart_that_cannot_be_written_leaves_nothing(chart, tmp_path, monkeypatch):
    def fails(slide: Slide, dots: float) -> bytes:
        raise MemoryError

    monkeypatch.setattr(Slide, "pixels", fails)
    with pytest.raises(MemoryError):
        chart.save(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("small_pixels")
def test_all_charts_of_a_store_are_saved(make, store, tmp_path):
    written: list[Path] = []
    results = store(make("keep_all()"), make("keep_all()", conversation="two"))
    files = save_charts(results, tmp_path / "new" / "charts", written.append)
    assert written == files
    names = [file.name for file in files]
    assert names[:2] == ["cost-and-recall.svg", "cost-and-recall.png"]
    assert "context-by-call-two.svg" in names
    assert sorted(files) == sorted((tmp_path / "new" / "charts").iterdir())


def test_files_of_several_comparisons_say_of_which_they_are(make, store, tmp_path, monkeypatch):
    def named(chart: Chart, folder: Path, _: object) -> list[Path]:
        return [folder / f"{chart.name}.{form}" for form in ("svg", "png")]

    monkeypatch.setattr(Chart, "save", named)
    models = ("claude-sonnet-4-5", "claude-opus-4-5")
    results = store(*(make("keep_all()", model=model) for model in models))
    names = {file.name for file in save_charts(results, tmp_path)}
    for model in models:
        assert f"model-{model}-cost-and-recall.png" in names
        assert f"model-{model}-context-by-call-one.svg" in names


@given(st.text(), st.text(), st.integers(1, 4))
def test_any_conversation_gives_names_of_files_and_none_twice(a, b, times):
    taken: set[str] = set()
    for subject in [a, b] * times:
        name = stem("session", b, subject, taken)
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
        assert len(name) < 160
        assert name not in taken
        taken.add(name)


def test_a_file_tells_its_title_its_subject_and_what_was_compared(chart, tmp_path):
    shown = replace(chart, subject="<talk> & 7", scope="Two strategies over a conversation.")
    svg, _ = shown.save(tmp_path)
    root = ElementTree.fromstring(svg.read_text("utf-8"))
    heights = [float(part.attrib["height"]) for part in root if part.tag.endswith("svg")]
    parts = ["".join(part.itertext()) for part in root if part.tag.endswith("svg")]
    assert parts[0] == f"{chart.title}<talk> & 7"
    assert parts[2] == snapshot("Up and to the left is better.Two strategies over a conversation.")
    assert float(root.attrib["viewBox"].split()[3]) == pytest.approx(sum(heights), abs=0.2)
    assert chart.title not in "".join(ElementTree.fromstring(chart.markup()).itertext())


@pytest.mark.usefixtures("small_pixels")
def test_a_name_that_looks_like_a_colour_stays_a_name(chart, tmp_path):
    svg, _ = replace(chart, subject="var(--ink) and var(--nothing)").save(tmp_path)
    root = ElementTree.fromstring(svg.read_text("utf-8"))
    assert "var(--ink) and var(--nothing)" in "".join(root.itertext())
    assert "var(--ink) and var(--nothing)" in root.attrib["aria-label"]
    assert "var(--" not in "".join(each.attrib.get("style", "") for each in root.iter())


@given(st.text(max_size=300))
def test_a_caption_is_no_wider_than_its_drawing(text):
    lines = wrapped(text, 7.5, 200)
    assert all(width_of(line, 7.5) <= 200 or len(line) <= 12 for line in lines)
    if all(width_of(word, 7.5) <= 200 for word in text.split()):
        assert " ".join(lines) == " ".join(text.split())


def test_a_folder_that_is_a_file_is_refused(small, tmp_path):
    (tmp_path / "charts").write_text("mine")
    with pytest.raises(UsageError, match="charts"):
        save_charts(small, tmp_path / "charts")


def test_foreign_text_is_escaped(compared):
    comparison = compared(**{"<script>&\"'": {"cost_with_recovery_usd": 1.0}})
    drawn = loops(comparison, "a")
    assert drawn is not None
    assert "<script" not in drawn.markup()
    assert "&lt;script&gt;" in drawn.markup()


# At the size of a column, and as PDF.


@pytest.mark.usefixtures("small_pixels")
@pytest.mark.parametrize("form", FORMS)
def test_a_file_has_the_width_that_is_asked_for(form, chart, tmp_path):
    (file,) = chart.save(tmp_path, Look((form,), 3.3))
    content = file.read_bytes()
    if form == "svg":
        assert ElementTree.fromstring(content).attrib["width"] == "3.3in"
    elif form == "png":
        assert int.from_bytes(content[16:20], "big") in (989, 990)  # 300 dots per inch
    else:
        (box,) = re.findall(rb"/MediaBox \[ 0 0 ([\d.]+) ", content)
        assert float(box) == pytest.approx(3.3 * 72)


def test_a_column_has_letters_that_can_be_read(compared):
    """At least 6.9 points, which is what journals ask for."""
    look = Look(width=3.3)
    comparison = compared(keep_all={}, other={"amnesia_need": 0.2})
    colours = {"keep_all()": "slate", "other()": "blue"}
    for chart in (
        pareto(comparison, colours, "a", width=look.layout),
        classes(comparison, "a", look.layout),
    ):
        assert chart is not None
        scale = 3.3 / chart.figure.get_figwidth()
        sizes = [text.get_fontsize() for text in chart.figure.findobj(Text) if text.get_text()]
        assert scale * min(sizes) >= 6.2
        assert scale * sorted(sizes)[len(sizes) // 2] >= 6.9


def test_without_a_title_there_is_the_drawing_alone(chart, tmp_path):
    (file,) = replace(chart, scope="Two strategies.").save(tmp_path, Look(("svg",), titled=False))
    text = "".join(ElementTree.fromstring(file.read_text("utf-8")).itertext())
    assert "keep_all" in text
    assert chart.title not in text
    assert "Two strategies." not in text


def test_a_pdf_has_its_fonts_and_no_date(chart, tmp_path):
    (file,) = chart.save(tmp_path, Look(("pdf",)))
    content = file.read_bytes()
    assert content.startswith(b"%PDF-1.4")
    assert b"/FontFile2" in content
    assert b"/Type3" not in content
    assert not re.search(rb"Date|Producer|Creator", content)


_DRAWN = """
from compactlab.reports.charts.chart import Chart, Slide
from compactlab.reports.charts.kit import Sheet
sheet = Sheet(40, width=200)
sheet.text((4, 10), "Kosten f\u00fcr \u6f22\u5b57, \u2264 3")
content = Slide(Chart("a", "Title", "Caption.", sheet.figure)).document()
"""


def test_a_pdf_is_the_same_whatever_the_order_of_sets():
    """The prefix of an embedded font is a hash."""
    code = f"{_DRAWN}import sys\nsys.stdout.buffer.write(content)"
    surroundings = {**os.environ, "PYTHONHASHSEED": "1"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, check=True, env=surroundings)
    here: dict[str, Any] = {}
    exec(_DRAWN, here)
    assert hashlib.sha256(done.stdout).digest() == hashlib.sha256(here["content"]).digest()


@pytest.mark.usefixtures("small_pixels")
def test_only_what_is_asked_for_is_computed(small, tmp_path, monkeypatch):
    for name, entry in CHARTS.items():
        if name != "cost-by-class":
            place = entry.place.replace(":", ".")
            monkeypatch.setattr(f"compactlab.reports.charts.{place}", None)
    files = save_charts(small, tmp_path / "new", only=["cost-by-class"], look=Look(("svg",)))
    assert [file.name for file in files] == ["cost-by-class.svg"]


def test_an_unknown_chart_and_one_without_figures_are_refused(small, tmp_path):
    for name, message in {
        "cost-and-recal": "unknown chart 'cost-and-recal'; did you mean cost-and-recall",
        "ranks": "nothing to draw in these results: ranks",
    }.items():
        with pytest.raises(UsageError, match=re.escape(message)):
            save_charts(small, tmp_path / "new", only=["cost-by-class", name])
        assert not (tmp_path / "new").exists()


def test_where_recall_has_no_value_the_distance_that_has_one_is_named(make, store, tmp_path):
    near = make("keep_all()")
    near.metrics |= {f"recall_{far}k": None for far in (10, 20, 40, 80, 160)}
    results = store(near)

    def files() -> None:
        save_charts(results, tmp_path, only=["cost-and-recall"])

    assert refusal(UsageError, files) == snapshot("""\
nothing to draw in these results: cost-and-recall; recall has no value at a distance of
20,000 tokens; --distance 5000 has one\
""")
    assert refusal(UsageError, Plots(results).cost_and_recall) == snapshot("""\
nothing to draw in these results: recall has no value at a distance of 20,000 tokens;
--distance 5000 has one\
""")


def test_the_conversation_is_the_one_that_is_asked_for(make, store, tmp_path):
    results = store(*(make("keep_all()", [(0, 100 + n)], f"c{n}") for n in range(3)))
    files = save_charts(
        results, tmp_path, only=["cumulative-cost"], look=Look(("svg",)), conversation="c1"
    )
    assert [file.name for file in files] == ["cumulative-cost-c1.svg"]


# Short names of conversations.

ids = st.text() | st.sampled_from(["a b", "a/b", "A-b", "x" * 60, "x" * 61, "漢字", "かな"])


@given(st.lists(st.tuples(ids, ids), unique=True))
def test_conversations_have_short_names_that_are_files_and_none_twice(talks):
    names = short_names(talks)
    assert len({*names.values()}) == len(talks)
    for name in names.values():
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
        assert len(name) <= 40
    assert short_names(reversed(talks)) == names


def test_a_name_says_the_id_and_not_the_prompt():
    assert short_names([("coding_agent", "coding_agent-3"), ("pi", "77-8aa463e2ba-0")]) == {
        ("coding_agent", "coding_agent-3"): "coding-agent-3",
        ("pi", "77-8aa463e2ba-0"): "77-8aa463e2ba-0",
    }
