"""``compactlab probe``: readers whose table is known beforehand."""

import csv
import io
import json
from pathlib import Path
from typing import Any

from inline_snapshot import snapshot

from tests.cli.conftest import Outcome, endings, files
from tests.lines import lines_with
from tests.reports.probe.conftest import session
from tests.reports.probe.reading import finds, knows_nothing, reading

JSON = ("--format", "json")
LLM = "llm(model='gpt-5-mini'{})"


def at(url: str) -> tuple[str, ...]:
    return "--base-url", f"{url}/v1", "--ask", "record"


def data(done: Outcome) -> dict[str, Any]:
    assert done.code == 0, done.said
    found: dict[str, Any] = json.loads(done.out)
    return found


def test_a_reader_that_finds_what_is_there_recalls_what_states_call_kept(probe):
    with reading(finds(session())) as server:
        found = data(probe(*at(server.url), *JSON))
    assert (found["sensitivity"]["value"], found["too_weak"]) == (1.0, False)
    keeps, cuts = found["by_strategy"]
    assert (keeps["name"], keeps["kept"]["value"], keeps["compacted"]["value"]) == (
        "keep_all", 1.0, 1.0,
    )  # fmt: skip
    assert (cuts["full"]["value"], cuts["without"]["value"], cuts["restated"]["value"]) == (1, 0, 1)
    assert cuts["compacted"]["value"] == cuts["kept"]["value"] < 1
    assert (cuts["mcc"], cuts["off"]) in [(1.0, 0.0), (None, 0.0)]
    states = {each["name"]: each["compacted"]["value"] for each in found["by_state"]}
    assert states == {"verbatim": 1.0, "lost": 0.0}
    assert sum(group["questions"] for group in found["by_lag"]) == 2 * 3


def test_a_reader_that_knows_nothing_is_too_weak(probe):
    with reading(knows_nothing) as server:
        done = probe(*at(server.url))
    assert lines_with(done.out, "too weak") == snapshot("""\
Reader too weak: with the fact it recalls 0 points more than without it, and 20 are
needed. Its answers say nothing about strategies.\
""")
    assert data(probe(*JSON))["too_weak"]


def test_what_was_recorded_replays_to_the_byte_without_the_server(probe):
    more = ("--judge", "gpt-5-mini", "--draws", 2, "--summarizer")
    with reading(finds(session())) as server:
        asked = probe(*at(server.url), *JSON, *more, LLM.format(f", base_url='{server.url}/v1'"))
        count = len(server.asked)
    assert (asked.code, count > 0) == (0, True)
    assert f"asked for {count} new answers" in asked.err
    before = files(Path("answers"))
    again = probe(*JSON, *more, LLM.format(""))
    assert (again.code, again.out, again.err) == (0, asked.out, "")
    for form in ("table", "csv", "md"):
        shown = probe("--format", form, *more, LLM.format(""))
        assert (shown.code, shown.err) == (0, "")
    assert files(Path("answers")) == before


def test_the_same_answers_come_when_several_are_asked_for_at_once(probe):
    with reading(finds(session())) as server:
        one = probe(*at(server.url), *JSON)
        other = probe(*at(server.url), *JSON, "--jobs", 2, "--answers", "others")
    assert one.out == other.out


def test_a_judge_accepts_what_does_not_match_and_its_agreement_is_reported(probe):
    def accepts_all(body: dict[str, Any]) -> str:
        return "yes" if "Given answer: " in body["messages"][-1]["content"] else "the usual"

    with reading(accepts_all) as server:
        found = data(probe(*at(server.url), "--judge", "gpt-5-mini", *JSON))
    assert {group["compacted"]["value"] for group in found["by_strategy"]} == {1.0}
    agreement = found["agreement"]
    assert (agreement["share"], agreement["matching"], agreement["unclear"]) == (0.0, 0, 0)
    # It accepts as much without the fact as with it, so that nothing is shown.
    assert (found["sensitivity"]["value"], found["too_weak"]) == (0.0, True)


def test_a_reader_with_little_room_reads_the_newest_alone(probe):
    with reading(finds(session())) as server:
        found = data(probe(*at(server.url), *JSON, "--reader-window", 1500))
        longest = max(len(json.dumps(body["messages"])) for body in server.asked)
    assert found["by_strategy"][0]["full"]["value"] < 1
    assert {"full", "without"} <= {each["condition"] for each in found["answers"] if each["cut"]}
    assert longest < 1500 * 8


def test_csv_has_a_row_for_each_answer(probe):
    with reading(finds(session())) as server:
        done = probe(*at(server.url), "--draws", 2, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert len(rows) == 3 * 2 * 4 * 2
    assert {row["recalled"] for row in rows if row["condition"] == "without"} == {"0"}
    assert {row["recalled"] for row in rows if row["condition"] == "restated"} == {"1"}


def test_answers_that_broke_off_are_counted(probe, monkeypatch):
    from tests.llm import server as shapes

    whole = shapes._completion

    def cut(*about: Any) -> dict[str, Any]:
        body = whole(*about)
        body["choices"][0]["finish_reason"] = "length"
        return body

    monkeypatch.setattr(shapes, "_completion", cut)
    with reading(knows_nothing) as server:
        done = probe(*at(server.url), "--max-tokens", 5)
        assert {body["max_tokens"] for body in server.asked} == {5}
    assert lines_with(done.out, "100% of") == snapshot("""\
100% of the answers broke off at their longest: --max-tokens allows more, which a model
that thinks first needs.\
""")


# What is asked for, and for how much.


def test_a_dry_run_asks_nobody_and_says_how_many_answers_and_dollars_at_most(probe, tmp_path):
    with reading(finds(session())) as server:
        writer = LLM.format(f", base_url='{server.url}/v1'")
        more = ("--judge", "gpt-5-mini", "--summarizer", writer, "--strategies", "claude_code")
        before = probe(*at(server.url), *more, "--dry-run")
        assert (before.code, server.asked, [*tmp_path.iterdir()]) == (0, [], [])
        asked = probe(*at(server.url), *more)
        count = len(server.asked)
        after = probe(*more, "--dry-run")
    words = before.out.split()
    most = float(words[words.index("most", words.index("USD,")) - 3])
    spent = float(asked.err.split(" USD")[0].split()[-1])
    assert 0 < count <= int(words[3])
    assert "computed with summaries by calibrated" in before.out
    assert 0 < spent <= most
    assert after.out == snapshot("would ask for 0 answers not yet recorded\n")


def test_a_budget_ends_the_asking_and_a_larger_one_goes_on(probe):
    with reading(finds(session())) as server:
        short = probe(*at(server.url), "--budget", 0.005)
        count = len(server.asked)
        assert (short.code, "the budget is 0.005 USD" in short.err.replace("\n", " ")) == (2, True)
        assert short.out == ""
        assert probe(*at(server.url), "--budget", 5).code == 0
    assert 0 < count < len(server.asked)


def test_what_is_not_recorded_ends_it_and_says_how_to_record_it(probe, tmp_path):
    done = probe()
    assert done.code == 2
    assert "add --ask record" in done.err.replace("\n", " ")
    assert (done.out, [*tmp_path.iterdir()]) == ("", [])


BAD = [
    ["--ask", "record"],
    ["--ask", "refuse"],
    ["--draws", "0"],
    ["--temperature", "3"],
    ["--strategies", "keep_al"],
    ["--what", "next-action", "--judge", "gpt-5-mini"],
    ["--summarizer", "lexrnk"],
    ["no/such/file.jsonl"],
]


def test_bad_input_is_refused_and_nothing_is_written(probe, tmp_path, golden):
    golden("faults/probe.txt", endings(probe, BAD, tmp_path))
    assert [*tmp_path.iterdir()] == []


def test_a_bad_recording_is_refused_by_its_line(probe, tmp_path):
    (tmp_path / "answers").mkdir()
    (tmp_path / "answers" / "gpt-5-mini.jsonl").write_text("{}\n")
    done = probe()
    assert done.told(tmp_path) == snapshot("""\
2
compactlab: answers/gpt-5-mini.jsonl:1: is not a recorded answer: Object missing required field
`key`\
""")
