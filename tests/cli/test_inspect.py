"""`compactlab inspect`: what a transcript is."""

from __future__ import annotations

import json

import pytest


def test_it_says_what_a_transcript_is(compactlab, chat, tmp_path):
    done = compactlab("inspect", chat(tmp_path / "talk.jsonl"))
    lines = [line.split(maxsplit=1) for line in done.out.splitlines()]
    assert (done.code, done.err) == (0, "")
    assert lines[0] == ["talk"]
    assert ["format", "openai-chat"] in lines
    assert ["calls", "4 in 3 turns, 8 messages"] in lines
    assert ["compactions", "none"] in lines
    assert ["cost", "no price"] in lines


def test_all_figures_come_as_json(compactlab, chat, tmp_path):
    (figures,) = json.loads(compactlab("inspect", "--json", chat(tmp_path / "talk.jsonl")).out)
    assert (figures["conversation"], figures["format"]) == ("talk", "openai-chat")
    assert (figures["calls"], figures["turns"], figures["messages"]) == (4, 3, 8)
    assert figures["tokens_by_tool"].keys() == {"read"}
    assert figures["usage"] == {} or set(figures["usage"].values()) == {0}


def test_a_scenario_may_stand_for_a_path(compactlab):
    done = compactlab("inspect", "--json", "coding_agent(turns=2, tokens=2000)")
    (figures,) = json.loads(done.out)
    assert (done.code, figures["turns"]) == (0, 2)


def test_a_folder_is_inspected_file_by_file(compactlab, chat, tmp_path):
    for name in ("b", "a"):
        chat(tmp_path / "talks" / f"{name}.jsonl")
    (tmp_path / "talks" / "notes.txt").write_text("nothing")
    done = compactlab("inspect", "--json", tmp_path / "talks")
    assert [figures["conversation"] for figures in json.loads(done.out)] == ["a", "b"]
    assert "1 files of no known format were passed over" in done.err


def test_one_bad_transcript_among_good_ones_is_named(compactlab, chat, bad, tmp_path):
    chat(tmp_path / "talks" / "a.jsonl")
    file = bad(tmp_path / "talks" / "b.jsonl")
    done = compactlab("inspect", "--json", tmp_path / "talks")
    assert (done.code, len(json.loads(done.out))) == (1, 1)
    assert f"{file}:3: not JSON" in done.err


def test_a_bad_transcript_alone_ends_with_2(compactlab, bad, tmp_path):
    assert compactlab("inspect", bad(tmp_path / "bad.jsonl")).code == 2


def test_its_broken_lines_may_be_passed_over(compactlab, bad, tmp_path):
    done = compactlab("inspect", "--lenient", bad(tmp_path / "bad.jsonl"))
    assert done.code == 0
    assert "lines passed over  1" in done.out


@pytest.mark.parametrize("name", ["no/such.jsonl", "keep_all"])
def test_what_is_not_there_is_named(compactlab, name):
    done = compactlab("inspect", name)
    assert (done.code, done.out) == (2, "")
    assert name in done.err


def test_a_tool_cannot_write_lines_of_its_own(compactlab, chat, tmp_path):
    """What a transcript names is shown, not obeyed."""
    done = compactlab("inspect", chat(tmp_path / "talk.jsonl", tool="read\a\n  cost $0.00"))
    assert "\a" not in done.out
    assert not any(line.split()[:2] == ["cost", "$0.00"] for line in done.out.splitlines())
