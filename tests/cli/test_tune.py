"""`compactlab tune`: at what size to compact, as somebody asks it who has just installed it."""

import json
import re
from functools import partial
from pathlib import Path

import pytest
from inline_snapshot import snapshot
from inline_snapshot.extra import raises

import compactlab as package
from tests.cli.conftest import called, endings
from tests.lines import lines_with
from tests.recordings import CALM, claude_code, codex

# Two short talks whose prompts grow to some 44,000 tokens.
TALKS = "research_assistant(turns=2, tokens=24000)"
ASKED = (TALKS, "--seeds", 2, "-s", "codex", "--window", 60_000, "--jobs", 1)


@pytest.fixture(scope="module")
def tuned(tmp_path_factory) -> tuple[Path, str, str]:
    """The folder, and what was said of two triggers that are named."""
    out = tmp_path_factory.mktemp("tuned") / "out"
    done = called("tune", *ASKED, "--over", "trigger=20000,30000", "--recall", 0.5, "-o", out)
    assert done.code == 0, done.said
    return out, done.out, done.err


def test_the_report_has_a_row_a_setting_as_figures_and_page_have(tuned):
    out, said, err = tuned
    for setting in ("trigger=20,000", "trigger=30,000", "its own rule (about 54,000 tokens)"):
        assert re.search(rf"^{re.escape(setting)} +\d", said, re.MULTILINE), setting
    for words in ("codex, window 60,000 tokens", "keep_all, for comparison", "it takes at least",
                  "recall of at least 50.0%, of facts last stated 20,000 tokens"):  # fmt: skip
        assert words in said
    (strategy,) = json.loads((out / "tune.json").read_text("utf-8"))["strategies"]
    assert [each["trigger"] for each in strategy["settings"]] == [20_000, 30_000, None]
    assert strategy["sessions"] == ["research_assistant-0", "research_assistant-1"]
    assert (out / "tune.html").read_text("utf-8").count("<figure") == 1
    assert f"page: {out / 'tune.html'}" in err


def test_what_is_there_is_not_run_again(tuned):
    out, said, _ = tuned
    again = called("tune", *ASKED, "--over", "trigger=20000,30000", "--recall", 0.5, "-o", out)
    assert again.code == 0, again.said
    assert "runs to do" not in again.err

    def without_work(text: str) -> str:
        return text[: text.index("2 files read")]

    assert without_work(again.out) == without_work(said)
    assert "codex(trigger=20000)" in called("report", out / "60000").out


def test_a_dry_run_says_what_would_be_run_and_runs_nothing(compactlab, tmp_path):
    done = compactlab("tune", *ASKED, "--dry-run", "-o", tmp_path / "out")
    assert done.code == 0, done.said
    assert "codex(trigger=54000)" in done.out
    assert lines_with(done.out, "each strategy") == snapshot(
        "then up to 9 more settings of each strategy: 18 runs at most"
    )
    assert not (tmp_path / "out" / "tune.json").exists()


def test_sessions_that_never_grow_large_are_told(compactlab, tmp_path):
    claude_code(tmp_path / "logs" / "small.jsonl", CALM)
    claude_code(tmp_path / "logs" / "large.jsonl", [*CALM, (60, 30_900, 90_000, True)])
    args = (tmp_path / "logs", "--over", "trigger=60000", "--no-controls", "--jobs", 1)
    done = compactlab("tune", *args, "-o", tmp_path / "out")
    assert done.code == 0, done.said
    assert lines_with(done.out, "smallest trigger") == snapshot("""\
Window 200,000 tokens (claude-sonnet-4-5): 1 session. 1 session more never reach the
smallest trigger: no setting changes them.\
""")


def test_a_window_without_a_price_does_not_stop_the_others(compactlab, tmp_path):
    grown = [*CALM, (60, 30_900, 90_000, True)]
    codex(tmp_path / "logs" / "unpriced.jsonl", grown, "gpt-5.3-codex-spark")
    args = (tmp_path / "logs", "--over", "trigger=60000", "--no-controls", "--jobs", 1)
    left = "window 128,000 tokens: no session could be replayed under all settings; no price is"
    done = compactlab("tune", *args, "-o", tmp_path / "alone")
    assert (done.code, left in done.err) == (2, True), done.said
    claude_code(tmp_path / "logs" / "priced.jsonl", grown)
    done = compactlab("tune", *args, "-o", tmp_path / "out")
    assert done.code == 1, done.said
    assert "claude_code, window 200,000 tokens" in done.out
    assert f"Left out: {left}" in done.out
    assert left in done.err


WRONG: list[tuple[object, ...]] = [
    ("--over", "triger"),
    ("--over", "trigger=80k"),
    ("--over", "trigger=-5"),
    ("-s", "keep_all"),
    ("-s", "codex", "-s", "codex"),
    ("--distance", 12),
    ("-s", "token_budget + pair_repair"),
]


def test_what_cannot_be_meant_is_refused_before_anything_is_read(compactlab, tmp_path, golden):
    tune = partial(compactlab, "tune", TALKS, "-o", tmp_path / "out")
    golden("faults/tune.txt", endings(tune, WRONG, tmp_path))
    assert not (tmp_path / "out").exists()


def test_a_second_field_is_looked_for_at_the_best_value_of_the_first(compactlab, tmp_path):
    fields = ("--over", "trigger=20000,30000", "--over", "route='local','remote'")
    done = compactlab("tune", *ASKED, *fields, "--recall", 0, "--no-controls", "-o", tmp_path / "o")
    assert done.code == 0, done.said
    (told,) = json.loads((tmp_path / "o" / "tune.json").read_text("utf-8"))["strategies"]
    tried = {(each["trigger"], each["route"]) for each in told["settings"]}
    assert {(None, None), (20_000, None), (30_000, None)} < tried
    (trigger,) = {each[0] for each in tried if each[1]}
    first = [each for each in told["settings"] if not each["route"]]
    least = min(each["cost_with_recovery_usd"] for each in first)
    (fixed,) = [each for each in first if each["trigger"] == trigger]
    assert fixed["cost_with_recovery_usd"] <= least * 1.02


def test_names_that_look_like_secrets_are_hidden_if_asked_for(compactlab, tmp_path):
    secret = "ghp_" + "aB3dE6gH9jK2" * 3
    claude_code(tmp_path / "logs" / f"{secret}.jsonl", [*CALM, (60, 30_900, 90_000, True)])
    args = (
        tmp_path / "logs",
        "--over",
        "trigger=60000",
        "--no-controls",
        "--jobs",
        1,
        "--format",
        "json",
    )
    done = compactlab("tune", *args, "--redact", "-o", tmp_path / "out")
    assert done.code == 0, done.said
    told = json.loads(done.out)
    assert len(told["strategies"]) == 1
    written = [path.read_text("utf-8") for path in (tmp_path / "out").glob("tune.*")]
    assert len(written) == 2
    assert not any(secret in text for text in [done.said, *written])


def test_in_python_one_gets_a_frame(tuned):
    out, _, _ = tuned
    found = package.tune(
        TALKS, "codex", "trigger=20000,30000", seeds=2, window=60_000, recall=0.5, out=out
    )
    frame = found.frame()
    assert frame["setting"].str.contains("trigger=20000").sum() == 1
    assert frame["best"].sum() <= 1
    assert lines_with(found.text(), "codex, window") == snapshot("codex, window 60,000 tokens")
    assert found.runs == 0
    with raises("UsageError: sessions must be at least 1, and points at least 2"):
        package.tune(TALKS, points=1)
