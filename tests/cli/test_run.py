"""`compactlab run`: what is replayed and written, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compactlab.cli.dry_run import Budget
from compactlab.sim.store.results import Results

TINY = "coding_agent(turns=2, tokens=2000)"
FOLDERS = {"runs", "calls", "compactions", "facts", "lags", "messages", "views"}
FILES = {".counts", ".lock", "digests", "manifest.json", "report.html"}


@pytest.fixture
def run(compactlab, tmp_path):
    """Run into a folder of the test, by default a tiny scenario under keep_all."""

    def call(*arguments, what=TINY, strategies=("keep_all",), out=tmp_path / "out", jobs=1):
        options = [option for spec in strategies for option in ("--strategies", spec)]
        options += ["--conversations", what] if what else []
        return compactlab("run", *arguments, *options, "--out", out, "--jobs", jobs)

    return call


@pytest.mark.usefixtures("drawn")
def test_it_writes_a_store_and_a_report_and_shows_a_table(run, tmp_path, contents):
    done = run(strategies=("keep_all", "keep_none"))
    assert done.code == 0
    assert {Path(name).parts[0] for name in contents(tmp_path / "out")} <= FOLDERS | FILES
    assert "keep_none" in done.out
    assert str(tmp_path / "out" / "report.html") in done.out
    assert "<figure" in (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "[2/2 cells]" in done.err


def test_the_store_says_where_its_figures_come_from(run, tmp_path):
    run("--window", 9000, "--seeds", 2, strategies=("sliding_window(keep=3)",))
    results = Results.load(tmp_path / "out")
    assert [(r.seed, r.window, r.strategy, r.status) for r in results.runs] == [
        (seed, 9000, "sliding_window(keep=3)", "ok") for seed in (0, 1)
    ]
    assert {run.scenario for run in results.runs} == {"coding_agent"}
    assert all(run.calls for run in results.runs)
    assert results.manifest["window"] == 9000
    assert results.manifest["strategies"] == {"sliding_window(keep=3)": "sliding_window(keep=3)"}


def test_a_transcript_is_replayed_under_the_model_that_is_named(run, chat, tmp_path):
    done = run("--model", "claude-opus-4-5", what=chat(tmp_path / "talk.jsonl"))
    (row,) = Results.load(tmp_path / "out").runs
    assert (done.code, row.conversation, row.model) == (0, "talk", "claude-opus-4-5")
    assert row.calls["model"] == ["claude-opus-4-5"] * 4


def test_several_strategies_and_models_are_all_run(run, tmp_path):
    models = ("--model", "claude-sonnet-4-5", "--model", "claude-sonnet-4-5@none")
    assert run(*models, strategies=("keep_all", "keep_none")).code == 0
    ran = [(run.model, run.strategy) for run in Results.load(tmp_path / "out").runs]
    assert ran == [
        (model, f"{name}()") for model in models[1::2] for name in ("keep_all", "keep_none")
    ]


def test_a_strategy_of_ones_own_is_run_from_its_file(run, tmp_path):
    own = tmp_path / "own.py"
    own.write_text(
        "from dataclasses import dataclass\n"
        "from compactlab.sim.replay.strategy import Strategy\n"
        "@dataclass(frozen=True)\n"
        "class Raises(Strategy):\n"
        "    def compact(self, view, host):\n"
        "        raise KeyError('my own fault')\n"
    )
    done = run(strategies=("keep_all", f"{own}:Raises"))
    assert done.code == 1
    assert "my own fault" in done.said
    statuses = [run.status for run in Results.load(tmp_path / "out").runs]
    assert statuses == ["ok", "failed"]
    assert str(tmp_path) not in Results.load(tmp_path / "out").runs[1].error


def test_an_empty_context_never_looks_good(run, compactlab, tmp_path):
    """It costs least, and no provider would answer one of its prompts."""
    own = tmp_path / "own.py"
    own.write_text(
        "from dataclasses import dataclass\n"
        "from compactlab import Strategy\n"
        "@dataclass(frozen=True)\n"
        "class Nothing(Strategy):\n"
        "    def compact(self, view, host):\n"
        "        return view.with_messages([])\n"
    )
    for beside in ((), ("keep_all",)):
        done = run(strategies=(*beside, f"{own}:Nothing"))
        assert done.code == 0
        assert "nothing □" in compactlab("report", tmp_path / "out").out
        assert "choose nothing" not in done.out.lower()
        assert "Never acted" not in done.out
        assert Results.load(tmp_path / "out").runs[-1].metrics["structural_validity"] == 0


# ------------------------------------------------------------------------------------- the dry run


def test_a_dry_run_says_what_would_run_and_writes_nothing(run, chat, tmp_path):
    chat(tmp_path / "talks" / "one.jsonl")
    chat(tmp_path / "talks" / "two.jsonl")
    done = run("--dry-run", what=tmp_path / "talks", strategies=("keep_all", "keep_none"))
    assert done.code == 0
    assert not (tmp_path / "out").exists()
    lines = done.out.splitlines()
    assert "2 conversations" in lines
    assert {"  one", "  two", "  keep_all", "  keep_none"} <= set(lines)
    assert "6 runs, if every source holds one conversation" in lines


def test_a_dry_run_names_what_fails_in_it_with_its_error(run, chat, bad, tmp_path, monkeypatch):
    monkeypatch.setattr("compactlab.cli.dry_run.BUDGET", Budget(seconds=1e9))
    for talk in ("one", "two"):
        chat(tmp_path / "talks" / f"{talk}.jsonl")
    bad(tmp_path / "talks" / "three.jsonl")
    both = ("keep_all", "sliding_window")
    done = run("--dry-run", "--strict", what=tmp_path / "talks", strategies=both)
    assert done.code == 0
    told = done.out[done.out.index("tried: ") :].splitlines()
    # A file that cannot be read is one failure; a model that is not known fails each run.
    assert told[:2] == ["tried: 5 runs", "5 runs failed:"]
    assert len([line for line in told if "three.jsonl:3: not JSON" in line]) == 1
    (unknown,) = (line for line in told if "name one: --model" in line)
    assert unknown.startswith("  4 runs (")
    assert told[-1].startswith("about ")
    assert not (tmp_path / "out").exists()


def test_a_dry_run_runs_nothing(run, monkeypatch):
    monkeypatch.setattr("compactlab.sim.experiment.sweep.Experiment.fill", None)
    assert run("--dry-run").code == 0


def test_a_dry_run_of_everything_that_is_built_in_names_it(compactlab):
    done = compactlab("run", "--dry-run")
    assert done.code == 0
    assert "  auto_compact + context_recovery" in done.out
    assert "claude-sonnet-4-5 for synthetic conversations" in done.out


def test_a_dry_run_does_not_wait_for_what_has_no_end(run, tmp_path):
    own = tmp_path / "own.py"
    own.write_text(
        "from dataclasses import dataclass\n"
        "from compactlab import Strategy\n"
        "@dataclass(frozen=True)\n"
        "class Loops(Strategy):\n"
        "    def compact(self, view, host):\n"
        "        while True:\n"
        "            pass\n"
    )
    done = run("--dry-run", "--timeout", 0.1, strategies=("keep_all", f"{own}:Loops"))
    assert done.code == 0
    assert "1 of them broken off" in done.out.splitlines()[-1]


# ------------------------------------------------------------------------------- what is not known


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ({"strategies": ("keep_al",)}, "did you mean keep_all"),
        ({"strategies": ("sliding_window(keep=0)",)}, "keep must be at least 1"),
        ({"strategies": ("turn_slice + keep_all",)}, "session, turn, request"),
        ({"what": "coding_agnt"}, "did you mean coding_agent"),
        ({"what": "nosuchdir"}, "no such file or folder, and unknown scenario 'nosuchdir'; known:"),
        ({"what": "coding_agnt(turns=2)"}, "compactlab: unknown scenario 'coding_agnt'; did you"),
        ({"what": "coding_agent(tokens=0)"}, "at least 1"),
        ({"what": "no/such/file.jsonl"}, "no/such/file.jsonl: No such file"),
    ],
)
@pytest.mark.parametrize("dry", [False, True])
def test_a_name_that_is_not_known_ends_with_2(run, tmp_path, more, complaint, dry):
    done = run(*["--dry-run"] * dry, **more)
    assert done.code == 2
    assert complaint in done.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("model", "complaint"),
    [
        ("claude-sonet-4-5", "did you mean claude-sonnet-4-5"),
        ("claude-sonnet-4-5@anthropc", "did you mean anthropic"),
    ],
)
@pytest.mark.parametrize("dry", [False, True])
def test_a_model_that_somebody_mistyped_ends_with_2(run, tmp_path, model, complaint, dry):
    """Before anything of an earlier run is overwritten."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "report.html").write_text("precious")
    done = run(*["--dry-run"] * dry, "--model", model, "--model", "claude-sonnet-4-5")
    assert (done.code, done.out) == (2, "")
    assert complaint in done.err
    assert (tmp_path / "out" / "report.html").read_text("utf-8") == "precious"


def test_a_summariser_that_is_not_known_ends_with_2(run):
    done = run("--summarizer", "lexrnk")
    assert (done.code, done.out) == (2, "")
    assert "did you mean lexrank" in done.err


@pytest.mark.parametrize(
    ("model", "advice"),
    [
        ("gpt-5.3-codex-spark", "no price is known of gpt-5-3-codex-spark"),
        ("recorded", "name one: --model"),
    ],
)
def test_a_model_that_cannot_be_replayed_fails_its_rows(run, tmp_path, model, advice):
    done = run("--model", model, "--model", "claude-sonnet-4-5")
    failed, fine = Results.load(tmp_path / "out").runs
    assert (done.code, failed.status, fine.status) == (1, "failed", "ok")
    assert advice in failed.error
    assert advice in " ".join(done.said.split())
    assert "1 of 2 runs failed" in done.err


# ---------------------------------------------------------------------------- what cannot be read


def test_a_malformed_transcript_is_named_with_its_line(run, bad, tmp_path):
    file = bad(tmp_path / "bad.jsonl")
    done = run("--strict", what=file)
    assert done.code == 2
    assert f"{file}:3: not JSON" in done.err
    assert not list((tmp_path / "out").glob("*"))


@pytest.mark.parametrize("more", [(), ("--lenient",)])
def test_its_broken_lines_are_passed_over_unless_told_otherwise(run, bad, tmp_path, more):
    done = run(*more, "--model", "claude-sonnet-4-5", what=bad(tmp_path / "bad.jsonl"))
    assert done.code == 0
    assert "Passed over: in bad 1 x line that is not JSON (27 characters)." in done.out


def test_one_bad_transcript_among_good_ones_costs_its_own_row(run, chat, bad, tmp_path):
    for name in ("a", "c"):
        chat(tmp_path / "talks" / f"{name}.jsonl")
    file = bad(tmp_path / "talks" / "b.jsonl")
    done = run("--strict", "--model", "claude-sonnet-4-5", what=tmp_path / "talks")
    assert done.code == 1
    assert f"{file}:3: not JSON" in done.err
    runs = Results.load(tmp_path / "out").runs
    assert [(r.conversation, r.status) for r in runs if r.status == "ok"] == [
        ("a", "ok"),
        ("c", "ok"),
    ]
    assert ("b", "unreadable") in [(r.conversation, r.status) for r in runs]


def test_files_of_a_folder_that_are_no_transcripts_are_counted(run, chat, tmp_path):
    chat(tmp_path / "talks" / "a.jsonl")
    (tmp_path / "talks" / "notes.txt").write_text("no transcript")
    assert run("--model", "claude-sonnet-4-5", what=tmp_path / "talks").code == 0
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))
    assert manifest["skipped_files"] == 1


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_was_passed_over_is_said_wherever_one_looks(run, chat, bad, tmp_path, jobs):
    for name in ("b", "c"):
        bad(tmp_path / "talks" / f"{name}.jsonl")
    chat(tmp_path / "talks" / "a.jsonl")
    (tmp_path / "talks" / "notes.txt").write_text("no transcript")
    options = ("--model", "claude-sonnet-4-5")
    done = run(*options, what=tmp_path / "talks", jobs=jobs)
    assert done.code == 0
    torn = "1 x line that is not JSON (27 characters)"
    told = f"in b {torn} and in c {torn} and 1 file of no known format in folders"
    assert f"Passed over: {told}." in done.out
    assert torn in (tmp_path / "out" / "report.html").read_text("utf-8")
    runs = Results.load(tmp_path / "out").runs
    assert {run.conversation: run.passed_over for run in runs} == {"a": "", "b": torn, "c": torn}
    dry = run("--dry-run", *options, what=tmp_path / "talks")
    assert "skipped: 1 file of unknown format" in dry.out


def test_an_error_of_many_runs_is_one_line(run, chat, tmp_path):
    for name in "abcde":
        chat(tmp_path / "talks" / f"{name}.jsonl")
    done = run(what=tmp_path / "talks", strategies=("keep_all", "keep_none"))
    assert done.code == 1
    (line,) = [line for line in done.out.splitlines() if "name one: --model" in line]
    assert "10 runs (a, b, c and 2 more; keep_all and keep_none) under recorded: " in line


def test_a_folder_without_transcripts_is_nothing_to_replay(run, tmp_path):
    (tmp_path / "empty").mkdir()
    done = run(what=tmp_path / "empty")
    assert done.code == 2
    assert "there is nothing to replay" in done.err


def test_a_folder_that_cannot_be_written_ends_with_2_before_the_work(run, tmp_path, monkeypatch):
    monkeypatch.setattr("compactlab.sim.experiment.sweep.Experiment.fill", None)
    (tmp_path / "file").write_text("in the way")
    assert run(out=tmp_path / "file").code == 2
    done = run(out=tmp_path / "file" / "below")
    assert done.code == 2
    assert "cannot write to" in done.err


# ------------------------------------------------------------------------- what the folder holds


def test_a_file_that_is_gone_is_named_and_made_again(run, compactlab, tmp_path, contents):
    out = tmp_path / "out"
    assert run().code == 0
    before = contents(out)
    (file,) = (out / "calls").iterdir()
    file.unlink()
    for ask in (("query", out, "SELECT 1"), ("report", out), ("merge", out, "-o", tmp_path / "b")):
        done = compactlab(*ask)
        assert done.code == 2
        assert f"calls/{file.name} is gone; to run the experiment again mends it" in done.err
    assert run().code == 0
    assert contents(out) == before


def test_conversations_of_one_name_are_told_apart_wherever_one_looks(compactlab, tmp_path):
    sizes = ("coding_agent(turns=2, tokens=2000)", "coding_agent(turns=2, tokens=3000)")
    what = [option for size in sizes for option in ("--conversations", size)]
    out = tmp_path / "out"
    assert compactlab("run", *what, "--strategies", "keep_all", "--out", out).code == 0
    named = [f"{size}-0:coding_agent-0" for size in sizes]
    results = Results.load(out)
    assert results.frame()["conversation"].tolist() == named
    asked = results.query("SELECT conversation, label FROM runs ORDER BY 1")
    assert asked["conversation"].tolist() == named
    assert asked["label"].tolist() == ["keep_all"] * 2


def test_a_query_gives_json_that_can_be_read(run, compactlab, tmp_path):
    assert run().code == 0
    sql = "SELECT 'inf'::DOUBLE AS never, 2.5 AS half, strategy FROM runs"
    done = compactlab("query", tmp_path / "out", sql, "--format", "json")

    def refuse(word):
        raise AssertionError(f"{word} is no JSON")

    (row,) = json.loads(done.out, parse_constant=refuse)
    assert (row["never"], row["strategy"]) == (None, "keep_all()")


def test_a_conversation_that_has_changed_keeps_its_name(run, chat, tmp_path):
    """What the store still holds of its former content is none of the experiment's."""
    for turns in (3, 4):
        talk = chat(tmp_path / "talk.jsonl", turns)
        assert run("--model", "claude-sonnet-4-5", what=talk).code == 0
        results = Results.load(tmp_path / "out")
        assert [each.conversation for each in results.runs] == ["talk"]
        assert results.query("SELECT conversation FROM runs")["conversation"].tolist() == ["talk"]
    assert results.query("SELECT count(*) AS n FROM all_runs WHERE NOT bound")["n"].tolist() == [2]


# ------------------------------------------------------------------------------------ the workers


def test_the_number_of_workers_changes_no_byte(process, chat, tmp_path, contents):
    talks = [chat(tmp_path / f"{name}.jsonl", turns) for name, turns in (("a", 2), ("b", 5))]
    options = ["--strategies", "keep_all", "--strategies", "random_keep", "--window", 4000]
    options += [o for talk in talks for o in ("--conversations", talk)]
    options += ["--conversations", TINY, "--seeds", 2, "--model", "claude-sonnet-4-5"]
    options += ["--loop", "open"]
    written = []
    for jobs in (1, 2):
        # A path that appears in the output must not make the difference.
        out = tmp_path / f"with {jobs}" / "out"
        assert process("run", *options, "--jobs", jobs, "--out", out).code == 0
        written.append(contents(out))
    assert {Path(name).parts[0] for name in written[0]} == (FOLDERS - {"messages"}) | FILES
    assert written[0] == written[1]
