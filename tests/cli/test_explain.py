"""``compactlab explain``: one session told call by call, with the totals of ``compactlab run``."""

import csv
import json
import math
from collections import Counter
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

import compactlab as package
from compactlab.reports.page.explorer import views
from compactlab.scenarios.catalogue import find_conversation
from compactlab.scenarios.coding_agent import CodingAgent
from tests.lines import lines_with

SESSION = "coding_agent(turns=6, tokens=60000)"
SMALL = "coding_agent(turns=2, tokens=2000)"
WINDOW = 64_000
STRATEGIES = ["keep_all", "auto_compact", "memory_flush + auto_compact", "observation_masking(n=2)"]

Run = Callable[..., Any]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_requests_add_up_to_the_figures_of_a_run(strategy, compactlab):
    told = compactlab(
        "explain", SESSION, "--strategies", strategy, "--window", WINDOW, "--format", "json"
    )
    data = json.loads(told.out)
    (run,) = package.run([SESSION], [strategy], window=WINDOW).runs
    assert told.code == 0
    for name, value in run.metrics.items():
        finite = value if value is not None and math.isfinite(value) else None
        assert data["figures"][name] == (None if finite is None else pytest.approx(finite)), name
    requests = data["requests"]
    for field in ("cost_usd", "avoidable_cost_usd"):
        assert math.fsum(r[field] for r in requests) == pytest.approx(run.metrics[field])
    assert requests[-1]["total_usd"] == pytest.approx(run.metrics["cost_usd"])
    assert sum(r["dead_writes"] for r in requests) == run.metrics["tokens_dead_writes"]
    causes: Counter[str] = Counter()
    for request in requests:
        causes.update(request["causes"])
        cache_misses = request["prompt"] - request["cache_read"]
        assert sum(request["causes"].values()) == cache_misses
    assert {f"cache_miss_{cause}": n for cause, n in causes.items()}.items() <= run.metrics.items()
    calls = [request for request in requests if request["kind"] == "call"]
    assert len(calls) == run.metrics["calls"]
    assert [r["cost_usd"] for r in calls] == pytest.approx(run.calls["cost_usd"])


def test_the_fault_of_each_failed_summary_is_named(compactlab):
    told = compactlab(
        "explain", SESSION, "--strategies", "auto_compact", "--window", WINDOW,
        "--summarizer", "empty",
    )  # fmt: skip
    assert told.out.count("failed the sanity check: empty") == 7
    assert lines_with(told.out, "7 of 7", "empty 7:") == snapshot("""\
7 of 7 summaries failed the sanity check. Where they stay in the prompts, recall counts
them. Their faults:
empty 7: It says nothing, although there was something to say.\
""")


def test_a_session_is_told_in_lines_that_fit(compactlab):
    told = compactlab("explain", SESSION, "--strategies", "auto_compact", "--window", WINDOW)
    assert told.code == 0
    head, body = told.out.split("\n\n")[0], told.out.split("\n\n")[1].splitlines()
    assert head.startswith("coding_agent-0 under auto_compact(")
    assert "what the strategy did; cache misses by cause" in body[0]
    assert all(len(line) <= 120 for line in body)
    assert any("summary" in line for line in body)
    assert any("compacted by" in line for line in body)


def test_one_call_rows_for_machines_and_a_transcript(chat, tmp_path, compactlab):
    small = ("explain", "coding_agent(turns=6, tokens=8000)", "--strategies", "keep_all")
    few, whole = (compactlab(*small, *more).out for more in ((), ("--all",)))
    assert ("..." in few, "..." in whole) == (True, False)
    one = compactlab(*small, "--call", 1)
    assert lines_with(one.out, "call 1,") == snapshot("call 1, claude-sonnet-4-5, answered by m2")
    assert lines_with(one.out, "cold_start") == snapshot(
        "cache miss  14,037 cold_start: the session's first request"
    )
    rows = compactlab(*small, "--format", "csv").out
    assert [row["call"] for row in csv.DictReader(StringIO(rows))][:2] == ["1", "2"]
    file = chat(tmp_path / "talk.jsonl")
    told = compactlab("explain", file, "--strategies", "keep_all", "--model", "claude-opus-4-5")
    assert (told.code, told.err) == (0, "")
    assert "for 4 calls" in told.out


WRONG: list[tuple[Any, ...]] = [
    (),
    ("--strategies", "kep_all"),
    ("--strategies", "keep_all", "--model", "claude-sonet-4-5"),
    ("--strategies", "keep_all", "--call", 999),
    ("--strategies", "keep_all", "--conversation", "nobody"),
    ("--strategies", "keep_all", "--summarizer", "nobody"),
    ("--strategies", "keep_all", "--strategies", "keep_none"),
]


def test_what_is_wrong_is_said(compactlab):
    done = [compactlab("explain", SMALL, *each) for each in WRONG]
    assert {(each.code, each.out) for each in done} == {(2, "")}
    assert [each.err.splitlines()[-1][:85] for each in done] == snapshot(
        [
            "Error: Missing option '--strategies'.",
            "compactlab: unknown strategy 'kep_all'; did you mean keep_all or keep_warm or memory_",
            "compactlab: unknown model 'claude-sonet-4-5'; did you mean claude-sonnet-4-5 or claud",
            "compactlab: there is no call 999: the session has 6 calls",
            "compactlab: unknown conversation 'nobody'; known: coding_agent-0",
            "compactlab: unknown summariser 'nobody'; known: calibrated, centroid, checklist, empt",
            "compactlab: explain shows one strategy, and 2 are named: name one",
        ]
    )


def test_of_several_conversations_one_must_be_named(chat, tmp_path, compactlab):
    for name in ("one", "two"):
        chat(tmp_path / f"{name}.jsonl")
    how = ("--strategies", "keep_all", "--model", "claude-opus-4-5")
    told = compactlab("explain", tmp_path, *how)
    assert told.code == 2
    assert "2 conversations in" in told.err
    (tmp_path / "empty").mkdir()
    for nothing in ("no.jsonl", "empty"):
        none = compactlab("explain", tmp_path / nothing, *how)
        assert (none.code, none.out) == (2, "")
    assert "name one: " in told.err
    name = told.err.strip().rpartition(" ")[2]
    assert compactlab("explain", tmp_path, *how, "--conversation", name).code == 0


def test_python_is_told_the_same():
    from compactlab.api import explain

    session = CodingAgent(turns=2, tokens=2000).conversation(seed=1)
    account = explain(session, "keep_all")
    again = explain(SMALL, "keep_all", seed=1)
    assert account.entries == again.entries
    assert account.figures == again.figures
    assert len(account.entries) == account.figures["calls"]


def test_a_compaction_is_told_as_on_the_page_and_in_the_table_of_views(compactlab):
    """What explain says of a call is what a run's report and store say of that compaction."""
    results = package.run([SESSION], ["auto_compact"], window=WINDOW)
    (shown,) = views(results, results.runs).shown
    rows, call = results.runs[0].rows["views"], shown.view.call
    asked = ("explain", SESSION, "--strategies", "auto_compact", "--window", WINDOW)
    body = " ".join(compactlab(*asked, "--call", call).out.split())
    assert all(" ".join(sentence.split()) in body for sentence in shown.view.words)
    assert "written" in body
    asked += ("--format", "json")
    view = json.loads(compactlab(*asked, "--call", call).out)["view"]
    for name in ("call", "fate", "message", "tokens_before", "tokens_after", "facts", "states"):
        assert [message[name] for message in view["messages"]] == list(rows[name]), name
    written = [m["became"] for m in view["messages"] if m["fate"] == "written"]
    assert written
    assert all(view["written"][name] for name in written)
    for other in ((), ("--call", call - 1)):
        assert json.loads(compactlab(*asked, *other).out)["view"] is None


PUTS_AWAY = ("--strategies", "offload_outputs(max_text_chars=900, preview_chars=200)")


def kept(folder: Path) -> dict[str, str]:
    return {
        file.relative_to(folder).as_posix(): file.read_text("utf-8")
        for file in folder.rglob("*")
        if file.is_file()
    }


def test_what_a_strategy_has_put_away_can_be_looked_at(compactlab, tmp_path):
    done = compactlab("explain", SESSION, *PUTS_AWAY, "--files", tmp_path / "files")
    assert done.code == 0
    payloads = kept(tmp_path / "files")
    assert payloads
    assert f"wrote {len(payloads)} file" in done.err
    session = find_conversation(SESSION)
    results = [json.dumps(m.text)[1:-1] for m in session.messages if m.role == "tool"]
    assert all(any(text in payload for text in results) for payload in payloads.values())
    # Looking changes nothing, also where something lies there.
    (path, text), *_ = payloads.items()
    (tmp_path / "files" / path).write_text("else")
    again = compactlab("explain", SESSION, *PUTS_AWAY, "--files", tmp_path / "files")
    assert again.out == done.out == compactlab("explain", SESSION, *PUTS_AWAY).out
    assert (tmp_path / "files" / path).read_text("utf-8") == text


OWN = """
from dataclasses import dataclass
import compactlab

@dataclass(frozen=True)
class Own(compactlab.Strategy):
    path: str = "notes/own.txt"

    def compact(self, view, host):
        host.files[self.path] = "mail ana@corp.example"
        return view
"""


@pytest.mark.parametrize("hidden", [False, True])
def test_what_ones_own_strategy_keeps_can_be_looked_at(compactlab, tmp_path, hidden):
    (tmp_path / "own.py").write_text(OWN)
    asked = ("explain", SMALL, "--strategies", f"{tmp_path / 'own.py'}:Own")
    more = ("--files", tmp_path / "files", *(["--redact"] if hidden else []))
    assert compactlab(*asked, *more).code == 0
    assert list(kept(tmp_path / "files")) == ["notes/own.txt"]
    assert ("ana@corp.example" in kept(tmp_path / "files")["notes/own.txt"]) is not hidden


@pytest.mark.parametrize("path", ["../own.txt", "/own.txt", "a\0b"])
def test_nothing_is_kept_outside_of_the_folder(compactlab, tmp_path, path):
    (tmp_path / "own.py").write_text(OWN.replace('"notes/own.txt"', repr(path)))
    asked = ("explain", SMALL, "--strategies", f"{tmp_path / 'own.py'}:Own")
    done = compactlab(*asked, "--files", tmp_path / "files")
    assert (done.code, done.out) == (2, "")
    assert "leads out of the folder of files" in done.err
    assert [file.name for file in tmp_path.rglob("*") if file.suffix == ".txt"] == []
