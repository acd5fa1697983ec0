"""What Claude Code does to its context besides compactions, and what nobody knows of."""

from __future__ import annotations

from typing import Any

import pytest

from compactlab.sim.core.conversation import EDIT
from compactlab.sim.core.errors import InputError, RefusedError
from tests.scenarios.test_claude_code import (
    Record,
    Transcript,
    answered,
    asks,
    attached,
    line,
    read,
    said,
    shape,
    text,
    typed,
)


def session(*more: Record) -> list[Record]:
    return [
        typed("u1", None, "look around"),
        said("a2", "u1", "m", asks("c1", cmd="ls")),
        answered("t3", "a2", "c1", "much that was listed"),
        said("a4", "t3", "n", text("seen")),
        typed("u5", "a4", "go on"),
        *more,
    ]


def note(uuid: str, parent: str, subtype: str, **more: Any) -> Record:
    return line("system", uuid, parent, subtype=subtype, **more)


def cleared(uuid: str, parent: str, call: str) -> Record:
    about = {"compactedToolIds": [call]}
    return note(uuid, parent, "microcompact_boundary", microcompactMetadata=about)


def inserted(path: Any) -> list[list[tuple[str, str]]]:
    """What stands in front after each edit."""
    return [
        [(part.kind, part.text) for message in each.inserted for part in message.parts]
        for each in read(path).compactions
    ]


def test_cleared_results_have_a_stub_in_their_place(transcript: Transcript) -> None:
    about = {"trigger": "auto", "preTokens": 900, "compactedToolIds": ["c1", "gone"]}
    path = transcript(
        *session(note("b6", "u5", "microcompact_boundary", microcompactMetadata=about)),
        said("a7", "b6", "o", text("going on")),
    )
    conversation = read(path)
    assert shape(conversation) == ["u1", "m", "t3", "n", "u5", "compaction", "o"]
    (edit,) = conversation.compactions
    assert (edit.trigger, edit.tokens_before, edit.kept_from) == (EDIT, 0, "n")
    assert [message.id for message in edit.inserted] == ["u1", "m", "t3-cleared"]
    stub = edit.inserted[2].parts[0]
    assert (stub.kind, stub.text) == ("stub", "[Old tool result content cleared]")
    assert (stub.call_id, stub.sources[0].id) == ("c1", "t3")


def test_a_second_edit_knows_the_first(transcript: Transcript) -> None:
    more = [
        note(
            "b6", "u5", "microcompact_boundary", microcompactMetadata={"compactedToolIds": ["c1"]}
        ),
        said("a7", "b6", "o", asks("c2", cmd="pwd")),
        answered("t8", "a7", "c2", "home"),
        note(
            "b9", "t8", "microcompact_boundary", microcompactMetadata={"compactedToolIds": ["c2"]}
        ),
        typed("u10", "b9", "and?"),
    ]
    _, second = read(transcript(*session(*more))).compactions
    assert [m.id for m in second.inserted] == [
        "u1",
        "m",
        "t3-cleared",
        "n",
        "u5",
        "o",
        "t8-cleared",
    ]
    assert second.kept_from == ""


def test_a_compaction_keeps_a_result_as_it_was_cleared(transcript: Transcript) -> None:
    about = {"preservedSegment": {"headUuid": "t3"}}
    more = [cleared("b6", "u5", "c1"), note("b7", "b6", "compact_boundary", compactMetadata=about)]
    _, compaction = read(transcript(*session(*more))).compactions
    assert compaction.kept_from == "t3-cleared"


def test_a_compaction_may_keep_messages_of_the_middle_alone(transcript: Transcript) -> None:
    about = {"preservedMessages": {"uuids": ["a2", "t3"]}}
    more = [
        note("b6", "u5", "compact_boundary", compactMetadata=about),
        typed("s7", "b6", "Seen.", isCompactSummary=True),
    ]
    (compaction,) = read(transcript(*session(*more))).compactions
    assert [message.id for message in compaction.inserted] == ["s7", "m", "t3"]
    assert {part.kind for part in compaction.inserted[2].parts} == {"verbatim"}
    assert compaction.kept_from == ""
    assert [source.id for source in compaction.inserted[0].parts[0].sources] == ["u1", "n", "u5"]


def test_what_was_snipped_is_gone(transcript: Transcript) -> None:
    snip = note("b6", "u5", "snip_boundary", snipMetadata={"removedUuids": ["a2", "t3"]})
    (edit,) = read(transcript(*session(snip))).compactions
    assert [message.id for message in edit.inserted] == ["u1"]
    assert edit.kept_from == "n"


def test_a_collapsed_span_has_a_summary_in_its_place(transcript: Transcript) -> None:
    commit = {
        "type": "marble-origami-commit",
        "firstArchivedUuid": "a2",
        "lastArchivedUuid": "t3",
        "summaryContent": "It looked around.",
    }
    path = transcript(*session(commit))
    assert inserted(path) == [[("verbatim", "look around"), ("summary", "It looked around.")]]
    (edit,) = read(path).compactions
    assert [source.id for source in edit.inserted[1].parts[0].sources] == ["m", "t3"]


def test_a_collapse_of_what_is_not_there_is_refused(transcript: Transcript) -> None:
    commit = {"type": "marble-origami-commit", "firstArchivedUuid": "z", "lastArchivedUuid": "t3"}
    with pytest.raises(RefusedError, match=r"story\.jsonl:6: Claude Code collapsed"):
        read(transcript(*session(commit)))


@pytest.mark.parametrize("by", ["the answer", "a note"])
def test_a_retracted_answer_is_on_no_branch(transcript: Transcript, by: str) -> None:
    more = [said("a6", "u5", "o", text("I must not")), said("a7", "a6", "o", text("say that"))]
    again = said("a9", "a7", "p", text("Here it is"))
    if by == "the answer":
        again["supersedesUuids"] = ["a6", "a7"]
    else:
        gone = {"retractedMessageUuids": ["a6", "a7"]}
        more.append(note("b8", "a7", "model_refusal_fallback", **gone))
    path = transcript(*session(*more), again)
    assert shape(read(path))[-4:] == ["u5", "o", "<- u5", "p"]


def test_a_result_that_was_replaced_before_it_was_sent_is_what_was_sent(
    transcript: Transcript,
) -> None:
    told = [{"kind": "tool-result", "toolUseId": "c1", "replacement": "much ..."}]
    replaced = {"type": "content-replacement", "replacements": told}
    conversation = read(transcript(*session()[:3], replaced, *session()[3:]))
    assert conversation.messages[2].text == "much ..."
    (passed,) = conversation.passed_over
    assert passed.characters == len("much that was listed")
    assert not list(conversation.compactions)


def test_a_result_that_was_replaced_later_is_an_edit(transcript: Transcript) -> None:
    told = [{"kind": "tool-result", "toolUseId": "c1", "replacement": "much ..."}]
    path = transcript(*session({"type": "content-replacement", "replacements": told}))
    assert inserted(path)[0][-1] == ("stub", "much ...")
    assert read(path).messages[2].text == "much that was listed"


def test_an_agent_that_begins_with_its_parents_context_starts_inside(
    transcript: Transcript,
) -> None:
    own = {"isSidechain": True, "agentId": "g"}
    path = transcript(
        {"type": "fork-context-ref", "agentId": "g", "parentSessionId": "p"},
        {**typed("u1", None, "do it"), **own},
    )
    assert read(path).starts_inside


def test_the_system_prompt_and_the_tools_are_read_where_they_are_told(
    transcript: Transcript,
) -> None:
    told = {"systemPrompt": "You help.", "tools": [{"name": "Bash"}]}
    conversation = read(transcript(*session(attached("x6", "u5", type="prompt_snapshot", **told))))
    assert [part.text for part in conversation.system] == ["You help.", '[{"name":"Bash"}]']


def test_a_command_of_the_client_is_told_to_the_model(transcript: Transcript) -> None:
    content = "<local-command-stdout>fine</local-command-stdout>"
    conversation = read(transcript(*session(note("l6", "u5", "local_command", content=content))))
    assert (conversation.messages[-1].text, conversation.messages[-1].meta) == (content, True)


# What nobody knows of

UNKNOWN: dict[str, tuple[Record, str]] = {
    "a line in the tree": (line("poem", "p6", "u5", verse="roses"), "record 'poem'"),
    "a line beside it": ({"type": "poem", "verse": "roses"}, "record 'poem'"),
    "a note": (note("p6", "u5", "poem", content="roses"), "record 'system' of subtype 'poem'"),
    "a block": (said("p6", "u5", "q", {"type": "poem", "verse": "roses"}), "content block 'poem'"),
    "a field": (
        typed("p6", "u5", "", newText="roses"),
        "field 'newText' of a line of type 'user'",
    ),
    "a field of an attachment": (
        attached("p6", "u5", type="hook_success", content="", newText="roses"),
        "field 'newText' of an attachment of type 'hook_success'",
    ),
    "another text of a line": (
        typed("u5", "a4", "roses"),
        "line that was there before with other content",
    ),
    "thoughts that were dropped": (
        attached("p6", "u5", type="thinking_drop", newlyDropped="roses"),
        "attachment 'thinking_drop'",
    ),
}


@pytest.mark.parametrize("what", UNKNOWN)
def test_what_is_not_known_is_passed_over_and_counted_or_refused(
    transcript: Transcript, what: str
) -> None:
    record, kind = UNKNOWN[what]
    path = transcript(*session(record), said("a9", record.get("uuid", "u5"), "z", text("end")))
    conversation = read(path)
    (passed,) = conversation.passed_over
    assert (passed.kind, passed.count) == (kind, 1)
    assert len("roses") <= passed.characters <= len("user roses")
    assert shape(conversation)[-1] == "z"
    assert not [event for event in shape(conversation) if event.startswith("<-")]
    with pytest.raises(InputError, match=r"story\.jsonl:6"):
        read(path, strict=True)


@pytest.mark.parametrize(
    "record",
    [
        {"type": "context-edit"},
        {"type": "marble-origami-reset"},
        note("b6", "u5", "nanocompact_boundary"),
        typed("u6", "u5", "x", replacesSpan={"from": "u1"}),
    ],
)
def test_an_edit_that_is_not_known_is_refused_by_its_name(
    transcript: Transcript, record: Record
) -> None:
    with pytest.raises(RefusedError, match=r"story\.jsonl:6: Claude Code edited the context"):
        read(transcript(*session(record)))


@pytest.mark.parametrize(("kind", "refused"), [("clear_thinking_1", False), ("clear_tools", True)])
def test_what_the_provider_cleared_is_refused_but_for_thoughts(
    transcript: Transcript, kind: str, refused: bool
) -> None:
    answer = said("a6", "u5", "o", text("going on"))
    answer["message"]["context_management"] = {"applied_edits": [{"type": kind}]}
    path = transcript(*session(answer))
    if refused:
        with pytest.raises(RefusedError, match="clear_tools"):
            read(path)
    else:
        assert len(read(path).calls) == 3


@pytest.mark.parametrize("kind", ["cost-state", "mode", "queue-operation", "file-history-delta"])
def test_bookkeeping_is_not_counted(transcript: Transcript, kind: str) -> None:
    record = {"type": kind, "uuid": "k6", "content": "roses"}
    assert read(transcript(*session(record)), strict=True).passed_over == ()
