"""What people see, held fast. To look at a change: COMPACTLAB_UPDATE_GOLDEN=1 pytest tests/reports,
and read the diff of tests/golden.
"""

import csv
import json
from io import StringIO

import pytest
from inline_snapshot import snapshot

from compactlab.reports.page.page import FORMATS, render
from compactlab.sim.core.errors import UsageError
from compactlab.sim.metrics import METRICS
from compactlab.sim.store.results import Results
from tests.lines import refusal


@pytest.mark.parametrize(("form", "ending"), [("table", "txt"), ("md", "md")])
def test_a_report_is_what_it_was(form, ending, small, golden):
    golden(f"small.{ending}", render(small, form))


def test_a_narrow_table_says_what_it_leaves_out(small, golden, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    golden("narrow.txt", render(small, "table"))


def test_json_has_every_metric_and_the_shape_that_it_had(small, golden):
    """One run and one metric, so that a new metric moves nothing here."""
    data = json.loads(render(small, "json"))
    assert [*data["metrics"]] == [*METRICS]
    data["metrics"] = {"cost_usd": data["metrics"]["cost_usd"]}
    data["runs"] = [next(run for run in data["runs"] if run["metrics"]["compactions"])]
    figures = data["runs"][0]["metrics"]
    data["runs"][0]["metrics"] = {n: figures[n] for n in figures if figures[n] is not None}
    golden("small.json", f"{json.dumps(data, indent=2)}\n")


def test_csv_has_the_rows_of_json(small):
    runs = json.loads(render(small, "json"))["runs"]
    flat = [{**run.pop("metrics"), **run} for run in runs]
    rows = [*csv.DictReader(StringIO(render(small, "csv")))]
    assert rows == [{n: "" if v is None else str(v) for n, v in run.items()} for run in flat]


@pytest.mark.parametrize("form", sorted({*FORMATS} - {"html"}))  # test_page.py has the page
def test_every_format_gives_the_same_bytes_twice_and_after_loading(form, small, tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    small.save(folder)
    said = render(small, form)
    assert said == render(small, form)
    assert form in ("table", "md") or said == render(Results.load(folder), form)


def test_another_format_is_refused_with_the_known_ones(small):
    assert refusal(UsageError, lambda: render(small, "htm")) == snapshot(
        "unknown format 'htm'; did you mean html?"
    )
