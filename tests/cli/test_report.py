"""`compactlab report`: a store is shown again, in every format."""

import csv
import io
import json
import shutil
from functools import partial
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from compactlab.reports.charts.catalogue import CHARTS
from compactlab.reports.page.page import FORMATS
from compactlab.sim.metrics import METRICS
from compactlab.sim.store.results import Results
from tests.cli.conftest import digest, endings


@pytest.mark.usefixtures("drawn")
@pytest.mark.parametrize("form", FORMATS)
def test_every_format_names_every_strategy(compactlab, store, form):
    done = compactlab("report", store, "--format", form)
    assert (done.code, done.err) == (0, "")
    assert "keep_all" in done.out
    assert "sliding_window" in done.out


def test_without_a_format_it_is_the_table(compactlab, store):
    assert compactlab("report", store) == compactlab("report", store, "--format", "table")
    offered = compactlab("report", "--help").out
    assert all(form in offered for form in FORMATS)


def test_the_json_holds_metrics_memory_and_runs(compactlab, store):
    data = json.loads(compactlab("report", store, "--format", "json").out)
    assert set(data) == {"metrics", "memory", "parameters", "passed_over", "runs", "bounds"}
    assert set(data["metrics"]) == set(METRICS)
    stored = Results.load(store).runs
    assert [run["strategy"] for run in data["runs"]] == [run.strategy for run in stored]
    for run, row in zip(data["runs"], stored, strict=True):
        assert run["status"] == "ok"
        assert run["metrics"]["cost_usd"] == row.metrics["cost_usd"]


def test_the_csv_has_a_row_a_run_and_no_empty_line(compactlab, store):
    text = compactlab("report", store, "--format", "csv").out
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["strategy"] for row in rows] == ["keep_all()", "sliding_window(keep=4)"] * 2
    assert not text.endswith("\n\n")


@pytest.mark.parametrize("hashes", [0, 1])
def test_the_page_is_the_file_that_the_run_wrote_byte_by_byte(process, store, tmp_path, hashes):
    """Of two formats with as many conversations each: no order of a set may decide."""
    again = process("report", store, "--format", "html", hashes=hashes)
    assert digest(again.out.encode()) == digest((store / "report.html").read_bytes())


@pytest.mark.slow
def test_so_it_is_with_all_that_is_built_in(process, tmp_path, chat):
    """More strategies than colours: whoever comes first in a run gets the first colour."""
    out, talk = tmp_path / "out", chat(tmp_path / "talk.jsonl")
    what = ("--conversations", "coding_agent(turns=2, tokens=2000)", "--conversations", talk)
    options = ("--model", "claude-sonnet-4-5", "--loop", "open", "--metrics", "money")
    assert process("run", *what, *options, "--out", out).code == 0
    again = process("report", out, "--format", "html", hashes=2)
    assert digest(again.out.encode()) == digest((out / "report.html").read_bytes())


def test_where_there_is_no_store_it_says_so(compactlab, tmp_path):
    told = {tmp_path: "manifest.json is missing", tmp_path / "nope": "there is no such folder"}
    for folder, why in told.items():
        done = compactlab("report", folder)
        assert (done.code, done.out) == (2, "")
        assert done.err == f"compactlab: {folder}: no store of results: {why}\n"


@pytest.mark.parametrize(
    ("name", "data"), [("runs", b""), ("runs", b"PAR1 not really"), ("calls", b""), ("calls", None)]
)
def test_a_damaged_store_ends_with_2(compactlab, store, tmp_path, name, data):
    """How each damage is told: tests/sim/replayed/test_results.py."""
    copy = shutil.copytree(store, tmp_path / "copy")
    file = next((copy / name).iterdir())
    file.unlink() if data is None else file.write_bytes(data)
    assert compactlab("report", copy).code == 2


def test_the_verdict_alone_is_short(compactlab, store, tmp_path):
    for form in ("table", "md"):
        done = compactlab("report", store, "--brief", "--format", form)
        assert done.code == 0
        assert len(done.out.splitlines()) <= 22
        assert "keep_all" in done.out
    baseline = tmp_path / "baseline.json"
    assert compactlab("baseline", store, "-o", baseline).code == 0
    done = compactlab("report", store, "--baseline", baseline, "--format", "md")
    assert done.out.splitlines()[0] == snapshot(
        "Against the baseline, no figure of 2 strategies changed."
    )


def test_charts_are_files(compactlab, store, tmp_path):
    done = compactlab("report", store, "--charts", tmp_path / "charts")
    assert done.code == 0
    written = sorted((tmp_path / "charts").iterdir())
    assert sorted(done.out.split()) == sorted(map(str, written))
    assert {path.suffix for path in written} == {".svg", ".png"}
    assert all(path.stat().st_size > 1_000 for path in written)


def test_one_chart_is_drawn_for_a_column_of_a_paper(compactlab, store, tmp_path):
    folder = tmp_path / "figures"
    options = ("--only", "cost-by-class", "--format", "pdf", "--width", "3.3in", "--no-title")
    done = compactlab("report", store, "--charts", folder, *options)
    assert (done.code, done.err, done.out) == (0, "", f"{folder / 'cost-by-class.pdf'}\n")
    assert b"/MediaBox [ 0 0 237.6 " in (folder / "cost-by-class.pdf").read_bytes()


def test_memory_is_another_word_for_recall(compactlab, store, tmp_path):
    options = ("--only", "memory-by-compactions", "--charts", tmp_path / "x")
    assert "recall-by-compactions" in compactlab("report", store, *options).err


def test_an_unknown_chart_is_refused_with_the_one_that_is_meant(compactlab, store, tmp_path):
    done = compactlab("report", store, "--charts", tmp_path / "x", "--only", "cost-by-clas")
    assert done.told(tmp_path) == snapshot("""\
2
compactlab: unknown chart 'cost-by-clas'; did you mean cost-by-class or context-by-call or
cache-misses-by-cause?\
""")
    assert not (tmp_path / "x").exists()


def test_the_names_of_charts_stand_in_the_help(compactlab):
    text = " ".join(compactlab("report", "--help").out.split())
    assert all(name in text.replace("- ", "-") for name in CHARTS)


NO_CHARTS = [
    ("--only", "ranks"),
    ("--no-title",),
    ("--width", "3in"),
    ("--format", "pdf"),
    ("--charts", "x", "--format", "csv"),
    ("--charts", "x", "--width", "3"),
    ("--charts", "x", "--width", "nanin"),
    ("--charts", "x", "--width", "1mm"),
    ("--charts", "x", "--conversation", "nobody"),
]


def test_what_charts_cannot_be_is_said(compactlab, store, golden):
    golden("faults/charts.txt", endings(partial(compactlab, "report", store), NO_CHARTS, store))
    assert not Path("x").exists()


@pytest.mark.parametrize(
    "options",
    [
        ("--brief", "--format", "html"),
        ("--brief", "--charts", "x"),
        ("--conversation", "a"),
        ("--conversation", "nobody", "--format", "html"),
        ("--format", "pdf"),
    ],
    ids=" ".join,
)
def test_options_that_do_not_go_together_are_refused(compactlab, store, options):
    done = compactlab("report", store, *options)
    assert done.code == 2
    assert done.err
