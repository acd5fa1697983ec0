"""Sessions of pi and OpenClaw, of all three versions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from compactlab.reports.audit.compactions import compactions_of
from compactlab.reports.explain.anatomy import anatomy
from compactlab.scenarios.readers import native
from compactlab.scenarios.readers import transcript as transcripts
from compactlab.scenarios.readers.jsonl import Lines
from compactlab.scenarios.readers.pi import conversation_of
from compactlab.sim.core.conversation import Conversation, Rewind
from compactlab.sim.replay.options import Options
from compactlab.sim.replay.recording import exchanges
from compactlab.sim.replay.replay import record
from compactlab.sim.replay.sizes import Unseen
from compactlab.strategies.controls import AsRecorded

Transcript = Callable[..., Path]
Record = dict[str, Any]

HEADER_1 = {"type": "session", "id": "s", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/"}
HEADER_3 = {**HEADER_1, "version": 3}
USAGE = {"input": 4, "output": 9, "cacheRead": 100, "cacheWrite": 20, "cost": {"total": 0.1}}


def entry(type: str, second: int = 0, **more: Any) -> Record:
    return {"type": type, "timestamp": f"2026-01-01T00:00:{second:02}.000Z", **more}


def user(words: str, second: int = 0, **tree: Any) -> Record:
    return entry("message", second, message={"role": "user", "content": words}, **tree)


def assistant(*blocks: Record, second: int = 0, usage: Any = USAGE, **tree: Any) -> Record:
    said = {"role": "assistant", "content": list(blocks), "model": "claude-x", "usage": usage}
    return entry("message", second, message=said, **tree)


def text(words: str) -> Record:
    return {"type": "text", "text": words}


def hang(entry: Record, id: str, parent: str | None) -> Record:
    return {**entry, "id": id, "parentId": parent}


def read(path: Path, strict: bool = False) -> Conversation:
    (conversation,) = transcripts.read(path, strict=strict)
    assert conversation.format == "pi"
    return conversation


def shape(conversation: Conversation) -> list[str]:
    return [
        f"<- {event.to}" if isinstance(event, Rewind) else getattr(event, "id", "compaction")
        for event in conversation.events
    ]


def wording(conversation: Conversation) -> list[list[str]]:
    """The words of each request, as the session was recorded."""
    trace = record(conversation, AsRecorded(), Options("claude-sonnet-4-5", overhead=Unseen()))
    return [["".join(part.text for part in m.parts) for m in prompt] for prompt in trace.prompts()]


def result(words: str, call: str = "c1") -> Record:
    content = [text(words)]
    said = {"role": "toolResult", "toolCallId": call, "toolName": "bash", "content": content}
    return entry("message", message=said)


ASKS = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}}


def test_an_edit_is_what_the_model_sees_from_then_on_and_the_script_keeps_the_words(
    transcript: Transcript,
) -> None:
    cut = [text("a.txt")]
    path = transcript(
        HEADER_3,
        hang(user("list"), "a", None),
        hang(assistant(ASKS), "b", "a"),
        hang(result("a.txt b.txt"), "c", "b"),
        hang(assistant(text("Two.")), "d", "c"),
        hang(entry("context_edit", targetId="c", replacement={"content": cut}), "e", "d"),
        hang(entry("context_edit", targetId="a", replacement=None), "f", "e"),
        hang(user("on"), "g", "f"),
        hang(assistant(text("Yes.")), "h", "g"),
    )
    conversation = read(path)
    assert shape(conversation) == ["a", "b", "c", "d", "compaction", "g", "h"]
    assert wording(conversation)[-1] == ['{"command":"ls"}', "a.txt", "Two.", "on"]
    assert conversation.messages[2].parts[0].text == "a.txt b.txt"
    (edit,) = conversation.compactions
    assert (edit.trigger, edit.kept_from, edit.call) == ("edit", "d", None)
    assert edit.inserted[0] is conversation.messages[1]
    (part,) = edit.inserted[1].parts
    assert (part.kind, part.sources[0].id, part.call_id) == ("truncated", "c", "c1")
    assert anatomy(conversation).compactions == ()
    assert compactions_of(conversation, lambda name: None) == []  # type: ignore[arg-type,return-value]


def test_what_an_edit_leaves_alone_are_the_very_messages_even_from_a_copy(
    transcript: Transcript, tmp_path: Path
) -> None:
    omits = entry("context_edit", targetId="b", replacement=None)
    path = transcript(
        HEADER_3,
        hang(user("one"), "a", None),
        hang(assistant(text("1")), "b", "a"),
        hang(omits, "c", "b"),
        hang(user("two"), "d", "c"),
        hang(assistant(text("2")), "e", "d"),
    )
    native.write(read(path), tmp_path / "copy.jsonl")
    (copy,) = transcripts.read(tmp_path / "copy.jsonl")
    *_, last = exchanges(copy)
    assert list(map(id, last.context)) == [id(copy.messages[0]), id(copy.messages[2])]


def test_the_first_system_message_is_the_prompt_and_later_ones_stand_where_they_came(
    transcript: Transcript,
) -> None:
    def system(**declares: Any) -> Record:
        return {"role": "system", "content": "", **declares}

    tools = [{"name": "bash", "description": "Runs.", "parameters": {}}]
    sections = {"preamble": "You code.", "cwd": "/a"}
    changed = system(sections={"cwd": "/b", "preamble": None}, toolsRemoved=[{"name": "bash"}])
    again = system(sections={"cwd": "/b"}, toolsAdded=[])
    kept: Record = {"summary": "S.", "firstKeptEntryId": "c", "systemMessage": again}
    path = transcript(
        HEADER_3,
        hang(entry("message", message=system(sections=sections, toolsAdded=tools)), "a", None),
        hang(user("one"), "b", "a"),
        hang(assistant(text("1")), "c", "b"),
        hang(entry("message", message=changed), "d", "c"),
        hang(user("two"), "e", "d"),
        hang(assistant(text("2")), "f", "e"),
        hang(entry("compaction", **kept), "g", "f"),
        hang(user("three"), "h", "g"),
        hang(assistant(text("3")), "i", "h"),
    )
    conversation = read(path, strict=True)
    assert [part.text for part in conversation.system[:2]] == ["You code.", "/a"]
    assert '"Runs."' in conversation.system[2].text
    second, third = wording(conversation)[1:]
    assert second[2].startswith("The section 'cwd' of the system prompt is now:\n\n/b")
    assert "'preamble' of the system prompt is gone" in second[2]
    assert second[2].endswith("These tools are gone: bash")
    assert "/b" in third[0]
    assert [words.count("/b") for words in third] == [1, 0, 0, 0, 0, 0]
    assert [m.origin for m in conversation.messages][2] == "system"


def test_openclaw_starts_anew_goes_back_and_hangs_entries_beside(transcript: Transcript) -> None:
    hidden = entry("message", message={"role": "user", "content": "no", "excludeFromContext": True})
    path = transcript(
        {**HEADER_3, "version": 4},
        hang(user("one"), "a", None),
        hang(assistant(ASKS), "b", "a"),
        hang(result("ok"), "c", "b"),
        hang({**user("aside"), "appendMode": "side"}, "s", "c"),
        hang(assistant(text("1")), "d", "s"),
        hang(user("wrong"), "e", "d"),
        hang(entry("leaf", targetId="d"), "l", "e"),
        hang(hidden, "n", "l"),
        hang(user("two"), "f", "n"),
        hang(assistant(text("2")), "g", "f"),
        hang(entry("reset", reason="new", firstKeptEntryId="c"), "r", "g"),
        hang(user("three"), "h", "r"),
        hang(assistant(text("3")), "i", "h"),
    )
    conversation = read(path, strict=True)
    told = wording(conversation)
    assert told[2] == ["one", '{"command":"ls"}', "ok", "1", "two"]
    assert told[3] == ["1", "two", "2", "three"]  # a result that nobody asked for goes, too


def test_a_session_may_come_from_elsewhere_than_a_file_of_lines(transcript: Transcript) -> None:
    path = transcript(HEADER_3, hang(user("hi"), "a", None))
    records = [(7, line) for line in path.read_bytes().splitlines()]
    conversation = conversation_of(iter(records), Lines(path), "s1")
    assert (conversation.id, shape(conversation)) == ("s1", ["a"])
