"""Sessions of pi and OpenClaw, of all three versions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compactlab.reports.audit.compactions import compactions_of
from compactlab.reports.explain.anatomy import anatomy
from compactlab.scenarios.readers import native
from compactlab.scenarios.readers import transcript as transcripts
from compactlab.scenarios.readers.jsonl import Lines
from compactlab.scenarios.readers.pi import conversation_of
from compactlab.sim.core.conversation import Conversation, Rewind
from compactlab.sim.core.errors import InputError, RefusedError
from compactlab.sim.core.message import Call, Usage
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


def read(path: Path, strict: bool = False) -> Conversation:
    (conversation,) = transcripts.read(path, strict=strict)
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
        ([{**HEADER_1, "version": 9}, user("hi")], ":1: sessions of .* version 9"),
        ([HEADER_1, HEADER_1, user("hi")], ":2: a session has one header"),
        ([HEADER_1, entry("message", message={"content": "hi"})], ":2: not as expected"),
        ([HEADER_1, assistant(usage={"input": -1})], ":2: not as expected"),
        ([HEADER_1], "no messages"),
        ([HEADER_1, entry("message", message={"role": "user"})], ":2: .* 'user' has no content"),
        (
            [HEADER_1, entry("message", message={"role": "wizard", "content": "hi"})],
            "'wizard' is not",
        ),
        ([HEADER_1, entry("message")], ":2: there is no message in an entry"),
        ([HEADER_1, entry("compaction", firstKeptEntryIndex=0)], ":2: there is no summary"),
        ([HEADER_1, entry("compact", summary="hi")], ":2: an entry of type 'compact' is not known"),
        ([HEADER_3, hang(user("hi"), "a", "a")], ":2: 'a' hangs from 'a'"),
        ([HEADER_3, hang(user("1"), "a", "b"), hang(user("2"), "b", "a")], ":3: 'b' hangs from"),
    ],
)
def test_what_is_wrong_is_named(transcript: Transcript, records: list[Record], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        read(transcript(*records), strict=True)


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


def test_an_edit_that_is_never_followed_keeps_its_words_too(transcript: Transcript) -> None:
    edit = entry("context_edit", targetId="a", replacement={"content": "secret"})
    path = transcript(HEADER_3, hang(user("one"), "a", None), hang(edit, "b", "a"))
    (event,) = read(path).compactions
    assert (event.inserted[0].text, event.inserted[0].parts[0].kind) == ("secret", "stub")


@pytest.mark.parametrize(
    "unknown",
    [
        entry("context_splice", targetId="a"),
        entry("compact", summary="hi"),
        entry("prune", entryIds=["a"]),
        entry("history_cleared"),
        entry("context_edit", targetId="a", replacement={"text": "b"}),
        entry("context_edit", targetId="a"),
    ],
)
def test_what_changes_the_context_and_is_not_understood_is_refused(
    transcript: Transcript, unknown: Record
) -> None:
    with pytest.raises(RefusedError, match=r":3: .* pi .*prompts would be wrong\. Leave"):
        read(transcript(HEADER_3, hang(user("one"), "a", None), hang(unknown, "b", "a")))


def test_what_is_only_unknown_is_passed_over_and_counted(transcript: Transcript) -> None:
    spent = {"totalTokens": 40}
    strange = entry("observation", message="twelve chars", usage=spent)
    wizard = entry("message", message={"role": "wizard", "content": "abracadabra"})
    noted = entry("message", message={"role": "user", "content": "two", "sideText": "psst"})
    records = (hang(strange, "b", "a"), hang(wizard, "c", "b"), hang(noted, "d", "c"))
    path = transcript(HEADER_3, hang(user("one"), "a", None), *records, HEADER_3)
    conversation = read(path)
    assert shape(conversation) == ["a", "d"]
    passed = {each.kind: (each.characters, each.tokens) for each in conversation.passed_over}
    assert passed["record 'observation'"] == (12, 40)
    assert passed["message of role 'wizard'"][0] >= 11
    assert passed["field 'sideText' of a message"] == (4, 0)
    assert len(passed) == 4
    with pytest.raises(InputError, match=":3: record 'observation' is not known"):
        read(path, strict=True)


def test_a_session_whose_header_is_torn_is_read_from_its_first_entry(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    answer = hang(assistant(text("ho")), "b", "a")
    told = [json.dumps(hang(user("hi"), "a", None)), json.dumps(answer)]
    path.write_text("\n".join(['{"type":"session","version":3,"i', *told, told[0][:40]]))
    conversation = read(path)
    assert shape(conversation) == ["a", "b"]
    assert len(conversation.passed_over) == 2
    with pytest.raises(InputError, match=r"s\.jsonl:1: "):
        read(path, strict=True)


def test_all_that_pi_bills_is_a_request(transcript: Transcript) -> None:
    warm = {"input": 0, "output": 1, "cacheRead": 500, "cacheWrite": 0}
    nested = {"input": 30, "output": 3, "cacheRead": 0, "cacheWrite": 0}
    left = {"input": 40, "output": 4, "cacheRead": 0, "cacheWrite": 0}
    wrote = {"input": 50, "output": 5, "cacheRead": 0, "cacheWrite": 60, "cacheWrite1h": 20}
    called = result("ok")
    called["message"] |= {"usage": nested, "nestedCalls": {"calls": [], "complete": True}}
    kept: Record = {"summary": "S.", "firstKeptEntryId": "c", "tokensBefore": 9}
    path = transcript(
        HEADER_3,
        hang(user("one", 1), "a", None),
        hang(assistant(ASKS, second=2), "b", "a"),
        hang(called, "c", "b"),
        hang(entry("usage", 4, kind="cache_warm", model="claude-y", usage=warm), "d", "c"),
        hang(entry("compaction", 5, usage=wrote, **kept), "e", "d"),
        hang(entry("branch_summary", 6, summary="Left.", usage=left), "f", "e"),
    )
    conversation = read(path, strict=True)
    requests = [(r.purpose, r.call.model, r.call.usage) for r in conversation.side_requests]
    assert requests == [
        ("nested", "claude-x", Usage(30, output=3)),
        ("cache_warm", "claude-y", Usage(0, 500, output=1)),
        ("branch_summary", "claude-x", Usage(40, output=4)),
    ]
    (compaction,) = conversation.compactions
    assert compaction.call is not None
    assert compaction.call.usage == Usage(50, 0, 40, 20, output=5)
    assert compaction.call.model == "claude-x"
    assert len({compaction.call.id, *(r.call.id for r in conversation.side_requests)}) == 4


def test_under_a_router_the_model_that_answered_is_the_calls(transcript: Transcript) -> None:
    said = assistant(text("ho"))
    more = {
        "model": "auto",
        "responseModel": "z-ai/glm",
        "responseId": "r1",
        "thinkingLevel": "low",
    }
    said["message"] |= more | {"usage": {"output": 3, "cacheWrite": 9, "cacheWrite1h": 9}}
    call = read(transcript(HEADER_1, user("hi"), said)).messages[1].call
    counts = Usage(cache_write_1h=9, output=3)
    assert call == Call("z-ai/glm", counts, "1h", thinking="low", id="r1")


def test_what_a_fork_repeats_is_its_parents(transcript: Transcript) -> None:
    fork = {**HEADER_3, "timestamp": "2026-01-01T00:00:30Z", "parentSession": "C:\\x\\one.jsonl"}
    path = transcript(
        fork,
        hang(user("one", 1), "a", None),
        hang(assistant(text("1"), second=2), "b", "a"),
        hang(entry("usage", 3, kind="cache_warm", usage=USAGE), "w", "b"),
        hang(user("two", 40), "c", "w"),
        hang(assistant(text("2"), second=41), "d", "c"),
    )
    conversation = read(path)
    assert conversation.parent == "one"
    first, second = (message.call for message in conversation.calls)
    assert first is not None
    assert second is not None
    assert (first.inherited, second.inherited) == (True, False)
    assert conversation.side_requests[0].call.inherited
    assert first.id.startswith("b ")
    alone = read(transcript(HEADER_3, *[hang(assistant(text("1"), second=2), "b", None)]))
    assert alone.messages[0].call is not None
    assert (alone.messages[0].call.id, alone.messages[0].call.inherited) == (first.id, False)


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


def test_what_openclaw_writes_down_of_its_deliveries_is_told_to_no_model(
    transcript: Transcript,
) -> None:
    def mirror(words: str) -> Record:
        own = assistant(text(words), usage=NOTHING)
        own["message"] |= {"provider": "openclaw", "model": "delivery-mirror"}
        return own

    path = transcript(
        HEADER_3,
        hang(user("one"), "a", None),
        hang(assistant(text("1")), "b", "a"),
        hang(mirror("1"), "c", "b"),
        hang(mirror("of another channel"), "d", "c"),
    )
    conversation = read(path)
    assert shape(conversation) == ["a", "b", "d"]  # what nobody else says stays, without a call
    assert len(conversation.calls) == 1


def test_a_session_may_come_from_elsewhere_than_a_file_of_lines(transcript: Transcript) -> None:
    path = transcript(HEADER_3, hang(user("hi"), "a", None))
    records = [(7, line) for line in path.read_bytes().splitlines()]
    conversation = conversation_of(iter(records), Lines(path), "s1")
    assert (conversation.id, shape(conversation)) == ("s1", ["a"])
