"""Rollouts of Codex: which request a count or a record is of, and what a fork repeats."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compactlab.scenarios.readers import transcript as transcripts
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Call, Usage
from tests.scenarios.test_codex import answer, asks, assistant, event, item, record, user

Transcript = Callable[..., Path]
Record = dict[str, Any]
Counts = dict[str, int]

PARENT = "019a0000-0000-7000-8000-000000000001"
CHILD = "019a0001-0000-7000-8000-000000000002"  # made 65 seconds later
EARLIER, LATER = "019a0000-8000-7000-8000-00000000000a", "019a0001-8000-7000-8000-00000000000b"


def counts(misses: int, read: int = 0, written: int = 0, out: int = 5) -> Counts:
    whole = misses + read + written
    return {
        "input_tokens": whole,
        "cached_input_tokens": read,
        "cache_write_input_tokens": written,
        "output_tokens": out,
        "reasoning_output_tokens": 0,
        "total_tokens": whole + out,
    }


def recorded(id: str, usage: Counts, **more: Any) -> Record:
    return record("token_usage_record", response_id=id, usage=usage, **more)


def counted(last: Counts, total: Counts | None = None) -> Record:
    info = {"total_token_usage": total or last, "last_token_usage": last}
    return event("token_count", info=info)


def start(id: str = PARENT, **more: Any) -> Record:
    return record("session_meta", id=id, cli_version="0.155.0", **more)


def at(second: int, *lines: Record) -> list[Record]:
    """Lines that were written so many seconds after the first."""
    return [{**line, "timestamp": f"2026-01-01T00:00:{second:02}.000Z"} for line in lines]


def read(path: Path) -> Conversation:
    (conversation,) = transcripts.read(path)
    return conversation


def calls(conversation: Conversation) -> list[Call]:
    return [message.call for message in conversation.calls if message.call]


def usages(conversation: Conversation) -> list[Usage | None]:
    return [call.usage for call in calls(conversation)]


def test_a_record_and_a_count_of_a_request_are_one_call(transcript: Transcript) -> None:
    first, second = counts(1_000, out=30), counts(200, 900, out=40)
    path = transcript(
        start(), user("go"), asks("c1"), recorded("r1", first), counted(first), answer("c1"),
        assistant("Done."), recorded("r2", second), counted(second, counts(1_200, 900, out=70)),
    )  # fmt: skip
    conversation = read(path)
    assert usages(conversation) == [Usage(1_000, output=30), Usage(200, 900, output=40)]
    assert [call.id for call in calls(conversation)] == ["r1", "r2"]
    assert not conversation.side_requests
    assert not conversation.passed_over


def test_records_alone_count_too(transcript: Transcript) -> None:
    path = transcript(
        start(), user("go"), asks("c1"), recorded("r1", counts(9)), answer("c1"),
        assistant("Done."), recorded("r2", counts(8)),
    )  # fmt: skip
    assert usages(read(path)) == [Usage(9, output=5), Usage(8, output=5)]


def test_the_request_for_a_compaction_stands_in_a_record_alone(transcript: Transcript) -> None:
    first, made, last = counts(1_000, 190_000, 9_000), counts(500, 200_000), counts(1_000)
    path = transcript(
        start(), user("go"), assistant("Sorted."), recorded("r1", first), counted(first),
        recorded("r2", made),
        record("compacted", message="Sorted.", compaction_response_id="r2"),
        counted({**first, "total_tokens": 9}, first),
        user("on"), assistant("On."), recorded("r3", last),
        counted(last, counts(2_000, 190_000, 9_000)),
    )  # fmt: skip
    conversation = read(path)
    (compaction,) = conversation.compactions
    assert compaction.call is not None
    assert (compaction.call.usage, compaction.call.id) == (Usage(500, 200_000, output=5), "r2")
    assert [call.id for call in calls(conversation)] == ["r1", "r3"]
    assert not conversation.side_requests


def test_a_broken_off_answer_before_a_compaction_has_no_usage(transcript: Transcript) -> None:
    path = transcript(
        start(), user("go"), assistant("I wi"), recorded("r2", counts(7)),
        record("compacted", message="So.", compaction_response_id="r2"),
    )  # fmt: skip
    conversation = read(path)
    (compaction,) = conversation.compactions
    assert compaction.call is not None
    assert compaction.call.usage == Usage(7, output=5)
    assert not conversation.calls


def test_a_compaction_may_carry_its_own_record(transcript: Transcript) -> None:
    latest = {"response_id": "r2", "usage": counts(7)}
    compacted = record(
        "compacted", message="So.", compaction_response_id="r2", latest_token_usage_record=latest
    )
    (compaction,) = read(transcript(start(), user("go"), compacted)).compactions
    assert compaction.call is not None
    assert compaction.call.usage == Usage(7, output=5)
    latest["response_id"] = "r1"  # of the answer before, which is counted there
    (compaction,) = read(transcript(start(), user("go"), compacted)).compactions
    assert compaction.call is None


def test_a_request_of_nobody_is_billed_by_the_side(transcript: Transcript) -> None:
    done, other = counts(10), counts(70)
    path = transcript(
        start(), record("turn_context", model="x"), user("go"), assistant("Done."),
        recorded("r1", done), counted(done), recorded("r2", other), user("on"),
        recorded("r3", other),
    )  # fmt: skip
    conversation = read(path)
    assert [(side.purpose, side.call.id) for side in conversation.side_requests] == [
        ("other", "r2"),
        ("other", "r3"),
    ]
    assert [side.call.usage for side in conversation.side_requests] == [Usage(70, output=5)] * 2
    assert conversation.side_requests[0].call.model == "x"
    assert [call.id for call in calls(conversation)] == ["r1"]


def test_an_answer_without_a_trace_is_one_if_it_is_counted(transcript: Transcript) -> None:
    conversation = read(
        transcript(start(), user("go"), recorded("r1", counts(9)), counted(counts(9)))
    )
    assert [call.id for call in calls(conversation)] == ["r1"]
    assert not conversation.side_requests


def test_a_record_without_usage_is_counted_or_refused(transcript: Transcript) -> None:
    path = transcript(start(), user("go"), record("token_usage_record", response_id="r"))
    assert read(path).passed_over
    with pytest.raises(InputError, match="a record of usage has no usage"):
        list(transcripts.read(path, strict=True))


FIRST, SECOND = counts(10_000, out=30), counts(200, 9_900, out=40)
BOTH, ALL = counts(10_200, 9_900, out=70), counts(10_400, 19_900, out=120)
THIRD = counts(200, 10_000, out=50)


def session(turn: str, *more: Record) -> list[Record]:
    """What the parent has: two calls."""
    context = record("turn_context", model="gpt-5.2", turn_id=turn)
    return [
        *(start(), context, user("sort"), assistant("Sorted."), counted(FIRST)),
        *(user("reverse"), assistant("Reversed."), counted(SECOND, BOTH), *more),
    ]


def own(turn: str) -> list[Record]:
    context = record("turn_context", model="gpt-5.2", turn_id=turn)
    return [context, user("shuffle"), assistant("Shuffled."), counted(THIRD, ALL)]


def forked(first: list[Record], *own: Record, **meta: Any) -> list[Record]:
    """A fork: its header, the parent's lines at the time of the fork, its own lines later."""
    return [*at(0, start(CHILD, forked_from_id=PARENT, **meta), *first), *at(7, *own)]


def test_a_fork_repeats_the_calls_of_its_parent(transcript: Transcript) -> None:
    parent = read(transcript(*session("t1"), name="parent.jsonl"))
    child = read(transcript(*forked(session("t1"), *own("t1"))))
    assert (parent.parent, child.parent) == ("", PARENT)
    assert [call.inherited for call in calls(parent)] == [False, False]
    assert [call.inherited for call in calls(child)] == [True, True, False]
    once = {call.id: call.usage for call in (*calls(parent), *calls(child))}
    assert sum(filter(None, once.values()), Usage()) == Usage(10_400, 19_900, output=120)
    assert len(once) == 3


def test_turns_tell_when_they_began(transcript: Transcript) -> None:
    """Where they do, a copy that took long, or kept its times, is one all the same."""
    first, turn, *more = session(EARLIER)
    lines = at(0, start(CHILD, forked_from_id=PARENT), first, turn)
    lines += at(7, *more) + at(8, *own(LATER))
    assert [call.inherited for call in calls(read(transcript(*lines)))] == [True, True, False]


def test_ordinals_tell_where_the_own_lines_begin(transcript: Transcript) -> None:
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": PARENT}}}
    header = start(CHILD, source=spawned, subagent_history_start_ordinal="9")
    lines = at(0, header, *session("t1"), *own("t1"))
    lines = [{**line, "ordinal": number} for number, line in enumerate(lines)]
    conversation = read(transcript(*lines))
    assert conversation.subagent
    assert [call.inherited for call in calls(conversation)] == [True, True, False]
    # What a sub-agent is given of its parent is billed in the parent's log.
    assert usages(conversation) == [None, None, Usage(200, 10_000, output=50)]


def test_a_record_names_its_thread(transcript: Transcript) -> None:
    lines = forked(
        [start(), user("sort"), assistant("Sorted."), recorded("r1", FIRST, thread_id=PARENT)]
    )
    lines += at(0, user("on"), assistant("On."), recorded("r2", THIRD, thread_id=CHILD))
    ids = [(call.id, call.inherited) for call in calls(read(transcript(*lines)))]
    assert ids == [("r1", True), ("r2", False)]


def test_a_fork_of_a_fork_has_one_root(transcript: Transcript) -> None:
    child = forked(session("t1"), *own("t1"))
    again = at(0, start("g", forked_from_id=CHILD), *child) + at(9, user("on"), assistant("On."))
    again += at(9, counted(counts(7), counts(10_407, 19_900, out=125)))
    grandchild = read(transcript(*again, name="grandchild.jsonl"))
    assert [call.inherited for call in calls(grandchild)] == [True, True, True, False]
    assert [call.id for call in calls(grandchild)][:3] == [
        call.id for call in calls(read(transcript(*child)))
    ]
    assert grandchild.parent == CHILD


def test_a_fork_that_refers_to_its_parent_has_only_its_own_calls(transcript: Transcript) -> None:
    base = {"thread_id": PARENT, "end_ordinal_exclusive": 9, "end_byte_offset": 900}
    path = transcript(start(CHILD, forked_from_id=PARENT, history_base=base), *own("t1"))
    conversation = read(path)
    assert conversation.starts_inside
    assert conversation.parent == PARENT
    assert [call.inherited for call in calls(conversation)] == [False]


def test_the_header_counts_wherever_it_stands(transcript: Transcript) -> None:
    header = start(base_instructions={"text": "You code."})
    conversation = read(transcript(user("hi"), header, assistant("ho"), counted(FIRST)))
    assert [part.text for part in conversation.system] == ["You code."]
    assert conversation.starts_inside
    other = start(base_instructions={"text": "You test."})
    (passed,) = read(transcript(header, other, user("hi"))).passed_over
    assert (passed.kind, passed.characters) == ("instructions of another thread", 9)


def test_what_agents_tell_each_other_is_told_once(transcript: Transcript) -> None:
    told = {"id": "m", "author": "/root/a", "recipient": "/root", "content": "Look there."}
    relayed = item("agent_message", **{**told, "content": [{"type": "input_text", "text": "x"}]})
    sealed = {**told, "id": "n", "content": "", "encrypted_content": "gAAA"}
    path = transcript(
        start(), user("go"), record("inter_agent_communication", **told), relayed,
        record("inter_agent_communication", **sealed),
        record("inter_agent_communication_metadata", trigger_turn=True),
        record("world_state", full=True, state={"cwd": "/"}), assistant("Done."),
    )  # fmt: skip
    _, message, hidden, _ = read(path).messages
    assert (message.text, message.meta) == ("Look there.", True)
    assert hidden.parts[0].kind == "opaque"
    assert not read(path).passed_over


def test_tools_that_are_sent_as_an_item_are_read(transcript: Transcript) -> None:
    tools = item("additional_tools", role="developer", tools=[{"name": "exec"}])
    effort = item("configuration_update", reasoning={"effort": "high"})
    path = transcript(start(), tools, user("go"), tools, effort, assistant("Done."), counted(FIRST))
    conversation = read(path)
    assert [part.text for part in conversation.system] == ['[{"name":"exec"}]']
    assert [message.text for message in conversation.messages] == [
        "go",
        '[{"name":"exec"}]',
        "Done.",
    ]
    assert calls(conversation)[0].thinking == "high"


def test_a_compaction_keeps_any_kind_of_item(transcript: Transcript) -> None:
    history = [
        line["payload"] for line in (user("go"), asks("c1"), answer("c1"), item("poem", text="o"))
    ]
    path = transcript(
        start(), user("go"), record("compacted", message="", replacement_history=history)
    )
    conversation = read(path)
    (compaction,) = conversation.compactions
    assert [message.role for message in compaction.inserted] == ["user", "assistant", "tool"]
    (passed,) = conversation.passed_over
    assert passed.kind == "item of a compaction"
