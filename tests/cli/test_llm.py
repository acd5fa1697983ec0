"""``compactlab run`` with a language model: recorded once, replayed everywhere, paid as allowed."""

import csv
import json
import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from compactlab.cli.dry_run import Budget
from compactlab.llm.asker import Asker, Mode
from compactlab.scenarios.coding_agent import CodingAgent
from compactlab.sim.experiment.conditions import Condition, Setting
from compactlab.sim.experiment.shard import _Common
from compactlab.sim.models.model import built_in
from compactlab.strategies.controls import KeepAll
from compactlab.strategies.summarizers.llm import Llm
from tests.cli.conftest import Outcome, endings, files
from tests.lines import lines_with
from tests.llm.server import Endpoint, serving

STORY = "coding_agent(turns=4, tokens=20000)"
KEY = "sk-made-for-this-test-0123456789abcdef"
LLM = "llm(model='gpt-5-mini')"
# Whose summaries are asked for and how often: that is told by one replay, in the open loop.
ONCE = ("--loop", "open", "--no-controls", "--metrics", "money")
ASKING = "auto_compact(reserve_tokens=4000, keep_recent_tokens=2000)"
STORED = Path(__file__).parents[1] / "llm" / "recorded"
Command = Callable[..., Outcome]


@pytest.fixture
def server() -> Iterator[Endpoint]:
    with serving() as server:
        yield server


@pytest.fixture
def run(compactlab: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """Run two strategies, one of which has summaries written, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COMPACTLAB_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def call(*more: object) -> Outcome:
        return compactlab(
            "run", "--conversations", STORY, "--window", 12_000, "--strategies", "claude_code",
            "--strategies", "keep_all", "--jobs", 1, *ONCE, *more,
        )  # fmt: skip

    return call


def at(server: Endpoint) -> str:
    return f"llm(model='gpt-5-mini', base_url='{server.url}/v1')"


def test_what_was_recorded_replays_to_the_byte(run, server, tmp_path):
    asked = run("--summarizer", at(server), "--answers", "a", "--ask", "record", "-o", "out/one")
    assert asked.code == 0
    count = len(server.asked)
    assert count >= 2
    assert f"asked for {count} new answers, for 0.0" in asked.err
    replayed = run("--summarizer", LLM, "--answers", "a", "-o", "out/two")
    assert replayed.code == 0
    assert len(server.asked) == count
    assert replayed.out == asked.out.replace("out/one", "out/two")
    assert files(tmp_path / "out" / "one") == files(tmp_path / "out" / "two")
    again = run("--summarizer", at(server), "--answers", "a", "--ask", "record", "-o", "out/one")
    assert lines_with(again.err, "0 new") == snapshot(
        "asked for 0 new answers, for 0.0000 USD; a holds 2 answers for 0.0035 USD"
    )
    secrets = [f for f in tmp_path.rglob("*") if f.is_file() and KEY.encode() in f.read_bytes()]
    assert (set(server.keys), secrets) == ({KEY}, [])


def test_the_same_answers_come_from_several_workers(run, server, tmp_path):
    record = ("--summarizer", at(server), "--ask", "record", "--jobs", 2)
    assert run(*record, "--answers", "a", "-o", "one").code == 0
    assert run(*record[:4], "--answers", "b", "-o", "two").code == 0

    def lines(folder: str) -> list[str]:
        return sorted((tmp_path / folder / "gpt-5-mini.jsonl").read_text().splitlines())

    assert lines("a") == lines("b")


def test_workers_that_began_elsewhere_record_where_we_are_now(run, server, tmp_path, monkeypatch):
    record = ("--summarizer", at(server), "--ask", "record", "--jobs", 2, "-o", "one")
    for folder, answers in (("before", "a"), ("now", "b")):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        assert run(*record, "--answers", answers).code == 0
    assert sorted(each.name for each in (tmp_path / "before").iterdir()) == ["a", "one"]
    assert (tmp_path / "now" / "b" / "gpt-5-mini.jsonl").is_file()


def test_what_one_was_answered_is_not_what_another_is_answered(tmp_path):
    """A worker outlives an experiment, and the next may allow what the last did not."""
    common = _Common(CodingAgent(turns=2, tokens=2000).conversation(seed=0), built_in())

    def writer(mode: Mode) -> object:
        asking = Llm("gpt-5-mini").answered_by(Asker(tmp_path, mode))
        return common.writer(Condition(KeepAll(), "", Setting(), asking))

    assert writer("replay") is writer("replay") is not writer("record")


def test_a_changed_recording_is_another_run(run, server, tmp_path):
    run("--summarizer", at(server), "--answers", "a", "--ask", "record", "-o", "one")
    file = tmp_path / "a" / "gpt-5-mini.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    file.write_text("".join(json.dumps({**row, "text": "Nothing."}) + "\n" for row in rows))
    again = run("--summarizer", LLM, "--answers", "a", "-o", "one")
    assert lines_with(again.err, "left out") == snapshot(
        "left out: 2 cells of other strategies, sources, settings or code"
    )


def test_what_is_not_recorded_fails_its_run_and_says_how_to_record_it(run, server):
    done = run("--summarizer", at(server), "--answers", "none", "-o", "one")
    assert done.code == 1
    assert "--ask record" in done.out.replace("\n", " ")
    assert lines_with(done.err, "1 of 2") == snapshot("1 of 2 runs failed; they are named above")
    assert server.asked == []


def test_a_budget_ends_the_asking_and_a_larger_one_goes_on(run, server):
    record = ("--summarizer", at(server), "--answers", "a", "--ask", "record", "-o", "one")
    short = run(*record, "--budget", 0.0001)
    assert short.code == 1
    assert "the budget is 0.0001 USD" in short.out.replace("\n", " ")
    assert (server.asked, "asked for 0 new answers" in short.err) == ([], True)
    assert run(*record, "--budget", 5).code == 0


UNANSWERED: list[list[str]] = [
    [],
    ["--ask", "record"],
    ["--answers", "a", "--ask", "refuse"],
    ["--answers", "a", "--ask", "record"],
    ["--answers", "a", "--budget", "-1"],
]


def test_what_cannot_be_answered_is_refused_before_anything_is_written(run, tmp_path, golden):
    asking = partial(run, "--summarizer", LLM, "-o", "one")
    golden("faults/answers.txt", endings(asking, UNANSWERED, tmp_path))
    assert [*tmp_path.iterdir()] == []


def test_a_bad_recording_is_refused_by_its_line(run, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "gpt-5-mini.jsonl").write_text("{}\n")
    assert run("--summarizer", LLM, "--answers", "a", "-o", "one").told(tmp_path) == snapshot("""\
2
compactlab: a/gpt-5-mini.jsonl:1: is not a recorded answer: Object missing required field `key`\
""")
    assert not (tmp_path / "one").exists()


def test_a_dry_run_says_how_much_would_be_asked_and_for_how_much(
    run, server, tmp_path, monkeypatch
):
    monkeypatch.setattr("compactlab.cli.dry_run.BUDGET", Budget(least=2))
    dry = ("--summarizer", at(server), "--answers", "a", "--dry-run")
    before = run(*dry)
    assert before.code == 0
    assert lines_with(before.out, "gpt-5-mini") == snapshot("""\
window 12,000 tokens; summaries by llm(model='gpt-5-mini', prompt='', temperature=None,
max_tokens=8000, draw=0)
llm(model='gpt-5-mini') would ask 2 requests that nobody has recorded, for about 0.00 USD,
and 0.03 USD if every answer has full length: computed with summaries by calibrated\
""")
    # Nor does it need the key with which to ask.
    ready = run("--summarizer", LLM, "--answers", "a", "--ask", "record", "--dry-run")
    assert (ready.code, ready.out) == (0, before.out)
    assert (server.asked, [*tmp_path.iterdir()]) == ([], [])
    run(*dry[:-1], "--ask", "record", "-o", "one")
    assert lines_with(run(*dry).out, "recorded") == snapshot("""\
would run into compactlab-out, under recorded; claude-sonnet-4-5 for synthetic
conversations:
llm(model='gpt-5-mini') would ask for nothing that is not recorded, in the 3 cells tried\
""")


def test_an_experiment_file_names_the_folder_and_cannot_ask(run, compactlab, server, tmp_path):
    run("--summarizer", at(server), "--answers", "sub/a", "--ask", "record", "-o", "one")
    file = tmp_path / "sub" / "e.toml"
    text = (
        f'conversations = ["{STORY}"]\nstrategies = ["claude_code", "keep_all"]\nwindow = 12000\n'
        'loop = "open"\ncontrols = false\nmetrics = ["money"]\n'
        'answers = "a"\nout = "two"\n[[summarizer]]\nname = "llm"\nmodel = "gpt-5-mini"\n'
    )
    file.write_text(text)
    assert compactlab("run", file).code == 0
    assert files(tmp_path / "one") == files(tmp_path / "sub" / "two")
    file.write_text(f'ask = "record"\n{text}')
    assert compactlab("run", file).told(tmp_path) == snapshot("""\
2
compactlab: sub/e.toml: settings are wrong:
  line 1: ask: no file may set this, only an option or an argument\
""")


# A recording that is committed. It is made again, with its table, by
# COMPACTLAB_UPDATE_GOLDEN=1 pytest tests/cli/test_llm.py -k stored


def test_the_stored_recording_gives_the_stored_table(compactlab, server, tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    renewed = "COMPACTLAB_UPDATE_GOLDEN" in os.environ
    if renewed:
        shutil.rmtree(STORED, ignore_errors=True)
    done = compactlab(
        "run", "--conversations", STORY, "--window", 12_000, "--strategies", "claude_code",
        "--strategies", ASKING, "--loop", "open", "--no-controls", "--jobs", 1,
        "--summarizer", at(server) if renewed else LLM, "--answers", STORED,
        "--ask", "record" if renewed else "replay", "-o", tmp_path / "out",
    )  # fmt: skip
    assert done.code == 0
    table = compactlab("report", tmp_path / "out", "--format", "csv").out
    golden = STORED / "table.csv"
    if renewed:
        golden.write_bytes(table.encode())
    assert table.encode() == golden.read_bytes()
    assert not server.asked or renewed


def test_the_stored_recording_is_of_several_summaries_of_each_strategy():
    lines = (STORED / "gpt-5-mini.jsonl").read_text("utf-8").splitlines()
    rows = csv.DictReader((STORED / "table.csv").read_text("utf-8").splitlines())
    assert len({json.loads(line)["key"] for line in lines}) == len(lines) > 4
    assert all(float(row["summary_cost_usd"]) > 0 for row in rows)
