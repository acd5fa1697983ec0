"""`compactlab inspect`: what a transcript is."""

import json
from types import SimpleNamespace
from typing import cast

import pytest
from inline_snapshot import snapshot

from compactlab.cli.inspect import _compactions
from compactlab.reports.explain.explanation import Anatomy
from tests.lines import lines_with


def test_it_says_what_a_transcript_is(compactlab, chat, tmp_path):
    file = chat(tmp_path / "talk.jsonl")
    done = compactlab("inspect", file)
    assert done.told(tmp_path) == snapshot("""\
0
talk
  format             openai-chat
  calls              4 in 3 turns, 8 messages
  models             (not named) 4
  compactions        none
  rewinds            0
  tokens by role     assistant 21, user 18, tool 6 (o200k)
  tokens by tool     read 6
  images             0
  gaps               no times recorded
  recorded input     no usage recorded
  recorded output    no usage recorded
  cost               no usage recorded
  not in the log     unknown: no usage recorded
  passed over        nothing\
""")
    (figures,) = json.loads(compactlab("inspect", "--format", "json", file).out)
    assert (figures["conversation"], figures["format"]) == ("talk", "openai-chat")
    assert (figures["calls"], figures["turns"], figures["messages"]) == (4, 3, 8)
    assert figures["tokens_by_tool"].keys() == {"read"}
    assert (figures["spent"]["calls"], figures["spent"]["by_purpose"]) == (0, [])
    assert figures["passed_over"] == []
    done = compactlab("inspect", "--format", "json", "coding_agent(turns=2, tokens=2000)")
    assert (done.code, json.loads(done.out)[0]["turns"]) == (0, 2)


def test_a_folder_is_inspected_file_by_file(compactlab, chat, tmp_path):
    for name in ("b", "a"):
        chat(tmp_path / "talks" / f"{name}.jsonl")
    (tmp_path / "talks" / "notes.txt").write_text("nothing")
    done = compactlab("inspect", "--format", "json", tmp_path / "talks")
    assert [figures["conversation"] for figures in json.loads(done.out)] == ["a", "b"]
    assert done.told(tmp_path, out=False) == snapshot("""\
0
skipped: 1 file of unknown format\
""")


def test_one_bad_transcript_among_good_ones_is_named(compactlab, chat, bad, tmp_path):
    chat(tmp_path / "talks" / "a.jsonl")
    file = bad(tmp_path / "talks" / "b.jsonl")
    done = compactlab("inspect", "--format", "json", "--strict", tmp_path / "talks")
    assert (done.code, len(json.loads(done.out))) == (1, 1)
    assert f"{file}:3: not JSON" in done.err


@pytest.mark.parametrize("more", [(), ("--lenient",)])
def test_its_broken_lines_are_passed_over_unless_told_otherwise(compactlab, bad, tmp_path, more):
    file = bad(tmp_path / "bad.jsonl")
    assert compactlab("inspect", "--strict", file).code == 2
    done = compactlab("inspect", *more, file)
    assert done.code == 0
    assert lines_with(done.out, "passed over") == snapshot(
        "passed over        1 x line that is not JSON (27 characters), in line 3"
    )
    (figures,) = json.loads(compactlab("inspect", "--format", "json", *more, file).out)
    assert figures["passed_over"] == [
        {"kind": "line that is not JSON", "count": 1, "characters": 27, "tokens": 0, "line": 3}
    ]


def test_tool_results_without_their_calls_are_named_and_refused_if_strict(compactlab, tmp_path):
    path = tmp_path / "talk.jsonl"
    lost = ({"role": "tool", "tool_call_id": id, "content": "x"} for id in ("a", "b"))
    rows = ({"role": "user", "content": "go"}, {"role": "assistant", "content": "ok"}, *lost)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    told = lines_with(compactlab("inspect", path).out, "passed over")
    assert told == snapshot("""\
passed over        2 x tool result whose call is not in the log (kept), the first in line
3\
""")
    assert compactlab("inspect", "--strict", path).told(tmp_path) == snapshot("""\
2
compactlab: talk.jsonl:3: tool result whose call is not in the log\
""")


def test_a_bad_file_among_named_ones_costs_itself_alone(compactlab, chat, bad, tmp_path):
    one, two = chat(tmp_path / "one.jsonl"), chat(tmp_path / "two.jsonl")
    (tmp_path / "notes.txt").write_text("nothing")
    wrong = ("notes.txt", "missing", "keep_all", "no/such.jsonl", bad(tmp_path / "bad.jsonl").name)
    for name in wrong:
        done = compactlab("inspect", "--strict", one, tmp_path / name, two)
        assert done.code == 2
        assert [line for line in done.out.splitlines() if line[:1].strip()] == ["one", "two"]
        assert str(tmp_path / name) in done.err
        assert compactlab("inspect", "--strict", tmp_path / name).out == ""


def recorded(tmp_path, *calls):
    """A recording: model, recorded output and words of each answer."""
    header = {"type": "conversation", "version": 1, "id": "rec"}
    lines = [header, {"type": "message", "id": "u", "role": "user", "parts": [part("go")]}]
    for number, (model, output, words) in enumerate(calls):
        call = {"model": model, "usage": {"uncached": 100, "output": output}}
        answer = {"type": "message", "id": f"a{number}", "role": "assistant", "call": call}
        lines.append({**answer, "time": 1_760_000_000.0, "parts": [part("word " * words)]})
    path = tmp_path / "rec.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def part(text):
    return {"type": "text", "text": text}


def test_what_has_a_price_is_priced_and_the_rest_counted(compactlab, tmp_path):
    path = recorded(tmp_path, ("claude-opus-4-5", 1000, 5), ("of-tomorrow", 1000, 5))
    out = compactlab("inspect", path).out
    assert lines_with(out, "at least") == snapshot(
        "cost               at least $0.026 (1 call without a price)"
    )
    (figures,) = json.loads(compactlab("inspect", "--format", "json", path).out)
    spent = figures["spent"]
    assert (spent["unpriced_calls"], round(spent["total_usd"], 4)) == (1, 0.0255)
    assert spent["at_least"] is True
    out = compactlab("inspect", recorded(tmp_path, ("of-tomorrow", 9, 5))).out
    assert lines_with(out, "no price") == snapshot(
        "cost               no price is known: write one into a file and name it with --models"
    )
    out = compactlab("inspect", recorded(tmp_path, ("gpt-5-mini", 9, 5))).out
    assert lines_with(out, "cost") == snapshot("cost               $0.000043")


def test_an_output_that_was_logged_too_early_is_counted_by_its_text(compactlab, tmp_path):
    path = recorded(tmp_path, ("claude-opus-4-5", 3, 500))
    (figures,) = json.loads(compactlab("inspect", "--format", "json", path).out)
    output, estimated = (
        figures["spent"][f"{key}_tokens"] for key in ("output", "estimated_output")
    )
    assert output == estimated + 3 > 500
    told = f"{output:,}, of which {estimated:,} are estimated: the log recorded 3, as it counted"
    assert f"recorded output    {told}" in compactlab("inspect", path).out
    done = compactlab("inspect", recorded(tmp_path, ("claude-opus-4-5", 700, 500)))
    assert "recorded output    700\n" in done.out


def test_the_bill_is_that_of_the_audit_with_what_requests_were_for(compactlab, tmp_path):
    """A recording with a compaction, an advisor's answer, and a record that nobody knows."""
    path = recorded(tmp_path, ("claude-opus-4-5", 1000, 5))
    call = {"model": "claude-opus-4-5", "usage": {"uncached": 1000, "output": 400}}
    head, *records = map(json.loads, path.read_text().splitlines())
    head["side_requests"] = [{"purpose": "advisor", "call": call, "time": 1_760_000_000.0}]
    records.append({"type": "compaction", "inserted": [], "call": call})
    records.append({"type": "poem", "usage": {"input_tokens": 9}, "text": "o rose"})
    path.write_text("".join(json.dumps(record) + "\n" for record in (head, *records)))
    (figures,) = json.loads(compactlab("inspect", "--format", "json", path).out)
    audited = json.loads(compactlab("audit", "--sums", "--format", "json", path).out)["spent"]
    assert figures["spent"]["by_purpose"] == audited["by_purpose"]
    assert {key: audited[key] for key in figures["spent"]} == figures["spent"]
    out = compactlab("inspect", path).out
    cost = next(line for line in out.splitlines() if line.startswith("  cost "))
    assert cost == snapshot(
        "  cost               at least $0.056 (answer $0.026, advisor $0.015, compaction $0.015)"
    )


def test_a_tool_cannot_write_lines_of_its_own(compactlab, chat, tmp_path):
    """What a transcript names is shown, not obeyed."""
    done = compactlab("inspect", chat(tmp_path / "talk.jsonl", tool="read\a\n  cost $0.00"))
    assert "\a" not in done.out
    assert not any(line.split()[:2] == ["cost", "$0.00"] for line in done.out.splitlines())


@pytest.mark.parametrize(
    ("sizes", "told"),
    [
        (range(1000, 1020), "20 (tokens before: 1,000, 1,001, 1,002, 1,003, 1,004, 1,005, 1,006, "
         "1,007 and 12 more)"),
        ((0, 0), "2 (tokens before: not recorded)"),
        ((9000, 0), "2 (tokens before: 9,000, ?)"),
    ],
)  # fmt: skip
def test_a_few_compactions_are_told_and_no_size_that_is_not_logged(sizes, told):
    assert _compactions(cast(Anatomy, SimpleNamespace(compactions=tuple(sizes)))) == told


UNANSWERED = '{"role": "user", "content": "hello"}\n'


def test_a_conversation_without_calls_is_an_error_that_says_what_was_seen(compactlab, tmp_path):
    path = tmp_path / "talk.jsonl"
    path.write_text(UNANSWERED)
    told = f"{path}: there is no call in it, only messages: 1 user"
    for command in (("inspect",), ("explain", "--strategies", "keep_all")):
        done = compactlab(*command, path)
        assert (done.code, done.out) == (2, "")
        assert told in done.err
    assert compactlab("audit", path).code == 2


def test_in_a_folder_it_costs_itself_alone(compactlab, chat, tmp_path):
    chat(tmp_path / "talks" / "a.jsonl")
    (tmp_path / "talks" / "b.jsonl").write_text(UNANSWERED)
    done = compactlab("inspect", "--format", "json", tmp_path / "talks")
    assert (done.code, len(json.loads(done.out))) == (1, 1)
    assert done.told(tmp_path, out=False) == snapshot("""\
1
compactlab: talks/b.jsonl: there is no call in it, only messages: 1 user\
""")
    run = ("run", "--conversations", tmp_path / "talks", "--strategies", "keep_all")
    done = compactlab(*run, "--model", "claude-opus-5", "-o", tmp_path / "out")
    assert done.code == 1
    assert "b, (unreadable)" in done.said


def test_a_file_with_one_call_in_it_may_have_talks_without_any(compactlab, tmp_path):
    path = tmp_path / "talks.jsonl"
    answer = {"role": "assistant", "content": "ho"}
    talks = [[json.loads(UNANSWERED)], [json.loads(UNANSWERED), answer]]
    path.write_text("".join(json.dumps(talk) + "\n" for talk in talks))
    figures = json.loads(compactlab("inspect", "--format", "json", path).out)
    assert [each["calls"] for each in figures] == [0, 1]


def test_a_transcript_of_a_client_that_is_not_read_is_refused_by_name(compactlab, tmp_path):
    path = tmp_path / "chat.jsonl"
    said = {"role": "user", "message": {"content": [part("List the files.")]}}
    path.write_text(json.dumps(said) + "\n")
    for command in (
        ("inspect",),
        ("audit",),
        ("run", "--strategies", "keep_all", "--conversations"),
    ):
        done = compactlab(*command, path)
        assert done.code == 2
        assert "this looks like a transcript of Cursor, which is not read" in done.err


def test_a_folder_of_a_client_that_is_not_read_has_the_advice_of_its_files(compactlab, tmp_path):
    (tmp_path / "goose").mkdir()
    session = {"working_dir": "/srv", "message_count": 2}
    (tmp_path / "goose" / "a.jsonl").write_text(json.dumps(session) + "\n")
    assert compactlab("inspect", tmp_path / "goose").told(tmp_path) == snapshot("""\
2
compactlab: there is nothing to inspect: no transcript was found in goose, only 1 file of
unknown format; not read: Goose: write its messages as those of OpenAI's Chat Completions, a
line each (docs/formats.md#openai-chat)\
""")
