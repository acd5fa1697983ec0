"""`compactlab baseline`: what it writes, what it says, and what it refuses."""

import json
from dataclasses import replace

import pytest
from inline_snapshot import snapshot

import compactlab
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import Run


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store of two strategies over two small conversations."""
    folder = tmp_path_factory.mktemp("store")
    sources = ("coding_agent(turns=2, tokens=2000)", "support_chat(turns=2, tokens=2000)")
    strategies = ("keep_all", "sliding_window(keep=4)")
    compactlab.run(sources, strategies, out=folder, tables=["facts"], loop="open")
    return folder


@pytest.fixture(name="cli")
def _cli(request):
    """The command line."""
    return request.getfixturevalue("compactlab")


@pytest.fixture
def failing(store, tmp_path):
    """A store in which a run failed."""
    results = Results.load(store)
    results.runs[1] = replace(results.runs[1], status="failed", error="ValueError: no", rows={})
    folder = tmp_path / "failing"
    results.save(folder)
    return folder


def test_it_writes_a_file_and_says_what_is_in_it(cli, store, tmp_path):
    file = tmp_path / "baseline.json"
    assert cli("baseline", store, "-o", file).told(tmp_path) == snapshot("""\
0
wrote baseline.json: 4 runs of 2 strategies, 2 conversations and 17 metrics\
""")
    told = json.loads(file.read_text("utf-8"))
    assert len(told["runs"]) == 4
    assert sorted(told["strategies"]) == ["keep_all", "sliding_window(keep=4)"]
    again = tmp_path / "again.json"
    cli("baseline", store, "--out", again)
    assert again.read_bytes() == file.read_bytes()


def test_to_standard_output_goes_the_baseline_alone_and_by_default_to_baseline_json(
    cli, store, tmp_path, monkeypatch
):
    done = cli("baseline", store, "-o", "-", "--metrics", "time", "--metrics", "cost_usd")
    assert done.code == 0
    assert json.loads(done.out)["metrics"] == ["cost_usd", "ttft_proxy_p50", "ttft_proxy_p95"]
    assert done.err.startswith("a baseline: 4 runs")
    monkeypatch.chdir(tmp_path)
    assert cli("baseline", store).code == 0
    assert (tmp_path / "baseline.json").is_file()


@pytest.mark.parametrize(
    "wrong",
    [
        (("--metrics", "cost_us"), "did you mean cost_usd"),
        (("-o", "nowhere/baseline.json"), "cannot write 'nowhere/baseline.json'"),
    ],
)
def test_what_is_wrong_is_told_and_nothing_is_written(wrong, cli, store, tmp_path, monkeypatch):
    options, told = wrong
    monkeypatch.chdir(tmp_path)
    done = cli("baseline", store, *options)
    assert done.code == 2
    assert told in done.err
    assert not list(tmp_path.iterdir())


def test_a_store_with_failed_runs_is_refused_unless_told(cli, failing, tmp_path):
    file = tmp_path / "baseline.json"
    done = cli("baseline", failing, "-o", file)
    assert done.told(tmp_path) == snapshot("""\
2
compactlab: no baseline was written: 1 run failed: coding_agent-0 (sliding_window(keep=4));
--allow-failed records them as failed\
""")
    assert not file.exists()
    done = cli("baseline", failing, "-o", file, "--allow-failed")
    assert done.told(tmp_path) == snapshot("""\
0
wrote baseline.json: 4 runs of 2 strategies, 2 conversations and 17 metrics; 1 of them recorded
as failed\
""")
    [failed] = [run for run in json.loads(file.read_text("utf-8"))["runs"] if "failed" in run]
    assert failed["failed"] == "ValueError: no"
    assert cli("gate", failing, "--baseline", file, "--no-github").code == 0


def test_a_source_that_cannot_be_read_is_none_of_the_runs(cli, store, tmp_path):
    results = Results.load(store)
    lost = Run("talk.jsonl", "", "", "", 0, 0, status="unreadable", error="no")
    told = results.runs[0]
    lost = replace(lost, source_key=told.source_key, condition=told.condition)
    runs = [*results.runs, lost]
    Results(runs, results.manifest, bounds=results.bounds).save(tmp_path / "lost")
    done = cli("baseline", tmp_path / "lost", "-o", tmp_path / "b.json", "--allow-failed")
    assert done.told(tmp_path) == snapshot("""\
0
wrote b.json: 4 runs of 2 strategies, 2 conversations and 17 metrics; 1 source not readable\
""")


def test_a_folder_that_is_no_store_is_refused(cli, tmp_path):
    done = cli("baseline", tmp_path, "-o", tmp_path / "b.json")
    assert done.told(tmp_path, out=False) == snapshot("""\
2
compactlab: .: no store of results: manifest.json is missing\
""")
