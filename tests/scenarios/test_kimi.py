"""Sessions of Kimi Code CLI."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compactlab.scenarios.readers import transcript as transcripts
from compactlab.scenarios.readers.homes import places
from compactlab.sim.core.conversation import Compaction, Conversation, Rewind
from compactlab.sim.core.errors import InputError, RefusedError
from compactlab.sim.core.message import Call, Usage
from tests.scenarios.spoken import write

Transcript = Callable[..., Path]
Record = dict[str, Any]

HEAD = {"type": "metadata", "protocol_version": "1.5", "created_at": 1767225600000}
REQUEST = {"type": "llm.request", "model": "kimi-k2", "thinkingEffort": "on"}
COUNTS = {"inputOther": 4, "output": 9, "inputCacheRead": 100, "inputCacheCreation": 20}


def text(words: str) -> Record:
    return {"type": "text", "text": words}


def record(type: str, second: int = 0, /, **more: Any) -> Record:
    return {"type": type, "time": 1767225600000 + 1000 * second, **more}


def said(words: str, second: int = 0, role: str = "user", **origin: str) -> Record:
    told = {"role": role, "content": [text(words)], "toolCalls": []}
    message = {**told, "origin": origin or {"kind": "user"}}
    return record("context.append_message", second, message=message)


def event(type: str, second: int = 0, /, **more: Any) -> Record:
    return record("context.append_loop_event", second, event={"type": type, **more})


def step(uuid: str, *events: Record, second: int = 0, counts: Any = COUNTS) -> list[Record]:
    begin, end = event("step.begin", second, uuid=uuid), event("step.end", second + 2, uuid=uuid)
    if counts:
        end["event"]["usage"] = counts
    return [begin, *events, end]


def part(uuid: str, inner: Record) -> Record:
    return event("content.part", stepUuid=uuid, part=inner)


def asks(uuid: str, id: str) -> Record:
    return event("tool.call", stepUuid=uuid, toolCallId=id, name="Read", args={"path": "a.py"})


def gives(id: str, output: Any, second: int = 0, **more: Any) -> Record:
    return event("tool.result", second, toolCallId=id, result={"output": output, **more})


def read(path: Path) -> Conversation:
    (conversation,) = transcripts.read(path)
    assert conversation.format == "kimi"
    return conversation


def test_a_session(transcript: Transcript) -> None:
    path = transcript(
        HEAD,
        record("config.update", systemPrompt="You code.", modelAlias="moonshot-ai/kimi-k2"),
        record("llm.tools_snapshot", hash="0", tools=[{"name": "Read"}]),
        record("turn.prompt", 1, input=[text("Fix it.")], origin={"kind": "user"}),
        said("Fix it.", 1),
        REQUEST,
        *step(
            "s",
            part("s", {"type": "think", "think": "hm"}),
            part("s", text("I look.")),
            asks("s", "c1"),
            said("Mind the tests.", 2, kind="injection", variant="reminder"),
            gives("c1", "pass", 3, isError=True, note="1 line"),
            second=2,
        ),
        record("usage.record", 5, model="moonshot-ai/kimi-k2", usage=COUNTS),
        REQUEST,
        *step("t", part("t", text("Done.")), second=6, counts=None),
        record("usage.record", 8, model="kimi-k2", usage={"inputOther": 7, "output": 1}),
    )
    conversation = read(path)
    assert [each.text for each in conversation.system] == ["You code.", '[{"name":"Read"}]']
    asked, reply, result, reminder, last = conversation.messages
    assert (asked.text, asked.starts_turn) == ("Fix it.", True)
    assert [each.type for each in reply.parts] == ["thinking", "text", "tool_call"]
    assert reply.parts[2].text == '{"path":"a.py"}'
    assert reply.call == Call("kimi-k2", Usage(4, 100, 20, output=9), thinking="on", id="s")
    assert (result.role, result.parts[0].name, result.parts[0].is_error) == ("tool", "Read", True)
    assert result.text == "pass\n1 line"
    assert (reminder.meta, reminder.origin) == (True, "injection")
    assert last.call is not None
    assert last.call.usage == Usage(7, output=1)
    assert last.time - asked.time == 7


def test_a_step_that_was_stopped_is_no_call_and_an_empty_one_is_counted(
    transcript: Transcript,
) -> None:
    path = transcript(
        HEAD,
        said("hi"),
        *step("a", counts=None),
        *step("b", event("content.part", part=text("half")), counts=None),
        record("usage.record", model="x", usage=COUNTS, usageScope="session"),
        *step("c"),
    )
    _, half, empty = read(path).messages
    assert half.call is None
    assert (empty.parts[0].kind, empty.parts[0].size) == ("opaque", 9)
    assert empty.call is not None


def test_in_a_log_that_counts_nothing_every_step_is_a_call(transcript: Transcript) -> None:
    path = transcript(HEAD, said("hi"), REQUEST, *step("a", part("a", text("ho")), counts=None))
    assert [m.call for m in read(path).messages] == [None, Call("kimi-k2", thinking="on")]


def test_a_compaction_keeps_what_the_user_said(transcript: Transcript) -> None:
    counts = {"compactedCount": 7, "tokensBefore": 900, "keptUserMessageCount": 3}
    told = {"summary": "S", "contextSummary": "So far: S", "keptHeadUserMessageCount": 1}
    turns = [r for n in range(4) for r in (said(f"u{n}"), *step(str(n), part(str(n), text("ok"))))]
    path = transcript(
        HEAD,
        *turns,
        record("full_compaction.begin", 3, source="auto"),
        record("usage.record", 3, model="x", usage=COUNTS),
        record("context.apply_compaction", 4, **counts, **told),
        record("full_compaction.complete", 4),
        said("go on", 5),
    )
    conversation = read(path)
    (compaction,) = (each for each in conversation.events if isinstance(each, Compaction))
    assert [m.text for m in compaction.inserted] == ["u0", "u2", "u3", "So far: S"]
    assert [m.parts[0].kind for m in compaction.inserted] == [*["verbatim"] * 3, "summary"]
    kept = compaction.inserted[0].parts[0].sources[0]
    assert kept.id == conversation.messages[0].id
    assert (compaction.trigger, compaction.tokens_before) == ("auto", 900)
    assert len([m for m in conversation.messages if m.call]) == 4


def test_an_older_compaction_keeps_the_end(transcript: Transcript) -> None:
    path = transcript(
        HEAD,
        said("one"),
        *step("a", part("a", text("1"))),
        said("two"),
        record("context.apply_compaction", summary="S", compactedCount=2, tokensBefore=9),
    )
    conversation = read(path)
    (compaction,) = (each for each in conversation.events if isinstance(each, Compaction))
    assert compaction.kept_from == conversation.messages[2].id
    assert [m.text for m in compaction.inserted] == ["S"]


def test_undo_goes_back_before_prompts_but_not_beyond_a_compaction(transcript: Transcript) -> None:
    path = transcript(
        HEAD,
        said("one"),
        *step("a", part("a", text("1"))),
        said("two"),
        *step("b", part("b", text("2"))),
        record("context.undo", count=1),
        said("again"),
        record("context.apply_compaction", summary="S", keptUserMessageCount=0),
        record("context.undo", count=1),
        said("three"),
        record("context.clear"),
        said("anew"),
    )
    conversation = read(path)
    kinds = [
        f"<- {e.to}" if isinstance(e, Rewind) else getattr(e, "text", "compaction")
        for e in conversation.events
    ]
    second = conversation.messages[1].id
    assert kinds == [
        *("one", "1", "two", "2", f"<- {second}", "again", "compaction", "three", "<- ", "anew")
    ]


def test_every_agent_has_a_log_and_a_conversation(tmp_path: Path) -> None:
    delegated = said("look", kind="system_trigger", name="subagent")
    names = {}
    for agent, first in (("main", said("hi")), ("agent-0", delegated)):
        path = tmp_path / "session_7" / "agents" / agent / "wire.jsonl"
        path.parent.mkdir(parents=True)
        names[read(write(path, [HEAD, first])).id] = agent
        assert read(path).turns == 1
        assert read(path).subagent == (agent == "agent-0")
    assert names == {"session_7": "main", "session_7#agent-0": "agent-0"}


def test_records_of_later_versions_break_nothing(transcript: Transcript) -> None:
    path = transcript(
        HEAD,
        record("weather.noted", sky="blue", degrees=7, places=["here"]),
        record("permission.asked", message="May I?"),
        record("context.measured", length=3, tokens=9),
        record("micro_compaction.apply", cutoff=4),
        event("step.retried", uuid="s", attempt=2),
        {**said("hi"), "trace": {"id": "x"}},
    )
    conversation = read(path)
    assert [m.text for m in conversation.messages] == ["hi"]
    assert [str(one) for one in conversation.passed_over] == [
        "1 x record 'weather.noted' (8 characters)",
        "1 x record 'context.measured' (9 tokens)",
        "1 x record 'micro_compaction.apply'",
        "1 x event 'step.retried'",
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (record("context.append_message"), "there is no message"),
        (said("hi", role="wizard"), "'wizard' is no role of a message"),
        (record("context.append_message", message={"role": "user"}), "has no content"),
        (record("new.words", text="hi"), "record 'new.words' is not known"),
        ({**said("hi"), "new_text": "ho"}, "holds something under 'new_text'"),
        (event("part.added", part=text("hi")), "event 'part.added' is not known"),
        (event("step.end", new_text="hi"), "holds something under 'new_text'"),
        (gives("c1", 5), "Expected"),
        (event("step.end", usage={"inputOther": -1}), "Expected `int` >= 0"),
    ],
)
def test_what_is_wrong_is_counted_or_named_with_its_line(
    transcript: Transcript, line: Record, reason: str
) -> None:
    path = transcript(HEAD, said("hi"), line)
    with pytest.raises(InputError, match=rf"story\.jsonl:3: .*{reason}"):
        list(transcripts.read(path, strict=True))
    (passed,) = read(path).passed_over
    assert passed.count == 1


@pytest.mark.parametrize(
    "line",
    [
        record("context.splice", start=0, deleteCount=1, messages=[]),
        record("context.fold", messages=[1]),
        record("context.more", event={"type": "x"}),
        record("context.apply_compaction"),
    ],
)
def test_a_change_of_the_context_that_is_not_understood_is_refused(
    transcript: Transcript, line: Record
) -> None:
    with pytest.raises(RefusedError, match=r"story\.jsonl:3: Kimi Code .* --lenient"):
        read(transcript(HEAD, said("hi"), line))


def test_the_request_for_a_summary_is_the_compaction_s(transcript: Transcript) -> None:
    counted = record("usage.record", 3, model="x", usage=COUNTS, usageScope="session")
    turn = record("usage.record", 3, model="x", usage=COUNTS, usageScope="turn")
    path = transcript(
        HEAD,
        said("hi"),
        *step("a", part("a", text("ho"))),
        record("full_compaction.begin", 3, source="auto"),
        turn,
        counted,
        record("full_compaction.complete", 4),
        record("context.apply_compaction", 4, summary="S", keptUserMessageCount=0),
        record("full_compaction.begin", 5, source="auto"),
        counted,
        record("full_compaction.cancel", 6),
        counted,
    )
    conversation = read(path)
    (compaction,) = conversation.compactions
    assert compaction.call == Call("x", Usage(4, 100, 20, output=9))
    assert [(side.purpose, side.call.usage) for side in conversation.side_requests] == [
        ("summary", Usage(4, 100, 20, output=9)),
        ("session", Usage(4, 100, 20, output=9)),
    ]
    assert len(conversation.calls) == 1


def test_a_fork_begins_with_a_copy(transcript: Transcript) -> None:
    path = transcript(
        HEAD, said("hi"), *step("a", part("a", text("ho"))), record("forked"), said("on"),
        *step("b", part("b", text("On."))),
    )  # fmt: skip
    calls = [message.call for message in read(path).calls if message.call]
    assert [(call.id, call.inherited) for call in calls] == [("a", True), ("b", False)]


@pytest.mark.parametrize("back", [record("context.undo", count=1), record("context.clear")])
def test_what_waits_for_a_tool_is_kept(transcript: Transcript, back: Record) -> None:
    path = transcript(
        HEAD, said("one"), *step("a", asks("a", "c1")), said("mind the tests"), back, said("two")
    )
    conversation = read(path)
    assert "mind the tests" in [message.text for message in conversation.messages]
    events = list(conversation.events)
    assert events[-2] == Rewind("")
    assert not conversation.passed_over


def test_its_folder(tmp_path: Path) -> None:
    assert [*places("kimi", {"KIMI_CODE_HOME": str(tmp_path)})] == [("kimi", tmp_path / "sessions")]


def test_the_examples_are_billed_to_the_token(shared: Path) -> None:
    folder = shared / "formats" / "kimi"
    if not folder.is_dir():
        pytest.skip("the examples of other clients are not beside the checkout")
    for name in ("assistant_tools.jsonl", "subagent_agent-0.jsonl"):
        path = folder / name
        records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        ends = [r["event"] for r in records if r.get("event", {}).get("type") == "step.end"]
        counts = [end["usage"] for end in ends if "usage" in end]
        usages = [m.call.usage for m in read(path).messages if m.call]
        assert [u.uncached for u in usages if u] == [c["inputOther"] for c in counts]
        assert [u.cache_read for u in usages if u] == [c["inputCacheRead"] for c in counts]
        assert [u.output for u in usages if u] == [c["output"] for c in counts]
        assert counts
