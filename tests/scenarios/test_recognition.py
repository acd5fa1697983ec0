"""A file is of one format or of none: whose it is does not hang on the order of asking."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compactlab.scenarios.readers import jsonl
from compactlab.scenarios.readers import transcript as transcripts
from compactlab.scenarios.readers.refused import REFUSED, refusal
from compactlab.sim.core.errors import InputError
from tests.corpus.stories import FULL, MARKED, records_of

Transcript = Callable[..., Path]
Record = dict[str, Any]

NOON = "2026-01-01T12:00:00.000Z"


def text(words: str) -> Record:
    return {"type": "text", "text": words}


def write(path: Path, records: list[Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def claimed(path: Path) -> list[str]:
    """The formats that take a file for theirs."""
    first = jsonl.peek(path)
    return [each.name for each in transcripts.FORMATS if each.sniff(first)]


# What other clients write, in a few lines each, and pieces of sessions.
REFUSED_FILES = records_of("refused")
# The same clients, where they write otherwise.
OTHERWISE: list[tuple[str, Any]] = [
    ("Cursor", {"sqlite": {"cursorDiskKV": ["key", "value"]}}),
    ("Goose", {"sqlite": {"messages": ["id", "session_id", "content_json"]}}),
    ("Goose", {"id": "s", "working_dir": "/srv", "conversation": []}),
    ("OpenAI's Responses API", {"id": "resp_1", "object": "response", "output": []}),
    ("OpenAI's Responses API", {"type": "response.completed", "response": {}}),
    ("OpenAI's Responses API", {"request": {}, "response": {"object": "response"}}),
    ("a chat of VS Code", {"kind": 0, "v": {"requests": []}}),
]


@pytest.mark.parametrize(
    ("files", "format"), [(files, format) for files in (MARKED, FULL) for format in files]
)
def test_exactly_one_format_claims_a_good_file(
    files: dict[str, list[Any]], format: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "story.jsonl", files[format])
    assert claimed(path) == [format]
    if len(files[format]) == 1:
        document = tmp_path / "story.json"
        document.write_text(json.dumps(files[format][0], indent=1))
        assert claimed(document) == [format]


@pytest.mark.parametrize("name", REFUSED_FILES)
def test_what_is_refused_by_its_name_is_claimed_by_nobody(name: str, tmp_path: Path) -> None:
    path = write(tmp_path / "story.jsonl", REFUSED_FILES[name])
    assert claimed(path) == []
    assert transcripts.find([tmp_path]) == ([], 1)


def test_every_client_that_is_named_is_tried() -> None:
    assert {one.client for one in REFUSED} <= set(REFUSED_FILES)


@pytest.mark.parametrize(("client", "value"), OTHERWISE)
def test_a_client_is_known_by_each_of_its_files(client: str, value: Any) -> None:
    refused = refusal([value])
    assert refused is not None
    assert refused.client == client


def test_what_nobody_knows_is_told_by_its_keys(transcript: Transcript) -> None:
    path = transcript({"utterance": "hi", "who": "me"}, {"utterance": "ho"})
    with pytest.raises(InputError, match=r"it begins with utterance, who; .*; known formats"):
        transcripts.read(path)


def test_a_chat_with_a_stranger_in_it_is_one_and_strangers_with_a_chat_are_none(
    transcript: Transcript,
) -> None:
    hello = {"role": "user", "content": "hello"}
    assert claimed(transcript(hello, {"event": "turn ended"})) == ["openai-chat"]
    assert claimed(transcript(hello, *[{"event": "turn ended"}] * 3)) == []


def test_a_conversation_without_a_word_says_what_was_seen(transcript: Transcript) -> None:
    opaque = [{"type": "redacted_thinking", "data": "gAAA"}]
    path = transcript(*[{"role": "assistant", "content": content} for content in (opaque, "")])
    with pytest.raises(InputError) as caught:
        list(transcripts.read(path))
    assert caught.value.message == (
        "2 messages without any text: 2 assistant; in them 1 redacted_thinking"
    )


# The files beside the checkout


# The format that may claim the examples of a client; none of those that are not read.
SHARED = {
    "claude": "claude-code",
    "codex": "codex",
    "copilot": "copilot",
    "gemini": "gemini",
    "openclaw": "pi",
    "qwen": "qwen",
    "pi": "pi",
    "opencode": "opencode",
    **dict.fromkeys(("antigravity", "cursor", "droid", "grok"), "none"),
    "hermes": "hermes",
    "kimi": "kimi",
}


# What Gemini CLI shows to the user and not to the model (docs/formats.md).
TO_THE_USER = ("info", "warning", "error")
SAID = ("text", "thinking", "content")
UNSENT = ("data", "codex_reasoning_items")  # what docs/formats.md says is left out


def words(value: Any) -> set[str]:
    """What is said in the lines of a file, as far as all these formats agree on its names."""
    if isinstance(value, list):
        return set[str]().union(*map(words, value))
    if not isinstance(value, dict) or value.get("role") == "system":
        return set()
    if value.get("type") in TO_THE_USER:
        return set()
    said = {
        value[key] for key in ("text", "thinking", "content") if isinstance(value.get(key), str)
    }
    return said.union(*(words(inner) for key, inner in value.items() if key not in UNSENT))


@pytest.mark.parametrize("client", SHARED)
def test_the_examples_of_a_client_are_read_rightly_or_refused(shared: Path, client: str) -> None:
    files = [path for path in (shared / "formats" / client).rglob("*") if path.is_file()]
    if not files:
        pytest.skip("the examples of other clients are not beside the checkout")
    for path in files:
        try:
            formats = claimed(path)
            conversations = list(transcripts.read(path))
        except InputError:
            continue
        assert formats == [SHARED[client]] == list({each.format for each in conversations})
        told = ""
        for conversation in conversations:
            answered = any(message.role == "assistant" for message in conversation.messages)
            assert answered == bool(conversation.calls)  # one was stopped before it answered
            inserted = (m for event in conversation.compactions for m in event.inserted)
            told += "\n".join(m.text for m in (*conversation.messages, *inserted))
        lines = [value for _, value in jsonl.values(jsonl.Lines(path))]
        # What is said in the arguments of a tool is there as JSON.
        spellings = [(word.strip(), json.dumps(word.strip())[1:-1]) for word in words(lines)]
        left = [plain for plain, quoted in spellings if plain not in told and quoted not in told]
        passed = [each for conversation in conversations for each in conversation.passed_over]
        assert sum(map(len, left)) <= sum(each.characters for each in passed), path


@pytest.mark.parametrize("folder", ["recorded", "recorded-more", "formats"])
def test_no_file_is_claimed_twice(shared: Path, folder: str) -> None:
    files = [path for path in (shared / folder).rglob("*.json*") if path.is_file()]
    if not files:
        pytest.skip("these files are not beside the checkout")
    for path in files:
        try:
            assert len(claimed(path)) <= 1, path
        except InputError:
            assert folder == "formats"
