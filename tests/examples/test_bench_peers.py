"""Beside other tools: all get the same messages, and ratios are what timings say. No network."""

import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import bench_peers as bench
import pytest
import stopwatch
from inline_snapshot import snapshot

import compactlab
from compactlab.sim.core import tokens
from compactlab.sim.core.tokens import encoding
from tests.lines import lines_with


@pytest.fixture(scope="module")
def session() -> compactlab.Conversation:
    return bench.session(60)  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def folder(session: compactlab.Conversation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("session")
    bench.write(session, folder)
    return folder


def content(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text("utf-8"))


def test_every_tool_gets_what_the_conversation_says(session, folder):
    said = [{"role": each.role, "content": each.text} for each in session.messages]
    lines = (folder / "transcript.jsonl").read_text("utf-8").splitlines()
    assert content(folder, "messages.json")["messages"] == said
    assert [json.loads(line) for line in lines] == said
    (own,) = compactlab.read(folder / "conversation.jsonl")
    assert (own.events, own.facts, own.needs) == (session.events, session.facts, session.needs)


def test_a_call_is_before_each_answer_and_nowhere_else(session, folder):
    script = content(folder, "messages.json")
    answers = [script["messages"][at] for at in script["calls"]]
    assert [each["content"] for each in answers] == [each.text for each in session.calls]
    assert {each["role"] for each in answers} == {"assistant"}


def test_canaries_are_facts_that_the_messages_state(session, folder):
    canaries = content(folder, "canaries.json")
    text = "\n".join(each.text for each in session.messages)
    facts = {fact.id: fact for fact in session.facts}
    assert 0 < len(canaries) <= 20
    for canary in canaries:
        assert not facts[canary["id"]].decoy
        (value,) = canary["required_tokens"]
        assert value in text


def test_the_same_size_gives_the_same_bytes(folder, tmp_path):
    bench.write(bench.session(60), tmp_path)
    for file in sorted(folder.iterdir()):
        assert (tmp_path / file.name).read_bytes() == file.read_bytes()


def test_compactlab_goes_through_every_call(session, folder, monkeypatch):
    import with_compactlab

    monkeypatch.setattr(stopwatch, "TIMES", 1)
    found = with_compactlab.every_way(folder / "conversation.jsonl", 20)
    assert [each["strategy"] for each in found] == ["keep_all", "sliding_window", "both"]
    assert [each["calls"] for each in found] == [len(session.calls) * runs for runs in (1, 1, 2)]


def test_compactlab_is_timed_warm_its_tokens_are_counted_before(session, folder, monkeypatch):
    import with_compactlab

    texts = {part.text for each in session.messages for part in each.parts if part.text}
    real = encoding("o200k_base")
    asked: list[str] = []

    def encode(text: str) -> int:
        asked.append(text)
        return real.encode(text)

    def look(prepare: Callable[[], Any], work: Callable[[Any], int]) -> dict[str, Any]:
        assert len(texts.intersection(asked)) > len(texts) // 2
        asked.clear()
        work(prepare())
        return {}

    tokens.forget_counts()
    monkeypatch.setitem(tokens._loaded, "o200k_base", replace(real, encode=encode, counts={}))
    monkeypatch.setattr(with_compactlab, "best_of", look)
    with_compactlab.measure(folder / "conversation.jsonl", "keep_all", ["keep_all"])
    assert not texts.intersection(asked)


def test_what_is_timed_is_made_anew_for_each_run(monkeypatch):
    # To look through the memory of a process that runs tests takes half a second each time.
    monkeypatch.setattr(stopwatch.gc, "collect", lambda: 0)
    made: list[list[int]] = []

    def prepare() -> list[int]:
        made.append([])
        return made[-1]

    def work(subject: list[int]) -> int:
        subject.append(len(made))
        return 7

    found = stopwatch.best_of(prepare, work)
    assert made == [[run] for run in range(1, stopwatch.TIMES + 1)]
    assert (found["calls"], found["runs"]) == (7, stopwatch.TIMES)


def test_what_an_adapter_tells_last_becomes_rows(root, tmp_path):
    told = [
        {"strategy": name, "ran": "it", "calls": 3, "seconds": 0.5, "runs": 1, "python": "3.12.1"}
        for name in ("keep_all", "sliding_window")
    ]
    adapter = tmp_path / "adapter.py"
    stopwatch = str(root / "examples" / "peers")
    adapter.write_text(
        f"import sys; sys.path.append({stopwatch!r})\n"
        f"from stopwatch import tell\nprint('what a tool says')\ntell({told})\n",
        encoding="utf-8",
    )
    tool = replace(bench.TOOLS[1], adapter=str(adapter))
    kept, slid, both = bench.measured(tool, Path(sys.executable), tmp_path, 60)
    assert (kept.tool, kept.messages, kept.version, kept.rate) == (tool.name, 60, tool.version, 6)
    assert (slid.strategy, slid.python) == ("sliding_window", "3.12.1")
    assert (both.strategy, both.calls, both.seconds) == ("both", 6, 1.0)


def row(tool: str, strategy: str, calls: int, seconds: float) -> Any:
    return bench.Row(188, strategy, tool, "1.0", "a replay", calls, seconds, 5, "3.11.7")


@pytest.fixture
def rows() -> list[Any]:
    return [
        row("compactlab", "keep_all", 100, 0.1),
        row("compactlab", "sliding_window", 100, 0.2),
        row("slow", "keep_all", 100, 4.0),
        row("quick", "keep_all", 100, 1.0),
        row("quick", "sliding_window", 100, 0.5),
        row("quick", "rounds", 5, 0.0001),
    ]


def test_the_best_of_the_others_is_what_counts(rows):
    kept, slid = bench.ratios(rows)
    assert (kept.strategy, kept.best, kept.met) == ("keep_all", "quick", True)
    assert kept.ratio == pytest.approx(10)
    assert (slid.strategy, slid.best, slid.met) == ("sliding_window", "quick", False)
    assert slid.ratio == pytest.approx(2.5)


def test_for_both_strategies_a_tool_needs_the_sum(rows):
    ours, quick = bench.together(rows)
    assert (ours.tool, ours.calls, ours.seconds) == ("compactlab", 200, pytest.approx(0.3))
    assert (quick.tool, quick.calls, quick.seconds) == ("quick", 200, pytest.approx(1.5))
    (both,) = (each for each in bench.ratios([*rows, ours, quick]) if each.strategy == "both")
    assert both.ratio == pytest.approx(5)


def test_sessions_of_other_sizes_are_not_mixed(rows):
    larger = replace(rows[3], messages=1_837, seconds=0.001)
    assert list(bench.ratios([*rows, larger])) == list(bench.ratios(rows))


def test_the_table_has_a_ratio_for_whatever_can_be_compared(rows):
    lines = "\n".join(bench.table(rows)).splitlines()
    told = [line.removesuffix("a replay").split() for line in lines if line.endswith("a replay")]
    assert [(line[0], *line[5:]) for line in told] == [
        ("compactlab", "1,000"),
        ("slow", "25", "40.0"),
        ("quick", "100", "10.0"),
        ("compactlab", "500"),
        ("quick", "200", "2.5"),
        ("quick", "50,000"),
    ]
    assert [line for line in lines if line.endswith(" messages")] == [
        "keep_all, 188 messages",
        "sliding_window, 188 messages",
        "rounds, 188 messages",
    ]


def test_the_verdict_names_what_is_missed(rows):
    kept, slid, whole = bench.verdict(list(bench.ratios(rows)))
    assert kept.split()[0] == "met"
    assert slid.split()[0] == "MISSED"
    assert (slid, whole) == snapshot(
        (
            "  MISSED  sliding_window, 188 messages: 2.5 times the best of them, quick",
            "at least 10 times the best of them: does not hold (1 of 2)",
        )
    )


@pytest.mark.parametrize(("share", "code"), [(6, 0), (2, 1), (0, 1)])
def test_the_exit_code_says_whether_anything_could_be_compared(rows, share, code, monkeypatch):
    monkeypatch.setattr(bench, "compare", lambda sizes: (rows[:share], {}))
    assert bench.main([]) == code


def test_what_could_not_be_measured_is_told_with_its_reason(rows, tmp_path, monkeypatch, capsys):
    missing = {"gone": "cannot be installed: no such version"}
    monkeypatch.setattr(bench, "compare", lambda sizes: (rows, missing))
    bench.main(["--json", str(tmp_path / "figures.json")])
    assert lines_with(capsys.readouterr().out, "gone") == snapshot(
        "not measured: gone: cannot be installed: no such version"
    )
    figures = content(tmp_path, "figures.json")
    assert [each["calls"] for each in figures["rows"]] == [each.calls for each in rows]
    assert [each["met"] for each in figures["ratios"]] == [True, False]
    assert figures["not_measured"] == missing


def test_a_tool_without_its_python_is_named(tmp_path):
    tool = replace(bench.TOOLS[0], minors=(98, 99))
    with pytest.raises(bench.InstallError, match=r"needs Python 3\.98, 3\.99"):
        bench.ready(tool, tmp_path)


def test_an_adapter_that_fails_says_why(folder):
    with pytest.raises(RuntimeError, match="ModuleNotFoundError"):
        bench.measured(bench.TOOLS[1], Path(sys.executable), folder, 60)


def test_all_that_is_installed_is_pinned():
    for tool in bench.TOOLS:
        assert tool.pins[0].startswith(f"{tool.name}==")
        assert all(re.fullmatch(r"[\w-]+==[\d.]+", pin) for pin in tool.pins)
        assert (Path(bench.__file__).parent / "peers" / tool.adapter).is_file()
