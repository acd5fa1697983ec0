"""The command line scores what some other product made of a conversation."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

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


def test_the_example_in_the_documents_says_what_they_say(
    root: Path, tmp_path: Path, compactlab: Run
) -> None:
    (original, facts, compacted), shown = example(root, tmp_path)
    told = compactlab("score", original, compacted, "--facts", facts)
    assert (told.code, told.err, told.out) == (0, "", shown)


def test_json_has_every_fact(files: list[Path], compactlab: Run) -> None:
    original, facts, compacted = files
    told = compactlab("score", original, compacted, "--facts", facts, "--format", "json")
    data = json.loads(told.out)
    assert {fact["fact"]: (fact["state"], fact["where"]) for fact in data["facts"]} == {
        "where": ("intact", ["compacted:1"]),
        "ban": ("lost", []),
        "build": ("retrievable", ["m2", "compacted:3"]),
        "nine": ("intact", ["compacted:1"]),
    }
    assert (data["provenance"], data["labels"], data["needs"]) == (
        "inferred",
        "given",
        "after the end",
    )
    assert 0 < data["aligned"] < 1
    assert data["figures"]["amnesia_need"] == 0.5
    assert data["states"]["decision"]["intact"] == 1


def test_markdown_has_the_same_tables(files: list[Path], compactlab: Run) -> None:
    original, facts, compacted = files
    told = compactlab("score", original, compacted, "--facts", facts, "--format", "markdown")
    assert told.code == 0
    assert "| decision | 1 | 0 | 0 | 1 | 0 | 0 | 0 | 0 | 0 | 0 | 0% |" in told.out
    assert told.out.startswith("### `original`\n")


def test_facts_are_written_as_rows(files: list[Path], tmp_path: Path, compactlab: Run) -> None:
    original, facts, compacted = files
    out = tmp_path / "found.csv"
    assert compactlab("score", original, compacted, "--facts", facts, "--facts-out", out).code == 0
    rows = list(csv.DictReader(out.read_text("utf-8").splitlines()))
    assert [row["fact"] for row in rows] == ["where", "ban", "build", "nine"]
    assert rows[2]["where"] == "m2 compacted:3"


def test_plain_text_will_do(files: list[Path], tmp_path: Path, compactlab: Run) -> None:
    original, facts, _ = files
    text = tmp_path / "summary.md"
    text.write_text("# So far\n\nDeploy to eu-west-3, never push to main; limit of retries 9.\n")
    told = compactlab("score", original, text, "--facts", facts, "--format", "json")
    states = {fact["fact"]: fact["state"] for fact in json.loads(told.out)["facts"]}
    assert states == {"where": "intact", "ban": "intact", "build": "lost", "nine": "intact"}


def test_provenance_that_is_declared_is_told_apart(
    files: list[Path], tmp_path: Path, compactlab: Run
) -> None:
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
    assert "provenance declared: the context names" in told.out
    part["sources"] = [{"id": "m99"}]
    native.write_text("".join(json.dumps(line) + "\n" for line in lines))
    told = compactlab("score", original, native)
    assert (told.code, told.out) == (2, "")
    assert "declared.jsonl: unknown message of the original 'm99'" in told.err


def test_facts_without_literal_text_are_named_and_left_out(
    files: list[Path], tmp_path: Path, compactlab: Run
) -> None:
    original, facts, compacted = files
    more = tmp_path / "more.jsonl"
    odd = {"id": "mood", "value": "in a good mood"}, {"id": "bare", "value": "", "origin": "m1"}
    more.write_text(facts.read_text("utf-8") + "".join(json.dumps(each) + "\n" for each in odd))
    told = compactlab("score", original, compacted, "--facts", more)
    assert told.code == 0
    assert "left out, as no message says them in words: 2 facts (mood and bare)\n" in told.out
    told = compactlab("score", original, compacted, "--facts", more, "--format", "json")
    data = json.loads(told.out)
    assert (data["facts_left_out"], len(data["facts"])) == (["mood", "bare"], 4)


def test_where_no_fact_has_literal_text_it_stops(
    files: list[Path], tmp_path: Path, compactlab: Run
) -> None:
    original, _, compacted = files
    none = tmp_path / "none.jsonl"
    none.write_text('{"value": "in a good mood"}\n')
    told = compactlab("score", original, compacted, "--facts", none)
    assert (told.code, told.out) == (2, "")
    assert "no message of the conversation says any of its facts" in told.err


def test_without_facts_they_are_inferred_and_the_output_says_so(
    files: list[Path], compactlab: Run
) -> None:
    original, _, compacted = files
    told = compactlab("score", original, compacted)
    assert "facts inferred: what the recorded actions use later; 1 fact due" in told.out


def test_a_scenario_can_be_scored_too(files: list[Path], compactlab: Run) -> None:
    told = compactlab("score", "coding_agent(turns=6, tokens=8000)", files[2], "--format", "json")
    data = json.loads(told.out)
    assert (told.code, data["labels"]) == (0, "given")
    assert data["figures"]["amnesia"] == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("no.jsonl", "compacted.jsonl"), "no.jsonl"),
        (("original.jsonl", "no.jsonl"), "no.jsonl: No such file"),
        (("original.jsonl", "bad.json"), "bad.json"),
        (("original.jsonl", "compacted.jsonl", "--facts", "no.jsonl"), "no.jsonl: No such file"),
        (
            ("original.jsonl", "compacted.jsonl", "--facts", "wrong.jsonl"),
            "wrong.jsonl: no message",
        ),
        (("original.jsonl", "compacted.jsonl", "--model", "claude-sonet-4-5"), "did you mean"),
        (
            ("original.jsonl", "compacted.jsonl", "--facts-out", "no/such/folder.csv"),
            "cannot write",
        ),
        (
            ("original.jsonl", "compacted.jsonl", "--conversation", "other"),
            "unknown conversation 'other'",
        ),
        (("original.jsonl",), "Missing argument"),
    ],
)
def test_what_is_wrong_is_said(
    files: list[Path],
    arguments: tuple[str, ...],
    said: str,
    compactlab: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(files[0].parent)
    Path("bad.json").write_text('{"role": "user", "content": ')
    Path("wrong.jsonl").write_text('{"value": "nowhere"}\n')
    told = compactlab("score", *arguments)
    assert (told.code, told.out) == (2, "")
    assert said in told.err


def test_foreign_text_has_no_power(files: list[Path], tmp_path: Path, compactlab: Run) -> None:
    original, _, compacted = files
    facts, out = tmp_path / "odd.jsonl", tmp_path / "out.csv"
    plain = {"id": "=1+1", "key": "\x1b[31m", "value": "eu-west-3", "origin": "m1"}
    facts.write_text(json.dumps(plain) + "\n")
    told = compactlab("score", original, compacted, "--facts", facts, "--facts-out", out)
    assert told.code == 0
    assert "\x1b" not in told.out + out.read_text("utf-8")
    assert "\n'=1+1," in out.read_text("utf-8")
