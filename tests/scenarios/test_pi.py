"""Sessions of pi and OpenClaw, of all three versions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compactlab.scenarios.readers import transcript as transcripts
from compactlab.sim.core.conversation import Conversation, Rewind
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Call, Usage

Transcript = Callable[..., Path]
Record = dict[str, Any]

HEADER_1 = {"type": "session", "id": "s", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/"}
HEADER_3 = {**HEADER_1, "version": 3}
USAGE = {"input": 4, "output": 9, "cacheRead": 100, "cacheWrite": 20, "cost": {"total": 0.1}}
NOTHING = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}


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


def read(path: Path) -> Conversation:
    (conversation,) = transcripts.read(path)
    assert conversation.format == "pi"
    return conversation


def shape(conversation: Conversation) -> list[str]:
    return [
        f"<- {event.to}" if isinstance(event, Rewind) else getattr(event, "id", "compaction")
        for event in conversation.events
    ]


def test_a_session_of_version_1(transcript: Transcript) -> None:
    call = {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a.py"}}
    result = {
        "role": "toolResult",
        "toolCallId": "c1",
        "toolName": "read",
        "content": [text("pass")],
        "isError": True,
    }
    path = transcript(
        HEADER_1,
        entry("model_change", provider="anthropic", modelId="claude-x"),
        user("hi", 1),
        assistant({"type": "thinking", "thinking": "hm"}, text("well"), call, second=5),
        entry("message", 6, message=result),
        assistant(usage=NOTHING, second=7),
        assistant(text("half an ans"), usage=NOTHING, second=8),
    )
    conversation = read(path)
    assert shape(conversation) == ["m1", "m2", "m3", "m5"]
    hi, reply, answer, aborted = conversation.messages
    assert [part.type for part in reply.parts] == ["thinking", "text", "tool_call"]
    assert reply.parts[2].text == '{"path":"a.py"}'
    assert reply.call is not None
    assert reply.call.usage == Usage(4, 100, 20, 0, output=9)
    assert (reply.call.model, reply.call.ttl) == ("claude-x", "")
    assert reply.time - hi.time == 4
    assert (answer.role, answer.parts[0].name, answer.parts[0].is_error) == ("tool", "read", True)
    assert aborted.call is None


def test_version_1_counts_all_lines_for_what_is_kept(transcript: Transcript) -> None:
    path = transcript(
        HEADER_1,
        user("one"),
        assistant(text("1")),
        entry("thinking_level_change", thinkingLevel="off"),
        user("two"),
        entry("compaction", 9, summary="One.", firstKeptEntryIndex=3, tokensBefore=5000),
        assistant(text("2")),
    )
    conversation = read(path)
    assert shape(conversation) == ["m1", "m2", "m3", "compaction", "m5"]
    (compaction,) = conversation.compactions
    assert (compaction.kept_from, compaction.tokens_before) == ("m3", 5000)
    lead, summary, end = compaction.inserted[0].parts
    assert (summary.kind, summary.text) == ("summary", "One.")
    assert lead.text.endswith("<summary>\n")
    assert (end.text, end.kind, end.name) == ("\n</summary>", "synthetic", "frame")
    assert [source.id for source in summary.sources] == ["m1", "m2"]


def test_what_users_and_extensions_add_is_meta(transcript: Transcript) -> None:
    shell = {"role": "bashExecution", "command": "make", "output": "boom", "exitCode": 2}
    path = transcript(
        {**HEADER_1, "version": 2},
        entry("message", message=shell),
        entry("message", message={**shell, "excludeFromContext": True}),
        entry("message", message={"role": "hookMessage", "content": "from a hook"}),
        entry("message", message={"role": "custom", "content": [text("from an extension")]}),
        entry("message", message={"role": "system", "content": "not sent"}),
        entry("custom_message", content="more"),
        entry("custom", customType="openclaw.cache-ttl", data={}),
        user("hi"),
    )
    conversation = read(path)
    ran, *others = ("".join(p.text for p in m.parts) for m in conversation.messages)
    assert ran == "Ran `make`\n```\nboom\n```\n\nCommand exited with code 2"
    assert others == ["from a hook", "from an extension", "more", "hi"]
    assert conversation.turns == 1
    assert [m.origin for m in conversation.messages] == ["bashExecution", *["custom"] * 3, ""]


def test_the_tree_of_version_3(transcript: Transcript) -> None:
    branch = entry("branch_summary", summary="It failed.", fromId="e")
    path = transcript(
        HEADER_3,
        hang(user("one"), "a", None),
        hang(assistant(text("1")), "b", "a"),
        hang(entry("model_change", modelId="y"), "c", "b"),
        hang(user("two"), "d", "c"),
        hang(assistant(text("2")), "e", "d"),
        hang(branch, "f", "b"),
        hang(user("two again"), "g", "f"),
        hang(user("back on the first branch"), "h", "e"),
        hang(user("from the start"), "i", None),
    )
    conversation = read(path)
    assert "|".join(shape(conversation)) == "a|b|d|e|<- b|f|g|<- e|h|<- |i"
    summary = next(message for message in conversation.messages if message.id == "f")
    assert summary.meta
    assert "It failed." in summary.text


def test_an_entry_that_undoes_a_compaction_is_a_rewind(transcript: Transcript) -> None:
    compaction = entry("compaction", summary="One.", firstKeptEntryId="b", tokensBefore=9)
    path = transcript(
        HEADER_3,
        hang(user("one"), "a", None),
        hang(user("two"), "b", "a"),
        hang(compaction, "c", "b"),
        hang(user("without it"), "d", "b"),
    )
    conversation = read(path)
    assert shape(conversation) == ["a", "b", "compaction", "<- b", "d"]
    assert next(conversation.compactions).kept_from == "b"


def test_a_session_cut_off_in_front_starts_inside(transcript: Transcript) -> None:
    assert read(transcript(HEADER_3, hang(user("go on"), "b", "gone"))).starts_inside
    assert not read(transcript(HEADER_3, hang(user("begin"), "a", None))).starts_inside


@pytest.mark.parametrize(
    ("records", "reason"),
    [
        ([{**HEADER_1, "version": 9}, user("hi")], ":1: sessions of version 9"),
        ([HEADER_1, HEADER_1, user("hi")], ":2: a session has one header"),
        ([HEADER_1, entry("message", message={"content": "hi"})], ":2: not as expected"),
        ([HEADER_1, assistant(usage={"input": -1})], ":2: not as expected"),
        ([HEADER_1], "no messages"),
        ([HEADER_1, entry("message", message={"role": "user"})], ":2: .* 'user' has no content"),
        ([HEADER_1, entry("message", message={"role": "wizard", "content": "hi"})], ":2: 'wizard'"),
        ([HEADER_1, entry("message")], ":2: there is no message in an entry"),
        ([HEADER_1, entry("compaction", firstKeptEntryIndex=0)], ":2: there is no summary"),
        ([HEADER_1, entry("compact", summary="hi")], ":2: an entry of type 'compact' is not known"),
        ([HEADER_3, hang(user("hi"), "a", "a")], ":2: 'a' hangs from 'a'"),
        ([HEADER_3, hang(user("1"), "a", "b"), hang(user("2"), "b", "a")], ":3: 'b' hangs from"),
    ],
)
def test_what_is_wrong_is_named(transcript: Transcript, records: list[Record], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        read(transcript(*records))


def test_a_summary_that_is_a_message_is_framed_and_an_empty_one_is_not_told(
    transcript: Transcript,
) -> None:
    summary = {"role": "compactionSummary", "summary": "All is well.", "tokensBefore": 5}
    path = transcript(
        HEADER_1,
        entry("message", message=summary),
        entry("branch_summary", summary="", fromId="x"),
        entry("branch_summary", summary="A dead end.", fromId="x"),
        user("go on"),
    )
    first, second, last = read(path).messages
    assert [part.text for part in first.parts][1:] == ["All is well.", "\n</summary>"]
    assert (first.origin, second.origin, last.origin) == ("compactionSummary", "branchSummary", "")
    assert second.parts[1].text == "A dead end."


def test_an_answer_of_a_log_without_usage_is_a_call_and_one_that_broke_off_is_none(
    transcript: Transcript,
) -> None:
    broken = {"role": "assistant", "content": [text("half")], "stopReason": "aborted"}
    path = transcript(
        HEADER_1, user("hi"), assistant(text("ho"), usage=None), entry("message", message=broken)
    )
    _, answer, aborted = read(path).messages
    assert answer.call == Call("claude-x")
    assert aborted.call is None


def test_an_entry_of_a_new_type_is_passed_over_as_long_as_nothing_is_said_in_it(
    transcript: Transcript,
) -> None:
    mark = hang(entry("bookmark", name="here"), "b", "a")
    path = transcript(HEADER_3, hang(user("one"), "a", None), mark, hang(user("two"), "c", "b"))
    assert shape(read(path)) == ["a", "c"]
