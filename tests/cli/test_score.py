"""The command line scores what some other product made of a conversation."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from tests.lines import lines_with

Run = Callable[..., Any]


def example(root: Path, folder: Path) -> tuple[list[Path], str]:
    """The files of the example in the documents, and what is said to come of them."""
    page = (root / "docs" / "facts.md").read_text("utf-8")
    blocks = re.findall(r"```jsonl\n(.*?)```", page, re.DOTALL)
    files = [folder / name for name in ("original.jsonl", "facts.jsonl", "compacted.jsonl")]
    for file, text in zip(files, blocks, strict=True):
        file.write_text(text, encoding="utf-8")
    (shown,) = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    return files, shown


@pytest.fixture
def files(root: Path, tmp_path: Path) -> list[Path]:
    return example(root, tmp_path)[0]


def test_the_example_in_the_documents_says_what_they_say(root, tmp_path, compactlab):
    (original, facts, compacted), shown = example(root, tmp_path)
    told = compactlab("score", original, compacted, "--facts", facts)
    assert (told.code, told.err, told.out) == (0, "", shown)


def test_markdown_json_and_rows_say_the_same(files, tmp_path, compactlab):
    original, facts, compacted = files
    out = tmp_path / "found.csv"
    asked = ("score", original, compacted, "--facts", facts)
    markdown = compactlab(*asked, "--format", "md").out
    assert lines_with(markdown, "| decision") == snapshot(
        "| decision | 1 | 0 | 0 | 1 | 0 | 0 | 0 | 0 | 0 | 0 | 0% |"
    )
    data = json.loads(compactlab(*asked, "--format", "json", "--facts-out", out).out)
    assert [(fact["fact"], fact["state"], *fact["where"]) for fact in data["facts"]] == snapshot(
        [
            ("where", "intact", "compacted:1"),
            ("ban", "lost"),
            ("build", "retrievable", "m2", "compacted:3"),
            ("nine", "intact", "compacted:1"),
        ]
    )
    assert [data[key] for key in ("provenance", "labels", "needs")] == snapshot(
        ["inferred", "given", "after the end"]
    )
    assert 0 < data["aligned"] < 1
    assert data["figures"]["amnesia_need"] == 0.5
    assert data["states"]["decision"]["intact"] == 1
    rows = list(csv.DictReader(out.read_text("utf-8").splitlines()))
    assert [(row["fact"], row["state"], *row["where"].split()) for row in rows] == [
        (fact["fact"], fact["state"], *fact["where"]) for fact in data["facts"]
    ]


def test_plain_text_will_do(files, tmp_path, compactlab):
    original, facts, _ = files
    text = tmp_path / "summary.md"
    text.write_text("# So far\n\nDeploy to eu-west-3, never push to main; limit of retries 9.\n")
    told = compactlab("score", original, text, "--facts", facts, "--format", "json")
    states = {fact["fact"]: fact["state"] for fact in json.loads(told.out)["facts"]}
    assert states == {"where": "intact", "ban": "intact", "build": "lost", "nine": "intact"}


def test_provenance_that_is_declared_is_told_apart(files, tmp_path, compactlab):
    original, facts, _ = files
    native = tmp_path / "declared.jsonl"
    part = {
        "type": "text",
        "kind": "summary",
        "text": "eu-west-3: deploy",
        "sources": [{"id": "m1"}],
    }
    lines = (
        {"type": "conversation", "version": 1, "id": "c"},
        {"type": "message", "id": "s", "role": "user", "parts": [part]},
    )
    native.write_text("".join(json.dumps(line) + "\n" for line in lines))
    told = compactlab("score", original, native, "--facts", facts)
    assert told.code == 0
    assert lines_with(told.out, "provenance") == snapshot(
        "provenance declared: the context names the messages that it stands for"
    )
    part["sources"] = [{"id": "m99"}]
    native.write_text("".join(json.dumps(line) + "\n" for line in lines))
    told = compactlab("score", original, native)
    assert told.told(tmp_path) == snapshot("""\
2
compactlab: declared.jsonl: unknown message of the original 'm99'; known: m1, m2, m3, m4, m5,
m6, m7, m8\
""")


def test_facts_without_literal_text_are_named_and_left_out_and_nothing_else_is_no_score(
    files, tmp_path, compactlab
):
    original, facts, compacted = files
    odd = tmp_path / "odd.jsonl"
    odd.write_text('{"id": "mood", "value": "in a good mood"}\n')
    more = tmp_path / "more.jsonl"
    bare = '{"id": "bare", "value": "", "origin": "m1"}\n'
    more.write_text(facts.read_text("utf-8") + odd.read_text("utf-8") + bare)
    told = compactlab("score", original, compacted, "--facts", more)
    assert lines_with(told.out, "mood") == snapshot(
        "left out, as no message says them in words: 2 facts (mood and bare)"
    )
    told = compactlab("score", original, compacted, "--facts", more, "--format", "json")
    data = json.loads(told.out)
    assert (data["facts_left_out"], len(data["facts"])) == (["mood", "bare"], 4)
    told = compactlab("score", original, compacted, "--facts", odd)
    assert told.told(tmp_path) == snapshot("""\
2
compactlab: odd.jsonl: no message of the conversation says any of its facts\
""")


def test_without_facts_they_are_inferred_and_a_scenario_has_its_own(files, compactlab):
    told = compactlab("score", files[0], files[2])
    assert lines_with(told.out, "inferred") == snapshot("""\
provenance inferred, not declared: 54.5% of 33 words are in the original, in equal
messages or in runs of 8 or more words
facts inferred: what the recorded actions use later; 1 fact due at the end, needed as
often as in the original\
""")
    told = compactlab("score", "coding_agent(turns=6, tokens=8000)", files[2], "--format", "json")
    data = json.loads(told.out)
    assert (told.code, data["labels"], data["figures"]["amnesia"]) == (0, "given", 1)


def test_what_is_wrong_is_said(files, compactlab, monkeypatch):
    monkeypatch.chdir(files[0].parent)
    Path("bad.json").write_text('{"role": "user", "content": ')
    Path("wrong.jsonl").write_text('{"value": "nowhere"}\n')
    both = ("original.jsonl", "compacted.jsonl")
    wrong: list[tuple[str, ...]] = [
        ("no.jsonl", "compacted.jsonl"),
        ("original.jsonl", "no.jsonl"),
        ("original.jsonl", "bad.json"),
        (*both, "--facts", "no.jsonl"),
        (*both, "--facts", "wrong.jsonl"),
        (*both, "--model", "claude-sonet-4-5"),
        (*both, "--facts-out", "no/such/folder.csv"),
        (*both, "--conversation", "other"),
        ("original.jsonl",),
    ]
    done = [compactlab("score", *arguments) for arguments in wrong]
    assert {(each.code, each.out) for each in done} == {(2, "")}
    assert [each.err.splitlines()[-1][:85] for each in done] == snapshot(
        [
            "compactlab: no.jsonl: No such file or directory",
            "compactlab: no.jsonl: No such file or directory",
            "compactlab: bad.json: not JSON: Input data was truncated",
            "compactlab: no.jsonl: No such file or directory",
            "compactlab: wrong.jsonl: no message of the conversation says any of its facts",
            "compactlab: unknown model 'claude-sonet-4-5'; did you mean claude-sonnet-4-5 or claud",
            "compactlab: cannot write 'no/such/folder.csv': No such file or directory",
            "compactlab: unknown conversation 'other'; known: original",
            "Error: Missing argument 'COMPACTED'.",
        ]
    )


def test_foreign_text_has_no_power(files, tmp_path, compactlab):
    original, _, compacted = files
    facts, out = tmp_path / "odd.jsonl", tmp_path / "out.csv"
    plain = {"id": "=1+1", "key": "\x1b[31m", "value": "eu-west-3", "origin": "m1"}
    facts.write_text(json.dumps(plain) + "\n")
    told = compactlab("score", original, compacted, "--facts", facts, "--facts-out", out)
    assert told.code == 0
    assert "\x1b" not in told.out + out.read_text("utf-8")
    assert "\n'=1+1," in out.read_text("utf-8")
