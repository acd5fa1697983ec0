"""Traces of model calls, in OTLP JSON by OpenTelemetry's conventions for GenAI."""

from __future__ import annotations

import json
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

COUNTS = {
    "gen_ai.usage.input_tokens": 124,
    "gen_ai.usage.cache_read.input_tokens": 100,
    "gen_ai.usage.cache_write.input_tokens": 20,
    "gen_ai.usage.output_tokens": 9,
}


def value(inner: Any) -> Record:
    if isinstance(inner, bool):
        return {"boolValue": inner}
    if isinstance(inner, int):
        return {"intValue": str(inner)}
    if isinstance(inner, list):
        return {"arrayValue": {"values": [value(each) for each in inner]}}
    if isinstance(inner, dict):
        return {"kvlistValue": {"values": attributes(inner)}}
    return {"stringValue": inner}


def attributes(told: Record) -> list[Record]:
    return [{"key": key, "value": value(inner)} for key, inner in told.items()]


def span(second: int, trace: str = "t", **told: Any) -> Record:
    told = {key.replace("__", "."): inner for key, inner in told.items()}
    base = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "claude-x"}
    return {
        "traceId": trace,
        "spanId": f"s{second}",
        "startTimeUnixNano": str(second * 10**9),
        "endTimeUnixNano": str((second + 2) * 10**9),
        "attributes": attributes({**base, **told}),
    }


def traces(*spans: Record) -> Record:
    resource = {"attributes": attributes({"service.name": "agent", "service.version": "3"})}
    scopes = [{"scope": {"name": "x"}, "spans": list(spans)}]
    return {"resourceSpans": [{"resource": resource, "scopeSpans": scopes}]}


def said(role: str, *parts: Any) -> Record:
    texts = [{"type": "text", "content": p} if isinstance(p, str) else p for p in parts]
    return {"role": role, "parts": texts}


def talk(asked: list[Record], *answered: Record) -> Record:
    return {
        "gen_ai.input.messages": json.dumps(asked),
        "gen_ai.output.messages": json.dumps(list(answered)),
    }


def read(path: Path) -> Conversation:
    (conversation,) = transcripts.read(path)
    assert conversation.format == "otlp"
    return conversation


ASKS = {"type": "tool_call", "id": "c1", "name": "ls", "arguments": {"at": "."}}
GIVES = {"type": "tool_call_response", "id": "c1", "response": "a.py"}
THINKS = {"type": "reasoning", "content": "hm"}
HI = said("user", "hi")


def test_a_conversation_is_put_together_from_its_calls(transcript: Transcript) -> None:
    told = {"gen_ai.system_instructions": json.dumps([{"type": "text", "content": "You code."}])}
    path = transcript(
        traces(
            span(1, **talk([HI], said("assistant", THINKS, "I look.", ASKS)), **COUNTS, **told),
            # The tool's own span, and that of the agent around it all, ask no model.
            span(3, gen_ai__operation__name="execute_tool"),
            span(0, gen_ai__operation__name="invoke_agent", **COUNTS),
        ),
        traces(
            span(
                5,
                **talk(
                    [
                        HI,
                        said("assistant", "I look.", {**ASKS, "arguments": '{"at": "."}'}),
                        said("tool", GIVES),
                    ],
                    said("assistant", "Done."),
                ),
            )
        ),
    )
    conversation = read(path)
    assert [part.text for part in conversation.system] == ["You code."]
    asked, reply, result, last = conversation.messages
    assert (asked.text, asked.time) == ("hi", 1)
    assert [part.type for part in reply.parts] == ["thinking", "text", "tool_call"]
    assert reply.parts[2].text == '{"at":"."}'
    usage = Usage(4, 100, 20, output=9)
    assert reply.call == Call("claude-x", usage, version="agent 3")
    assert (reply.time, result.time) == (3, 5)
    assert (result.role, result.parts[0].name, result.text) == ("tool", "ls", "a.py")
    assert last.call is not None
    assert last.call.usage is None


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        (
            {"gen_ai.usage.prompt_tokens": 9, "gen_ai.usage.completion_tokens": 2},
            Usage(9, output=2),
        ),
        # Anthropic's own count of the input, which leaves out what was cached.
        ({**COUNTS, "gen_ai.usage.input_tokens": 4}, Usage(4, 100, 20, output=9)),
        (
            {
                "gen_ai.usage.input_tokens": 30,
                "gen_ai.usage.cache_read_input_tokens": 10,
                "gen_ai.usage.cache_creation.input_tokens": 5,
            },
            Usage(15, 10, 5),
        ),
    ],
)
def test_usage_under_older_names(transcript: Transcript, counts: Record, expected: Usage) -> None:
    path = transcript(traces(span(1, **talk([HI], said("assistant", "ho")), **counts)))
    assert [m.call.usage for m in read(path).messages if m.call] == [expected]


def test_spans_without_content_are_read_for_their_money_alone(transcript: Transcript) -> None:
    path = transcript(traces(span(1, **COUNTS), span(2, **COUNTS)))
    first, second = read(path).messages
    assert first.parts[0].kind == "opaque"
    assert first.parts[0].size == 9
    assert second.call is not None
    assert second.call.usage == Usage(4, 100, 20, output=9)


def test_without_content_and_usage_there_is_nothing(transcript: Transcript) -> None:
    with pytest.raises(InputError, match="no messages"):
        list(transcripts.read(transcript(traces(span(1))), strict=True))


def test_what_goes_back_is_a_rewind_and_what_begins_anew_another_conversation(
    transcript: Transcript,
) -> None:
    one, two = said("assistant", "1"), said("user", "two")
    path = transcript(
        traces(
            span(1, **talk([HI], one)),
            span(2, **talk([HI, one, two], said("assistant", "2"))),
            span(3, **talk([HI, one, said("user", "again")], said("assistant", "3"))),
            span(4, **talk([said("user", "summary")], said("assistant", "4"))),
            span(5, trace="u", **talk([HI], one)),
            span(6, trace="u", gen_ai__conversation__id="t", **talk([HI, one], one)),
        )
    )
    told = {
        c.id: [f"<- {e.to}" if isinstance(e, Rewind) else getattr(e, "text", "") for e in c.events]
        for c in transcripts.read(path)
    }
    assert told == {
        "story": ["hi", "1", "two", "2", "<- m2", "again", "3", "<- m2", "1"],
        "story#2": ["summary", "4"],
        "story/2": ["hi", "1"],
    }


def test_messages_as_attributes_in_events_and_as_values_that_are_no_text(
    transcript: Transcript,
) -> None:
    indexed = {
        "gen_ai.prompt.0.role": "system",
        "gen_ai.prompt.0.content": "Be kind.",
        "gen_ai.prompt.1.role": "user",
        "gen_ai.prompt.1.content": "hi",
        "gen_ai.completion.0.content": "I look.",
        "gen_ai.completion.0.tool_calls.0.id": "c1",
        "gen_ai.completion.0.tool_calls.0.name": "ls",
        "gen_ai.completion.0.tool_calls.0.arguments": '{"at": "."}',
    }
    first = read(transcript(traces(span(1, **indexed))))
    assert [p.text for p in first.system] == ["Be kind."]
    assert [m.text for m in first.messages] == ["hi", 'I look.\n{"at":"."}']
    structured = {
        "gen_ai.input.messages": [HI],
        "gen_ai.output.messages": [said("assistant", "ho")],
    }
    detailed = span(1)
    detailed["events"] = [
        {
            "name": "gen_ai.client.inference.operation.details",
            "attributes": attributes(structured),
        }
    ]
    assert [m.text for m in read(transcript(traces(detailed))).messages] == ["hi", "ho"]


def test_fields_of_later_versions_break_nothing(transcript: Transcript) -> None:
    later = span(1, **talk([HI], said("assistant", "ho")))
    later["attributes"][-1]["value"]["note"] = {"a": 1}
    later |= {"phases": [{"name": "wait", "ms": 4}], "sampled": True}
    assert [m.text for m in read(transcript(traces(later))).messages] == ["hi", "ho"]
    moved = traces(span(2))
    moved["resourceSpans"][0]["traces"] = moved["resourceSpans"][0].pop("scopeSpans")
    with pytest.raises(InputError, match="scopeSpans"):
        list(transcripts.read(transcript(moved), strict=True))
    hidden = {**traces(later), "more": [{"spans": [later]}]}
    with pytest.raises(InputError, match="spans or attributes under 'more'"):
        list(transcripts.read(transcript(hidden), strict=True))


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ({"gen_ai.input.messages": '[{"role": "us'}, "perhaps they were cut off"),
        (talk([said("robot", "hi")]), "'robot' is no role of a message"),
        (talk([said("user", {"type": "smell"})]), "a part of type 'smell' is not known"),
        (talk([{"role": "user", "body": "hi"}]), "a message holds something under 'body'"),
        (talk([said("user", {"type": "text", "content": "a", "new_text": "b"})]), "'new_text'"),
        ({"gen_ai.usage.input_tokens": -3}, "Expected `int` >= 0"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(
    transcript: Transcript, told: Record, reason: str
) -> None:
    good = traces(span(1, **talk([HI], said("assistant", "ho"))))
    with pytest.raises(InputError, match=rf"story\.jsonl:2: .*{reason}"):
        list(transcripts.read(transcript(good, traces(span(2, **told))), strict=True))
