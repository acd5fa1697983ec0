"""Finding transcripts, and telling their formats apart."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from compactlab.scenarios.catalogue import sources
from compactlab.scenarios.readers import transcript as transcripts
from compactlab.sim.core.errors import InputError
from tests.lines import refusal

Transcript = Callable[..., Path]

HELLO = {"role": "user", "content": "hello"}


def test_every_format_is_named_and_described() -> None:
    names = [each.name for each in transcripts.FORMATS]
    assert len(set(names)) == len(names)
    assert all(each.description for each in transcripts.FORMATS)


def test_the_name_of_a_file_means_nothing(transcript: Transcript) -> None:
    (conversation,) = transcripts.read(transcript(HELLO, name="picture.png"))
    assert conversation.format == "openai-chat"
    assert conversation.id == "picture"


@pytest.mark.parametrize("content", ["# A poem\n", "{}", "[]", "[1, 2]", '{"name": "x"}', "5"])
def test_what_is_no_transcript_is_refused_by_name_only(tmp_path: Path, content: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(content)
    with pytest.raises(InputError, match=r"other\.json"):
        transcripts.read(path)
    with pytest.raises(InputError, match=r"other\.json"):
        transcripts.find([path])
    assert transcripts.find([tmp_path]) == ([], 1)


def test_a_text_that_quotes_a_transcript_is_none(tmp_path: Path) -> None:
    page, quoted = tmp_path / "formats.md", json.dumps(HELLO)
    page.write_text(f"# Formats\n\nWrite a message a line:\n\n```jsonl\n{quoted}\n{quoted}\n```\n")
    assert transcripts.find([tmp_path]) == ([], 1)
    with pytest.raises(InputError, match=r"formats\.md:1: not JSON"):
        transcripts.read(page)


def test_a_transcript_with_a_word_in_it_that_is_none_of_its_lines_stays_one(tmp_path: Path) -> None:
    path, said = tmp_path / "talk.jsonl", json.dumps(HELLO)
    path.write_text(f"started\n{said}\n{said[:-1]}\n{said}\n")
    (conversation,) = transcripts.read(path)
    assert len(conversation.messages) == 2
    assert [(each.kind, each.count) for each in conversation.passed_over] == [
        ("line that is not JSON", 2)
    ]
    with pytest.raises(InputError, match=r"talk\.jsonl:1: not JSON"):
        list(transcripts.read(path, strict=True))


def test_an_unknown_format_is_told_the_known_ones(tmp_path: Path) -> None:
    path = tmp_path / "package.json"
    path.write_text('{"name": "x"}')
    with pytest.raises(InputError, match="native, claude-code, claude-stream-json"):
        transcripts.read(path)


def test_whoever_names_a_plain_text_is_told_the_known_formats_too(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello\n")
    known = r"notes\.txt:1: not JSON.*of these formats: native, claude-code"
    with pytest.raises(InputError, match=known):
        transcripts.read(path)


def test_a_folder_is_searched_in_order(transcript: Transcript, tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    names = ["b.jsonl", "a.jsonl", "deep/er/c.jsonl"]
    written = [transcript(HELLO, name=name) for name in names]
    (tmp_path / "notes.md").write_text("# notes")
    (tmp_path / "empty.jsonl").touch()
    found, skipped = transcripts.find([tmp_path])
    assert found == [tmp_path / name for name in ("a.jsonl", "b.jsonl", "deep/er/c.jsonl")]
    assert skipped == 2
    assert transcripts.find([written[0], tmp_path])[0] == [written[0], *found[:1], found[2]]


def test_a_link_to_a_transcript_in_the_folder_is_that_transcript(
    transcript: Transcript, tmp_path: Path
) -> None:
    (tmp_path / "inside" / "deep").mkdir(parents=True)
    real = transcript(HELLO, name="inside/deep/real.jsonl")
    (tmp_path / "inside" / "a.jsonl").symlink_to(real)
    (tmp_path / "inside" / "gone.jsonl").symlink_to(tmp_path / "nowhere")
    (tmp_path / "inside" / "self.jsonl").symlink_to("self.jsonl")
    (tmp_path / "also").symlink_to(tmp_path / "inside")
    assert transcripts.find([tmp_path / "inside"]) == ([real], 2)
    found = transcripts.find([tmp_path / "also"])
    assert found == ([tmp_path / "also" / "deep" / "real.jsonl"], 2)


def test_a_link_to_a_transcript_elsewhere_is_refused_by_name(
    transcript: Transcript, tmp_path: Path
) -> None:
    """It is neither read, as nobody named it, nor passed over, as it is no other file."""
    inside = tmp_path / "inside"
    inside.mkdir()
    secret = transcript(HELLO, name="secret.jsonl")
    link = inside / "file.jsonl"
    link.symlink_to(secret)
    assert refusal(InputError, lambda: transcripts.find([inside])) == snapshot(
        "inside/file.jsonl: a link to a transcript outside of inside; name the transcript itself"
    )
    assert transcripts.find([link])[0] == [link]


def test_other_links_that_lead_out_of_a_folder_are_passed_over(
    transcript: Transcript, tmp_path: Path
) -> None:
    for name in ("outside", "inside"):
        (tmp_path / name).mkdir()
    transcript(HELLO, name="outside/secret.jsonl")
    (tmp_path / "outside" / "notes.md").write_text("# notes")
    real = transcript(HELLO, name="inside/real.jsonl")
    (tmp_path / "inside" / "folder").symlink_to(tmp_path / "outside")
    (tmp_path / "inside" / "notes").symlink_to(tmp_path / "outside" / "notes.md")
    assert transcripts.find([tmp_path / "inside"]) == ([real], 1)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert transcripts.find([tmp_path]) == ([], 1)
    assert refusal(InputError, lambda: transcripts.find([tmp_path / "pipe"])) == snapshot(
        "pipe: this is not a regular file"
    )
    assert refusal(InputError, lambda: transcripts.find([tmp_path / "missing"])) == snapshot(
        "missing: No such file or directory"
    )


def test_a_source_is_found_wherever_its_process_has_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And its errors name it as its user did, so that a store does not tell where it was made."""
    (tmp_path / "elsewhere").mkdir()
    good = '{"role": "user", "content": "hi"}\n{"role": "assistant", "content": "ho"}\n'
    (tmp_path / "good.jsonl").write_text(good)
    (tmp_path / "bad.jsonl").write_text(good + "{")
    monkeypatch.chdir(tmp_path)
    found, _ = sources(["good.jsonl", "bad.jsonl"], strict=True)
    monkeypatch.chdir(tmp_path / "elsewhere")
    read, broken = found
    (conversation,) = read.load()
    assert [message.role for message in conversation.messages] == ["user", "assistant"]
    with pytest.raises(InputError, match=r"^bad\.jsonl:3: not JSON"):
        list(broken.load())
