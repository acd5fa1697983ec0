"""Rollouts of Codex: what is one call, and what is in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compactlab.scenarios.readers import transcript as transcripts
from compactlab.sim.core.conversation import Compaction, Conversation, Rewind
from compactlab.sim.core.errors import InputError, RefusedError
from compactlab.sim.core.message import Usage

Transcript = Callable[..., Path]
Record = dict[str, Any]


def record(type: str, /, **payload: Any) -> Record:
    return {"type": type, "timestamp": "2026-01-01T00:00:00.000Z", "payload": payload}


def item(type: str, **payload: Any) -> Record:
    return record("response_item", type=type, **payload)


def event(type: str, **payload: Any) -> Record:
    return record("event_msg", type=type, **payload)


def user(words: str, role: str = "user") -> Record:
    return item("message", role=role, content=[{"type": "input_text", "text": words}])


def assistant(words: str) -> Record:
    content = [{"type": "output_text", "text": words}]
    return item("message", role="assistant", content=content)


def asks(call_id: str, tool: str = "shell") -> Record:
    return item("function_call", name=tool, arguments='{"cmd": "ls"}', call_id=call_id)


def answer(call_id: str, output: Any = "readme") -> Record:
    return item("function_call_output", call_id=call_id, output=output)


def counted(
    total: int, cache_misses: int = 10, cached: int = 90, out: int = 7, thought: int = 0
) -> Record:
    last = {
        "input_tokens": cache_misses + cached,
        "cached_input_tokens": cached,
        "output_tokens": out,
        "reasoning_output_tokens": thought,
        "total_tokens": cache_misses + cached + out,
    }
    info = {"total_token_usage": {"total_tokens": total}, "last_token_usage": last}
    return event("token_count", info=info)


START = record("session_meta", id="s", base_instructions={"text": "You code."})
MODEL = record("turn_context", model="gpt-x", summary="auto")
REASONING = item("reasoning", summary=[], encrypted_content="gAAA")


def read(path: Path) -> Conversation:
    (conversation,) = transcripts.read(path)
    assert conversation.format == "codex"
    return conversation


def told(conversation: Conversation) -> list[str]:
    return [
        f"<- {event.to}"
        if isinstance(event, Rewind)
        else "compaction"
        if isinstance(event, Compaction)
        else event.text or event.parts[0].name
        for event in conversation.events
    ]


def test_a_call_ends_where_its_tokens_are_counted(transcript: Transcript) -> None:
    path = transcript(
        START,
        MODEL,
        user("look around"),
        event("user_message", message="look around"),
        REASONING,
        asks("c1"),
        asks("c2"),
        answer("c1"),
        answer("c2", {"content": "no", "success": False}),
        counted(107, thought=5),
        counted(107, thought=5),
        assistant("Done."),
        event("agent_message", message="Done."),
        counted(220, cache_misses=20),
        event("token_count", info=None),
    )
    conversation = read(path)
    asked, calls, first, second, done = conversation.messages
    assert asked.starts_turn
    assert [part.type for part in calls.parts] == ["thinking", "tool_call", "tool_call"]
    assert (calls.parts[0].kind, calls.parts[0].size) == ("opaque", 5)
    assert (calls.parts[1].text, calls.parts[1].name) == ('{"cmd": "ls"}', "shell")
    assert (first.parts[0].name, first.parts[0].text) == ("shell", "readme")
    assert second.parts[0].is_error
    assert done.text == "Done."
    assert [m.call.usage for m in conversation.calls if m.call] == [
        Usage(10, 90, output=7),
        Usage(20, 90, output=7),
    ]
    assert {m.call.model for m in conversation.calls if m.call} == {"gpt-x"}
    assert [part.text for part in conversation.system] == ["You code."]


def test_other_tools_are_calls_too(transcript: Transcript) -> None:
    path = transcript(
        START,
        user("search"),
        item("web_search_call", status="completed", action={"type": "search", "query": "ä"}),
        item("custom_tool_call", call_id="c1", name="apply_patch", input="*** Begin"),
        item("custom_tool_call_output", call_id="c1", output="ok"),
        item("tool_search_call", call_id="c2", arguments={"query": "x"}),
        item("tool_search_output", call_id="c2", tools=[{"name": "t"}]),
        item("ghost_snapshot", ghost_commit={}),
        counted(9),
    )
    _, reply, patched, found = read(path).messages
    assert [(part.name, part.text) for part in reply.parts] == [
        ("web_search", '{"type":"search","query":"ä"}'),
        ("apply_patch", "*** Begin"),
        ("tool_search", '{"query":"x"}'),
    ]
    assert (patched.text, patched.parts[0].name) == ("ok", "apply_patch")
    assert found.text == '[{"name":"t"}]'


def test_the_model_may_change_from_turn_to_turn(transcript: Transcript) -> None:
    path = transcript(
        START, MODEL, user("hi"), assistant("Hi."), counted(1), record("turn_context", model="y"),
        user("ho"), assistant("Ho."), counted(2),
    )  # fmt: skip
    assert [m.call.model for m in read(path).calls if m.call] == ["gpt-x", "y"]


def test_a_call_without_a_trace_still_counts(transcript: Transcript) -> None:
    conversation = read(transcript(START, user("hi"), counted(5, out=7)))
    (call,) = conversation.calls
    assert (call.parts[0].kind, call.parts[0].size) == ("opaque", 7)


def test_an_aborted_answer_costs_no_call(transcript: Transcript) -> None:
    path = transcript(
        START,
        user("begin"),
        assistant("I will"),
        event("turn_aborted", reason="interrupted"),
        user("<turn_aborted>\nThe user interrupted"),
        user("go on"),
        assistant("Going on."),
        counted(9),
    )
    conversation = read(path)
    assert [message.text for message in conversation.calls] == ["Going on."]
    assert "I will" in told(conversation)
    assert conversation.turns == 2


def test_a_prompt_while_a_tool_runs_does_not_split_the_call(transcript: Transcript) -> None:
    path = transcript(
        START, user("go"), asks("c1"), user("and in green"), answer("c1"), counted(1),
        assistant("Done."), counted(2),
    )  # fmt: skip
    conversation = read(path)
    assert [m.role for m in conversation.messages] == [
        "user",
        "assistant",
        "user",
        "tool",
        "assistant",
    ]
    assert len(conversation.calls) == 2


def test_where_nothing_is_counted_a_tool_ends_the_call(transcript: Transcript) -> None:
    path = transcript(
        START, MODEL, user("go"), assistant("First"), asks("c1"), answer("c1"), asks("c2"),
        answer("c2"), assistant('"type":"token_count" is not in here'),
    )  # fmt: skip
    calls = read(path).calls
    assert [len(message.parts) for message in calls] == [2, 1, 1]
    assert all(m.call and m.call.usage is None and m.call.model == "gpt-x" for m in calls)


def test_what_the_client_adds_is_meta(transcript: Transcript) -> None:
    path = transcript(
        START,
        user("<permissions instructions>", role="developer"),
        user("# AGENTS.md instructions for /work\n\n<INSTRUCTIONS>"),
        user("<environment_context>\n  <cwd>/work</cwd>"),
        user("hi"),
        assistant("Hi."),
        counted(1),
    )
    assert [m.meta for m in read(path).messages if m.role == "user"] == [True, True, True, False]


def test_an_encrypted_compaction(transcript: Transcript) -> None:
    history = [user("do it")["payload"], {"type": "compaction", "encrypted_content": "gAAA"}]
    path = transcript(
        START,
        user("do it"),
        assistant("Doing."),
        counted(1),
        record("compacted", message="", replacement_history=history),
        counted(1),
        assistant("Done."),
        counted(2),
    )
    conversation = read(path)
    assert told(conversation) == ["do it", "Doing.", "compaction", "Done."]
    (compaction,) = conversation.compactions
    kept, summary = (message.parts[0] for message in compaction.inserted)
    assert (kept.kind, kept.sources[0].id) == ("verbatim", "m1")
    assert summary.kind == "opaque"
    assert [source.id for source in summary.sources] == ["m1", "m2"]


@pytest.mark.parametrize("history", [None, [user("Summary: Doing.")["payload"]]])
def test_a_compaction_in_words(transcript: Transcript, history: Any) -> None:
    compacted = record("compacted", message="Doing.", replacement_history=history)
    path = transcript(START, user("do it"), assistant("On it"), compacted, counted(1))
    (compaction,) = read(path).compactions
    (summary,) = compaction.inserted[0].parts
    assert summary.kind == "summary"
    assert summary.text.endswith("Doing.")
    assert [source.id for source in summary.sources] == ["m1", "m2"]


def test_a_roll_back_is_a_rewind(transcript: Transcript) -> None:
    path = transcript(
        START, user("one"), assistant("1"), counted(1), user("two"), assistant("2"), counted(2),
        user("three"), event("thread_rolled_back", num_turns=2), user("other"),
    )  # fmt: skip
    assert told(read(path)) == ["one", "1", "two", "2", "three", "<- m2", "other"]


def test_a_rollout_without_its_start(transcript: Transcript) -> None:
    assert read(transcript(MODEL, user("hi"))).starts_inside
    assert not read(transcript(START, user("hi"))).starts_inside


def test_wrong_types_are_named(transcript: Transcript) -> None:
    path = transcript(START, item("message", role="user", content=5), user("hi"))
    with pytest.raises(InputError, match=r"story\.jsonl:2: not as expected"):
        list(transcripts.read(path, strict=True))
    (passed,) = read(path).passed_over
    assert passed.count == 1


def test_what_an_agent_tells_another_is_told_by_nobody(transcript: Transcript) -> None:
    words = [{"type": "input_text", "text": "look there"}, {"type": "encrypted_content"}]
    told_by = item("agent_message", author="a", recipient="b", content=words)
    path = transcript(START, user("hi"), told_by, assistant("I will."), counted(1))
    _, message, _ = read(path).messages
    assert (message.text, message.meta, len(message.parts)) == ("look there", True, 2)


def test_an_output_may_be_one_block(transcript: Transcript) -> None:
    one = answer("c1", {"type": "input_text", "text": "readme"})
    path = transcript(START, user("hi"), asks("c1"), one, counted(1))
    assert read(path).messages[-1].text == "readme"


@pytest.mark.parametrize(
    ("bad", "reason", "characters"),
    [
        (item("tool_result", result="x"), "item 'tool_result' is not known", 1),
        (item("function_call", arguments="", prompt="x"), "something under 'prompt'", 1),
        (record("turn", role="user", words="xy"), "record 'turn' is not known", 2),
        (event("poem", words="xy"), "event 'poem' is not known", 2),
        (item("message", role="user"), "a message has no content", 0),
        (item("message", role="wizard", content="x"), "'wizard' is no role of a message", 1),
        (item("function_call", name="ls", call_id="c1"), "'function_call' has no arguments", 2),
        (item("function_call_output", call_id="c1"), "the output of a tool has no content", 0),
    ],
)
def test_words_under_unknown_names_are_counted(
    transcript: Transcript, bad: Record, reason: str, characters: int
) -> None:
    path = transcript(START, user("hi"), bad, assistant("ho"))
    with pytest.raises(InputError, match=rf"story\.jsonl:3: .*{reason}"):
        list(transcripts.read(path, strict=True))
    (conversation,) = transcripts.read(path)
    (passed,) = conversation.passed_over
    assert (passed.count, passed.characters, passed.tokens) == (1, characters, 0)
    assert conversation.messages[0].text == "hi"


@pytest.mark.parametrize(
    "edit",
    [
        record("compacted", message=""),
        record("context_rollback", to="m1"),
        item("context_compacted_v3", content="x"),
        event("thread_truncated", turns=1),
        event("thread_rolled_back", num_turns=1, rollback_start_index=3),
    ],
)
def test_a_change_of_the_context_that_is_not_understood_is_refused(
    transcript: Transcript, edit: Record
) -> None:
    path = transcript(START, user("hi"), assistant("ho"), edit, user("hi again"))
    with pytest.raises(RefusedError, match=r"story\.jsonl:4: Codex .* --lenient"):
        list(transcripts.read(path))


def test_what_was_written_to_the_cache_is_no_plain_input(transcript: Transcript) -> None:
    """Since 0.142 a count names it, as a part of the whole input like what was read."""
    count = counted(1_000, cache_misses=400, cached=600)
    count["payload"]["info"]["last_token_usage"]["cache_write_input_tokens"] = 250
    (message,) = read(transcript(user("hi"), assistant("ho"), count)).calls
    assert message.call is not None
    usage = message.call.usage
    assert usage is not None
    assert (usage.uncached, usage.cache_read, usage.cache_write) == (150, 600, 250)
