"""`compactlab run`: what is replayed and written, and how it ends."""

import json
import re
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from compactlab.cli.dry_run import Budget
from compactlab.sim.store.results import Results
from compactlab.strategies import ALL_STRATEGIES
from tests.lines import lines_with

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


OWN = """
from dataclasses import dataclass
from compactlab import Strategy

@dataclass(frozen=True)
class Own(Strategy):
    def compact(self, view, host):
        {act}
"""


@pytest.fixture
def own(tmp_path):
    """Write a strategy of one's own."""

    def write(act):
        (tmp_path / "own.py").write_text(OWN.format(act=act))
        return f"{tmp_path / 'own.py'}:Own"

    return write


def test_a_strategy_of_ones_own_is_run_from_its_file(run, own, tmp_path):
    done = run(strategies=("keep_all", own("raise KeyError('my own fault')")))
    assert done.code == 1
    assert "my own fault" in done.said
    runs = Results.load(tmp_path / "out").runs
    assert [run.status for run in runs] == ["ok", "failed"]
    assert str(tmp_path) not in runs[1].error


def test_an_empty_context_never_looks_good(run, own, compactlab, tmp_path):
    """It costs least, and no provider would answer one of its prompts."""
    nothing = own("return view.with_messages([])")
    for beside in ((), ("keep_all",)):
        done = run(strategies=(*beside, nothing))
        assert done.code == 0
        assert "own □" in compactlab("report", tmp_path / "out").out
        assert "choose own" not in done.out.lower()
        assert "Never compacted" not in done.out
        assert Results.load(tmp_path / "out").runs[-1].metrics["structural_validity"] == 0


def test_a_dry_run_names_what_would_run_and_what_fails_in_it(run, chat, bad, tmp_path, monkeypatch):
    monkeypatch.setattr("compactlab.cli.dry_run.BUDGET", Budget(seconds=1e9, share=1e9))
    for talk in ("one", "two"):
        chat(tmp_path / "talks" / f"{talk}.jsonl")
    bad(tmp_path / "talks" / "three.jsonl")
    both = ("keep_all", "sliding_window")
    done = run("--dry-run", "--strict", what=tmp_path / "talks", strategies=both)
    # A file that cannot be read is one failure; a model that is not known fails each run.
    told = re.sub(r"about .*", "about ...", done.told(tmp_path))
    assert told == snapshot("""\
0
would run into out, under recorded; claude-sonnet-4-5 for synthetic conversations:
3 conversations
  one
  three
  two
2 strategies
  keep_all
  sliding_window
2 bounds
  keep_none
  as_recorded
window the model's own; summaries by calibrated(profile='', client='', draw=0)
loop open and closed(misuse=1.0, unbound=0.38); 192 metrics
tables: runs, calls, compactions, facts, lags, messages, views
12 runs, if every source has one conversation

tried: 5 runs
5 runs failed:
  three, (unreadable): talks/three.jsonl:3: not JSON: Input data was truncated
  4 runs (one and two; sliding_window and keep_all) under recorded: the recording does not say
which model it used; name one: --model

about ...\
""")
    assert not (tmp_path / "out").exists()


def test_a_dry_run_runs_nothing_and_names_what_is_compared(compactlab, monkeypatch):
    monkeypatch.setattr("compactlab.sim.experiment.sweep.Experiment.run_into", None)
    done = compactlab("run", "--dry-run")
    assert done.code == 0
    assert "  auto_compact + context_recovery" in done.out
    assert "  sliding_window" not in done.out
    assert lines_with(done.out, "synthetic") == snapshot("""\
would run into compactlab-out, under recorded; claude-sonnet-4-5 for synthetic
conversations:\
""")


def test_all_is_every_built_in_strategy_and_what_is_named_beside(compactlab, monkeypatch):
    monkeypatch.setattr("compactlab.cli.dry_run.BUDGET", Budget(least=1, cells=1))
    named = ("--strategies", "sliding_window(keep=3)", "--conversations", "coding_agent(turns=1)")
    done = compactlab("run", "--all", *named, "--dry-run")
    assert done.code == 0, done.said
    assert f"\n{len(ALL_STRATEGIES) + 1} strategies\n" in done.out
    for label in ALL_STRATEGIES[:50]:  # so many are listed
        assert f"  {label}\n" in done.out


def test_a_dry_run_does_not_wait_for_what_has_no_end(run, own):
    loops = own("[None for _ in iter(int, 1)]")
    done = run("--dry-run", "--timeout", 0.1, strategies=("keep_all", loops))
    assert done.code == 0
    assert "1 of them broken off" in done.out.splitlines()[-1]


WRONG = [
    {"strategies": ("keep_al",)},
    {"strategies": ("sliding_window(keep=0)",)},
    {"strategies": ("turn_slice + keep_all",)},
    {"what": "coding_agnt"},
    {"what": "nosuchdir"},
    {"what": "coding_agnt(turns=2)"},
    {"what": "coding_agent(tokens=0)"},
    {"what": "no/such/file.jsonl"},
    {"model": "claude-sonet-4-5"},
    {"model": "claude-sonnet-4-5@anthropc"},
    {"summarizer": "lexrnk"},
]


@pytest.mark.parametrize("dry", [False, True])
def test_a_name_that_is_not_known_ends_with_2(run, tmp_path, dry):
    """Before anything of an earlier run is overwritten."""
    page = tmp_path / "out" / "report.html"
    page.parent.mkdir()
    page.write_text("precious")
    told = []
    for wrong in WRONG:
        plain = {key: value for key, value in wrong.items() if key in ("what", "strategies")}
        more = [word for key in wrong.keys() - plain for word in (f"--{key}", wrong[key])]
        done = run(*["--dry-run"] * dry, *more, "--model", "claude-sonnet-4-5", **plain)
        assert (done.code, done.out) == (2, "")
        told.append(done.err.partition("; known:")[0].strip()[:85])
    assert told == snapshot(
        [
            "compactlab: unknown strategy 'keep_al'; did you mean keep_all or keep_warm or keep_no",
            "compactlab: sliding_window: keep must be at least 1, not 0",
            "compactlab: turn_slice(history_limit=10, repair=True) + keep_all(): the parts of a pi",
            "compactlab: no such file or folder, and unknown scenario 'coding_agnt'; did you mean ",
            "compactlab: no such file or folder, and unknown scenario 'nosuchdir'",
            "compactlab: unknown scenario 'coding_agnt'; did you mean coding_agent or working_set?",
            "compactlab: coding_agent: tokens must be at least 1",
            "compactlab: no/such/file.jsonl: No such file or directory",
            "compactlab: unknown model 'claude-sonet-4-5'; did you mean claude-sonnet-4-5 or claud",
            "compactlab: unknown cache policy 'anthropc'; did you mean anthropic?",
            "compactlab: unknown summariser 'lexrnk'; did you mean lexrank?",
        ]
    )
    assert page.read_text("utf-8") == "precious"


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
    assert lines_with(done.err, "1 of 2") == snapshot(
        "1 of 2 runs failed (and 1 of bounds); they are named above"
    )


def test_a_malformed_transcript_is_named_with_its_line(run, bad, tmp_path):
    file = bad(tmp_path / "bad.jsonl")
    done = run("--strict", what=file)
    assert done.code == 2
    assert f"{file}:3: not JSON" in done.err
    assert not list((tmp_path / "out").glob("*"))


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


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_was_passed_over_is_said_wherever_one_looks(run, chat, bad, tmp_path, jobs):
    for name in ("b", "c"):
        bad(tmp_path / "talks" / f"{name}.jsonl")
    chat(tmp_path / "talks" / "a.jsonl")
    (tmp_path / "talks" / "notes.txt").write_text("no transcript")
    options = ("--model", "claude-sonnet-4-5", *["--lenient"] * (jobs - 1))
    done = run(*options, what=tmp_path / "talks", jobs=jobs)
    assert done.code == 0
    assert Results.load(tmp_path / "out").manifest["skipped_files"] == 1
    torn = "1 x line that is not JSON (27 characters)"
    told = f"in b {torn} and in c {torn} and 1 file of no known format in folders"
    assert f"Passed over: {told}." in done.out
    assert torn in (tmp_path / "out" / "report.html").read_text("utf-8")
    runs = Results.load(tmp_path / "out").runs
    assert {run.conversation: run.passed_over for run in runs} == {"a": "", "b": torn, "c": torn}
    dry = run("--dry-run", *options, what=tmp_path / "talks")
    assert lines_with(dry.out, "skipped") == snapshot("skipped: 1 file of unknown format")


def test_an_error_of_many_runs_is_one_line(run, chat, tmp_path):
    for name in "abcde":
        chat(tmp_path / "talks" / f"{name}.jsonl")
    what, model = tmp_path / "talks", ("--model", "gpt-5.3-codex-spark")
    done = run(*model, what=what, strategies=("keep_all", "keep_none"))
    assert done.code == 1
    (line,) = [line for line in done.out.splitlines() if "no price" in line]
    assert lines_with(line, "10 runs") == snapshot("""\
10 runs (a, b, c and 2 more; keep_all and keep_none) under gpt-5-3-codex-spark: no price
is known of gpt-5-3-codex-spark; give its prices by hand, in a file for --models: prices =
{ input = ..., cache_read = ..., output = ... }, in dollars per million tokens\
""")


def test_recordings_without_a_model_are_refused_before_the_start(run, chat, tmp_path, monkeypatch):
    monkeypatch.setattr("compactlab.sim.experiment.sweep.Experiment.run_into", None)
    for name in "abcde":
        chat(tmp_path / "talks" / f"{name}.jsonl")
    assert run(what=tmp_path / "talks").told(tmp_path) == snapshot("""\
2
compactlab: a.jsonl, b.jsonl, c.jsonl and 2 more: nothing says which model was used; name one:
--model\
""")
    one = tmp_path / "talks" / "a.jsonl"
    assert run("--model", "recorded", what=one).told(tmp_path) == snapshot("""\
2
compactlab: a.jsonl: nothing says which model was used; name one: --model\
""")


def test_a_folder_without_transcripts_is_nothing_to_replay(run, tmp_path):
    (tmp_path / "empty").mkdir()
    assert run(what=tmp_path / "empty").told(tmp_path) == snapshot("""\
2
compactlab: there is nothing to replay: no transcript was found in empty\
""")


def test_a_folder_that_cannot_be_written_ends_with_2_before_the_work(run, tmp_path, monkeypatch):
    monkeypatch.setattr("compactlab.sim.experiment.sweep.Experiment.run_into", None)
    (tmp_path / "file").write_text("in the way")
    assert run(out=tmp_path / "file").code == 2
    done = run(out=tmp_path / "file" / "below")
    assert done.told(tmp_path, out=False) == snapshot("""\
2
compactlab: cannot write to 'file/below': [Errno 20] Not a directory: 'file/below'\
""")


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


def test_the_number_of_workers_changes_no_byte(process, chat, tmp_path, contents):
    talk = chat(tmp_path / "talk.jsonl")
    options = ["--strategies", "keep_all", "--strategies", "random_keep", "--window", 4000]
    options += [
        "--conversations",
        talk,
        "--conversations",
        TINY,
        "--seeds",
        2,
        "--model",
        "claude-sonnet-4-5",
    ]
    options += ["--loop", "open"]
    written = []
    for jobs in (1, 2):
        # A path that appears in the output must not make the difference.
        out = tmp_path / f"with {jobs}" / "out"
        assert process("run", *options, "--jobs", jobs, "--out", out).code == 0
        written.append(contents(out))
    assert {Path(name).parts[0] for name in written[0]} == (FOLDERS - {"messages"}) | FILES
    assert written[0] == written[1]
