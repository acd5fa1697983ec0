"""Sessions of Copilot CLI: events of the agent, of its tools, and of its subagents."""

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


def event(type: str, id: str, second: int = 0, /, **data: Any) -> Record:
    stamp = f"2026-01-01T00:00:{second:02}.000Z"
    return {"type": type, "data": data, "id": id, "timestamp": stamp, "parentId": None}


START = event("session.start", "e0", selectedModel="gpt-5-mini", copilotVersion="1.0.77")


def user(id: str, words: str, **more: Any) -> Record:
    return event("user.message", id, 1, content=words, **more)


def answer(id: str, words: str, *requests: Record, **more: Any) -> Record:
    more = {"messageId": id, **more}
    return event("assistant.message", id, 2, content=words, toolRequests=list(requests), **more)


def asks(id: str) -> Record:
    return {"toolCallId": id, "name": "ls", "arguments": {"at": id}, "type": "function"}


def answered(id: str, call: str, **more: Any) -> Record:
    return event("tool.execution_complete", id, 3, toolCallId=call, **more)


def read(path: Path) -> Conversation:
    conversation, *_ = transcripts.read(path)
    assert conversation.format == "copilot"
    return conversation


def shape(conversation: Conversation) -> list[str]:
    return [
        f"<- {each.to}" if isinstance(each, Rewind) else getattr(each, "id", "compaction")
        for each in conversation.events
    ]


def test_a_session(transcript: Transcript) -> None:
    path = transcript(
        START,
        event("system.message", "s", content="You help.", role="system"),
        event("session.mode_changed", "n", newMode="plan"),
        user("u", "hi", transformedContent="<now/>hi"),
        event("assistant.reasoning", "r", reasoningId="r", content="hm"),
        answer("a", "well", asks("c1"), asks("c2"), reasoningText="hm", outputTokens=9),
        answered("t", "c1", success=True, result={"content": "a.py", "detailedContent": "more"}),
        answered("v", "c2", success=False, error={"message": "no", "code": "x"}),
        event("session.resume", "x", eventCount=9),
        event("session.model_change", "y", newModel="claude-x", reasoningEffort="high"),
        event("system.notification", "z", content="An agent is done."),
        answer("b", "done", reasoningOpaque="gAAA"),
    )
    conversation = read(path)
    hi, reply, first, second, note, done = conversation.messages
    assert [part.text for part in conversation.system] == ["You help."]
    assert (hi.text, hi.meta, note.meta) == ("<now/>hi", False, True)
    assert [part.text for part in reply.parts] == ["hm", "well", '{"at":"c1"}', '{"at":"c2"}']
    assert reply.call == Call("gpt-5-mini", Usage(output=9), version="copilot 1.0.77", id="a")
    assert (first.text, first.parts[0].name, first.parts[0].is_error) == ("a.py", "ls", False)
    assert (second.text, second.parts[0].is_error) == ("no", True)
    changed: Record = {"version": "copilot 1.0.77", "thinking": "high", "restarted": True}
    assert done.call == Call("claude-x", id="b", **changed)
    assert [part.kind for part in done.parts] == ["opaque", "verbatim"]
    assert reply.time - hi.time == 1


def test_chunks_of_one_message_are_one_answer(transcript: Transcript) -> None:
    path = transcript(
        START,
        user("u", "hi"),
        answer("a", "one"),
        {**answer("a", "two", asks("c1")), "id": "b"},
    )
    conversation = read(path)
    assert [m.text for m in conversation.messages] == ["hi", 'one\ntwo\n{"at":"c1"}']


def test_a_subagent_is_a_conversation_of_its_own(transcript: Transcript) -> None:
    path = transcript(
        START,
        user("u", "hi"),
        answer("a", "", asks("c1")),
        answer("b", "I look.", asks("c2"), parentToolCallId="c1"),
        answered("t", "c2", parentToolCallId="c1", result={"content": "a.py"}),
        answered("v", "c1", result={"content": "It is a.py."}),
        {**answer("w", "Another."), "agentId": "g"},
    )
    first, second, third = transcripts.read(path)
    assert [shape(each) for each in (first, second, third)] == [["u", "a", "v"], ["b", "t"], ["w"]]
    assert (second.id, third.id) == (f"{path.stem}#agent-1", f"{path.stem}#agent-2")


def test_compactions_and_rewinds(transcript: Transcript) -> None:
    done = {"success": True, "summaryContent": "so far", "preCompactionTokens": 900}
    path = transcript(
        START,
        user("u", "one"),
        answer("a", "1"),
        event("session.compaction_complete", "f", success=False, error="no"),
        event("session.compaction_complete", "c", **done),
        user("v", "two"),
        answer("b", "2"),
        event("session.snapshot_rewind", "r", upToEventId="v", eventsRemoved=2),
        user("w", "two again", source="skill-pdf"),
    )
    conversation = read(path)
    assert "|".join(shape(conversation)) == "u|a|compaction|v|b|<- a|w"
    (compaction,) = conversation.compactions
    (part,) = compaction.inserted[0].parts
    assert (part.kind, part.text, compaction.tokens_before) == ("summary", "so far", 900)
    assert [source.id for source in part.sources] == ["u", "a"]
    assert [*conversation.messages][-1].meta


def test_a_session_cut_off_in_front_starts_inside(transcript: Transcript) -> None:
    assert read(transcript(user("u", "go on"), answer("a", "yes"))).starts_inside
    assert not read(transcript(START, user("u", "begin"))).starts_inside


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (event("wizard.spell", "x"), ":2: event 'wizard.spell' is not known"),
        (event("assistant.usage", "x", inputTokens=9), ":2: event 'assistant.usage' is not known"),
        (user("x", "hi", new_text="ho"), ":2: .*'user.message' holds something under 'new_text'"),
        (event("user.message", "x"), ":2: an event of type 'user.message' has no content"),
        (event("assistant.message", "x"), ":2: .*'assistant.message' has no content"),
        (answered("x", "c1"), ":2: a tool has neither a result nor an error"),
        (answer("x", "hi", {"name": "ls"}), ":2: a call of the tool 'ls' has no arguments"),
        ({**user("x", "hi"), "timestamp": "noon"}, ":2: not as expected"),
        ({**user("x", "hi"), "data": "hi"}, ":2: not as expected"),
    ],
)
def test_what_is_wrong_is_named(transcript: Transcript, record: Record, reason: str) -> None:
    path = transcript(START, record, user("u", "hi"))
    with pytest.raises(InputError, match=reason):
        list(transcripts.read(path, strict=True))
    (passed,) = read(path).passed_over
    assert passed.count == 1
    assert passed.tokens == (9 if "usage" in reason else 0)


def test_what_was_thought_before_no_answer_is_kept(transcript: Transcript) -> None:
    path = transcript(START, user("u", "hi"), event("assistant.reasoning", "r", content="hm"))
    conversation = read(path)
    thought = conversation.messages[-1]
    assert (thought.text, thought.origin, thought.call) == ("hm", "aborted", None)


def test_a_system_prompt_that_came_later_is_counted(transcript: Transcript) -> None:
    later = event("system.message", "t", content="You test.")
    first = event("system.message", "s", content="You help.")
    conversation = read(transcript(START, first, user("u", "hi"), first, later))
    assert [part.text for part in conversation.system] == ["You help."]
    (passed,) = conversation.passed_over
    assert (passed.kind, passed.characters) == ("later system prompt", 9)


def metrics(input: int, read: int, written: int, output: int) -> Record:
    usage = {"inputTokens": input, "cacheReadTokens": read, "cacheWriteTokens": written}
    return {"requests": {"count": 1}, "usage": {**usage, "outputTokens": output}}


def end(second: int, /, **models: Record) -> Record:
    named = {name.replace("_", "-"): each for name, each in models.items()}
    return event("session.shutdown", f"end-{second}", second, modelMetrics=named)


def sides(conversation: Conversation) -> list[tuple[str, str, Usage | None]]:
    requests = conversation.side_requests
    return [(side.purpose, side.call.model, side.call.usage) for side in requests]


def test_an_end_tells_what_the_answers_do_not(transcript: Transcript) -> None:
    path = transcript(
        START, user("u", "hi"), answer("a", "x", outputTokens=30),
        {**answer("b", "y", outputTokens=12), "agentId": "g"},
        answer("a", "more", outputTokens=30),
        end(9, gpt_5_mini=metrics(1_000, 700, 200, 50), haiku=metrics(40, 0, 0, 3)),
    )  # fmt: skip
    main, agent = transcripts.read(path)
    assert [m.call.usage for m in (*main.calls, *agent.calls) if m.call] == [
        Usage(output=30),
        Usage(output=12),
    ]
    assert sides(main) == [
        ("session", "gpt-5-mini", Usage(100, 700, 200, output=8)),
        ("session", "haiku", Usage(40, output=3)),
    ]
    assert main.side_requests[0].time == main.messages[0].time + 8
    assert not agent.side_requests


def test_what_an_answer_told_under_another_name_is_counted_once(transcript: Transcript) -> None:
    told = answer("a", "x", outputTokens=30, model="auto")
    path = transcript(START, user("u", "hi"), told, end(9, sonnet=metrics(10, 0, 0, 50)))
    assert sides(read(path)) == [("session", "sonnet", Usage(10, output=20))]


@pytest.mark.parametrize("again", [metrics(300, 150, 0, 70), metrics(200, 100, 0, 40)])
def test_a_resumed_session_counts_on_or_begins_anew(transcript: Transcript, again: Record) -> None:
    """Of 1.0.78 totals are of all processes, before they were of the last."""
    path = transcript(
        START, user("u", "hi"), answer("a", "x", outputTokens=30),
        end(9, gpt_5_mini=metrics(100, 50, 0, 30)), event("session.resume", "r"),
        user("v", "on"), answer("b", "y", outputTokens=40), end(20, gpt_5_mini=again),
        end(21, gpt_5_mini=again),
    )  # fmt: skip
    first, second = (usage for _, _, usage in sides(read(path)))
    assert (first, second) == (Usage(50, 50), Usage(100, 100))


def test_an_end_without_models_has_details(transcript: Transcript) -> None:
    details = {"input": {"tokenCount": 2}, "cache_write": {"tokenCount": 9}}
    shut = event("session.shutdown", "e", 9, tokenDetails=details, currentModel="x")
    assert sides(read(transcript(START, user("u", "hi"), shut))) == [
        ("session", "x", Usage(2, cache_write_5m=9))
    ]


@pytest.mark.parametrize(
    "used",
    [
        {"inputTokens": 900, "outputTokens": 40, "cacheReadTokens": 800, "model": "gpt-5-mini"},
        {"input": 900, "output": 40, "cachedInput": 800},
    ],
)
def test_a_compaction_tells_what_it_took(transcript: Transcript, used: Record) -> None:
    done = {"success": True, "summaryContent": "so", "compactionTokensUsed": used}
    path = transcript(
        START, user("u", "hi"), answer("a", "x", outputTokens=30),
        event("session.compaction_complete", "c", 5, **done),
        end(9, gpt_5_mini=metrics(2_000, 800, 0, 70)),
    )  # fmt: skip
    conversation = read(path)
    (compaction,) = conversation.compactions
    assert compaction.call is not None
    assert compaction.call.usage == Usage(100, 800, output=40)
    assert sides(conversation) == [("session", "gpt-5-mini", Usage(1_100))]


def test_the_examples_are_read(shared: Path) -> None:
    # The times of one are cut out of it.
    files = sorted((shared / "formats" / "copilot").rglob("*.jsonl"))
    if not files:
        pytest.skip("the examples of other clients are not beside the checkout")
    read_of = {}
    for path in files:
        if 'trimmed for fixture]","parentId' not in path.read_text("utf-8"):
            read_of[path.name] = len([*read(path).calls])
    assert read_of, files
    assert all(read_of.values()), read_of
