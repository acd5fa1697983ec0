"""Transcripts with anything anywhere: a reader reads them or says where it cannot."""

from __future__ import annotations

import copy
import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.scenarios.readers import jsonl
from compactlab.scenarios.readers import transcript as transcripts
from compactlab.scenarios.readers.script import Format
from compactlab.sim.core.errors import InputError
from tests.cli.conftest import called

NOON = "2026-01-01T12:00:00.000Z"


def claude(type: str, uuid: str, parent: str | None, **more: Any) -> dict[str, Any]:
    return {"type": type, "uuid": uuid, "parentUuid": parent, "timestamp": NOON, **more}


def pi(type: str, id: str, parent: str | None, **more: Any) -> dict[str, Any]:
    return {"type": type, "id": id, "parentId": parent, "timestamp": NOON, **more}


def codex(type: str, /, **payload: Any) -> dict[str, Any]:
    return {"type": type, "timestamp": NOON, "payload": payload}


def copilot(type: str, id: str, /, **data: Any) -> dict[str, Any]:
    return {"type": type, "id": id, "parentId": None, "timestamp": NOON, "data": data}


def qwen(type: str, uuid: str, parent: str | None, **more: Any) -> dict[str, Any]:
    line = {"uuid": uuid, "parentUuid": parent, "sessionId": "s", "timestamp": NOON}
    return {**line, "type": type, **more}


REQUEST = {"toolCallId": "c1", "name": "ls", "arguments": "{}"}
TEXT = {"type": "text", "text": "hi"}
IMAGE = {"type": "image", "source": {"type": "base64", "data": "iVBORw0KGgo="}}
USE = {"type": "tool_use", "id": "c1", "name": "ls", "input": {"at": [1, None]}}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": [TEXT, IMAGE], "is_error": True}
WRITTEN = {"ephemeral_5m_input_tokens": 1, "ephemeral_1h_input_tokens": 2}
COUNTED = {"input_tokens": 9, "cached_input_tokens": 3, "output_tokens": 1, "total_tokens": 10}
BOUNDARY = {"trigger": "auto", "preTokens": 9, "preservedSegment": {"headUuid": "u"}}
MEMORY = {"type": "nested_memory", "path": "R.md", "content": {"content": "tabs"}}
ASKED = {"role": "user", "content": [TEXT, {"type": "image", "data": "AAAA"}]}
REPLY = {
    "role": "assistant",
    "content": [{"type": "toolCall", "id": "c1", "name": "ls", "arguments": {}}],
    "usage": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0},
}
SHELL = {"role": "bashExecution", "command": "ls", "output": "x", "exitCode": 1}
CALL = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
TURN = {"speaker": "Ana", "dia_id": "D1:1", "text": "hi", "blip_caption": "a cat"}
ASKS = {"question": "?", "category": 4, "evidence": ["D1:1"], "answer": "hi"}
KIMI_ASKED = {"role": "user", "content": [TEXT], "toolCalls": [], "origin": {"kind": "user"}}
INLINE = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
ANSWERED = {
    "content": [{"text": "so", "thought": True}],
    "thoughts": [{"subject": "s", "description": "d"}],
    "tokens": {"input": 9, "output": 1, "cached": 3, "thoughts": 1, "tool": 0, "total": 11},
    "toolCalls": [
        {
            "id": "c1",
            "name": "ls",
            "args": {"at": 1},
            "status": "error",
            "result": [{"functionResponse": {"id": "c1", "response": {"error": "x"}}}],
        }
    ],
}
CALLED = {"role": "model", "parts": [{"functionCall": {"name": "ls", "args": {"at": 1}}}]}
RETURNED = {"role": "user", "parts": [{"functionResponse": {"name": "ls", "response": {"x": 1}}}]}
METADATA = {"promptTokenCount": 9, "candidatesTokenCount": 1, "cachedContentTokenCount": 3}
COMPRESSED = {
    "info": {"originalTokenCount": 9},
    "compressedHistory": [{"role": "user", "parts": [{"text": "so far"}]}, CALLED, RETURNED],
}
BOOKED = {"id": "c1", "function": {"name": "get_it", "arguments": '{"at": {"id": "K77"}}'}}

COUNTED = {"input_tokens": 1, "output_tokens": 1}

STORIES: dict[str, list[Any]] = {
    "mini-swe-agent": [
        {
            "trajectory_format": "mini-swe-agent-1.1",
            "info": {"config": {"model": {"model_name": "x"}}},
            "messages": [
                {"role": "system", "content": "You help."},
                {"role": "user", "content": "hi"},
                {
                    "role": "assistant",
                    "content": "ls",
                    "extra": {"response": {"id": "r", "model": "x", "usage": COUNTED}},
                },
                {"role": "user", "content": "x", "extra": {"returncode": 0, "timestamp": 1e9}},
                {"role": "exit", "content": ""},
            ],
        }
    ],
    "inspect": [
        {
            "eval": {"task": "t", "model": "x", "created": NOON},
            "samples": [
                {
                    "id": 1,
                    "epoch": 1,
                    "events": [
                        {"event": "compaction", "tokens_before": 9},
                        {
                            "event": "model",
                            "model": "x",
                            "timestamp": NOON,
                            "input_refs": [[0, 1]],
                            "tools": [],
                            "output": {
                                "model": "x",
                                "choices": [{"message": {"role": "assistant", "content": "ho"}}],
                                "usage": COUNTED,
                            },
                        },
                    ],
                    "events_data": {"messages": [{"role": "user", "content": "attachment://a"}]},
                    "attachments": {"a": "hi"},
                    "model_usage": {"x": {"input_tokens": 9, "output_tokens": 1}},
                }
            ],
        }
    ],
    "langfuse": [
        {
            "id": "t",
            "sessionId": "s",
            "observations": [
                {
                    "id": "o",
                    "type": "GENERATION",
                    "startTime": NOON,
                    "model": "x",
                    "input": [{"role": "user", "content": "hi"}],
                    "output": "ho",
                    "usageDetails": {"input": 9, "cache_read_input_tokens": 3, "output": 1},
                },
                {"id": "p", "type": "SPAN", "startTime": NOON, "model": None},
            ],
        }
    ],
    "langsmith": [
        {
            "id": "r",
            "run_type": "chain",
            "inputs": {},
            "child_runs": [
                {
                    "id": "q",
                    "run_type": "llm",
                    "start_time": NOON,
                    "inputs": {"messages": [[{"type": "human", "content": "hi"}]]},
                    "outputs": {
                        "generations": [
                            [{"message": {"kwargs": {"content": "ho", "usage_metadata": COUNTED}}}]
                        ]
                    },
                    "extra": {"metadata": {"ls_model_name": "x"}},
                }
            ],
        }
    ],
    "openhands": [
        {"id": 1, "source": "user", "action": "message", "args": {"content": "hi"}},
        {
            "id": 2,
            "timestamp": NOON,
            "source": "agent",
            "action": "run",
            "args": {"command": "ls"},
            "llm_metrics": {"accumulated_token_usage": {"prompt_tokens": 9}},
        },
        {"id": 3, "source": "agent", "observation": "run", "content": "x", "cause": 2},
        {
            "id": 4,
            "source": "agent",
            "action": "condensation",
            "args": {"forgotten_events_start_id": 2, "forgotten_events_end_id": 3},
        },
        {
            "kind": "MessageEvent",
            "id": "m",
            "source": "agent",
            "llm_message": {"role": "assistant", "content": [TEXT]},
            "llm_response_id": "r1",
        },
        {
            "kind": "ConversationStateUpdateEvent",
            "source": "environment",
            "value": {
                "usage_to_metrics": {
                    "agent": {"token_usages": [{"response_id": "r1", "prompt_tokens": 9}]}
                }
            },
        },
    ],
    "amp": [
        {
            "id": "T-1",
            "created": 1767268800000,
            "messages": [
                {"role": "user", "messageId": 0, "content": [TEXT], "meta": {"sentAt": 9}},
                {
                    "role": "assistant",
                    "messageId": 1,
                    "content": [USE],
                    "usage": {"model": "x", "inputTokens": 9, "outputTokens": 1},
                },
            ],
            "usageLedger": {
                "events": [{"timestamp": NOON, "model": "x", "tokens": {"input": 9, "output": 1}}]
            },
        }
    ],
    "cline": [
        [
            {"role": "user", "content": "<task>hi</task>", "ts": 1767268800000},
            {"role": "assistant", "content": [TEXT], "ts": 1767268801000, "condenseParent": "s"},
            {"role": "user", "content": "so far", "isSummary": True, "condenseId": "s"},
            {
                "role": "assistant",
                "content": [USE],
                "modelInfo": {"modelId": "x", "providerId": "y"},
            },
        ]
    ],
    "cline-session": [
        {
            "version": 1,
            "sessionId": "s",
            "agent": "lead",
            "messages": [
                {"role": "user", "content": "hi", "ts": 1767268800000},
                {
                    "role": "assistant",
                    "content": [TEXT],
                    "modelInfo": {"id": "x"},
                    "metrics": {"inputTokens": 9, "outputTokens": 1, "cacheReadTokens": 3},
                },
            ],
        }
    ],
    "claude-code": [
        claude("user", "u", None, message={"content": [TEXT, IMAGE]}, origin={"kind": "human"}),
        claude(
            "assistant",
            "a",
            "u",
            requestId="r",
            message={
                "id": "m",
                "model": "x",
                "content": [{"type": "thinking", "thinking": ""}, USE],
                "usage": {"input_tokens": 1, "output_tokens": 1, "cache_creation": WRITTEN},
            },
        ),
        claude("user", "t", "a", message={"content": [RESULT]}),
        claude("system", "b", None, subtype="compact_boundary", compactMetadata=BOUNDARY),
        claude("user", "s", "b", isCompactSummary=True, message={"content": "so far"}),
        claude("attachment", "x", "s", attachment=MEMORY),
        claude("user", "v", "u", message={"content": "again"}),
        claude("user", "w", None, isSidechain=True, agentId="g", message={"content": "aside"}),
    ],
    "claude-stream-json": [
        {"type": "system", "subtype": "init", "session_id": "s", "cwd": "/srv", "model": "x"},
        {
            "type": "assistant",
            "session_id": "s",
            "uuid": "a",
            "parent_tool_use_id": None,
            "message": {"id": "m", "model": "x", "content": [TEXT, USE], "usage": COUNTED},
        },
        {
            "type": "user",
            "session_id": "s",
            "uuid": "t",
            "parent_tool_use_id": None,
            "message": {"role": "user", "content": [RESULT]},
        },
        {
            "type": "stream_event",
            "session_id": "s",
            "parent_tool_use_id": None,
            "event": {"type": "message_delta", "usage": COUNTED},
        },
        {
            "type": "system",
            "subtype": "compact_boundary",
            "session_id": "s",
            "uuid": "b",
            "compact_metadata": {"trigger": "auto", "pre_tokens": 9},
        },
        {
            "type": "user",
            "session_id": "s",
            "uuid": "v",
            "parent_tool_use_id": None,
            "isSynthetic": True,
            "message": {"role": "user", "content": "so far"},
        },
        {
            "type": "result",
            "session_id": "s",
            "num_turns": 1,
            "usage": COUNTED,
            "modelUsage": {"x": {"inputTokens": 9, "outputTokens": 9}},
        },
    ],
    "pi": [
        {"type": "session", "version": 3, "id": "s", "timestamp": NOON},
        pi("message", "a", None, message=ASKED),
        pi("message", "b", "a", message=REPLY),
        pi("message", "c", "b", message={**RESULT, "role": "toolResult", "toolCallId": "c1"}),
        pi("compaction", "d", "c", summary="s", firstKeptEntryId="b", tokensBefore=9),
        pi("custom_message", "e", "d", content=[TEXT]),
        pi("message", "f", "e", message=SHELL),
        pi("branch_summary", "g", "b", summary="s"),
    ],
    "codex": [
        codex("session_meta", base_instructions={"text": "code"}),
        codex("turn_context", model="x"),
        codex("response_item", type="message", role="user", content=[TEXT]),
        codex("response_item", type="reasoning", summary=[], encrypted_content="x"),
        codex("response_item", type="function_call", name="ls", arguments="{}", call_id="c1"),
        codex("response_item", type="function_call_output", output={"content": [TEXT]}),
        codex(
            "event_msg",
            type="token_count",
            info={"total_token_usage": COUNTED, "last_token_usage": COUNTED},
        ),
        codex("compacted", message="s", replacement_history=[{"type": "message", "content": "s"}]),
        codex("event_msg", type="thread_rolled_back", num_turns=1),
    ],
    "codex-exec": [
        {"type": "thread.started", "thread_id": "t"},
        {"type": "item.started", "item": {"id": "i", "type": "command_execution", "command": "ls"}},
        {"type": "item.completed", "item": {"id": "j", "type": "agent_message", "text": "so"}},
        {"type": "turn.completed", "usage": COUNTED},
        {"type": "item.completed", "item": {"id": "k", "type": "file_change", "changes": []}},
        {"type": "error", "message": "no"},
    ],
    "gemini": [
        {"sessionId": "s", "projectHash": "0b7d", "startTime": NOON},
        {"id": "u", "timestamp": NOON, "type": "user", "content": [{"text": "hi"}, INLINE]},
        {"id": "g", "timestamp": NOON, "type": "gemini", **ANSWERED},
        {"id": "v", "timestamp": NOON, "type": "user", "content": "again"},
        {"$rewindTo": "v"},
        {"$set": {"messages": [{"id": "z", "type": "user", "content": [{"text": "so far"}]}]}},
        {"id": "w", "timestamp": NOON, "type": "user", "content": "on"},
    ],
    "copilot": [
        copilot("session.start", "e1", selectedModel="x", copilotVersion="1.0.77"),
        copilot("user.message", "e2", content="hi", transformedContent="<now/>hi"),
        copilot("assistant.reasoning", "e3", reasoningId="r", content="so"),
        copilot("assistant.message", "e4", messageId="m", content="x", toolRequests=[REQUEST]),
        copilot("tool.execution_complete", "e5", toolCallId="c1", error={"message": "no"}),
        copilot("assistant.message", "e6", parentToolCallId="c1", content="y", toolRequests=[]),
        copilot("session.compaction_complete", "e7", success=True, summaryContent="s"),
        copilot("user.message", "e8", content="again"),
        copilot("session.snapshot_rewind", "e9", upToEventId="e8", eventsRemoved=1),
    ],
    "qwen": [
        qwen("user", "a", None, message={"role": "user", "parts": [{"text": "hi"}, INLINE]}),
        qwen("assistant", "b", "a", message=CALLED, model="x", usageMetadata=METADATA),
        qwen("tool_result", "c", "b", message=RETURNED, toolCallResult={"status": "error"}),
        qwen("system", "d", "c", subtype="chat_compression", systemPayload=COMPRESSED),
        qwen("system", "e", "a", subtype="rewind", systemPayload={"truncatedCount": 2}),
        qwen("user", "f", "e", message={"role": "user", "parts": [{"text": "again"}]}),
        qwen("user", "g", None, isSidechain=True, agentId="x", message=CALLED),
    ],
    "openai-chat": [
        {"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": [TEXT]}]},
        {"role": "assistant", "tool_calls": [CALL], "function_call": {"name": "f"}},
        {"role": "tool", "tool_call_ids": ["c1"], "content": "x"},
    ],
    "locomo": [
        [
            {
                "conversation": {
                    "speaker_a": "Ana",
                    "speaker_b": "Ben",
                    "session_1": [TURN, {**TURN, "dia_id": "D1:2", "speaker": "Ben"}],
                    "session_1_date_time": "1:56 pm on 8 May, 2023",
                },
                "qa": [ASKS, {**ASKS, "category": 5}],
                "sample_id": "s",
            }
        ],
    ],
    "tau-bench": [
        {
            "task_id": 1,
            "trial": 0,
            "info": {"task": {"actions": [{"kwargs": {"at": [{"id": "K77"}], "n": 1}}]}},
            "traj": [
                {"role": "user", "content": "K77"},
                {"role": "assistant", "content": None, "tool_calls": [BOOKED]},
                {"role": "tool", "tool_call_id": "c1", "name": "get_it", "content": "K77"},
            ],
        },
    ],
    "swe-agent": [
        {
            "history": [
                {"role": "user", "content": "so", "is_demo": True, "agent": "main"},
                {"role": "user", "content": [TEXT], "agent": "main"},
                {"role": "assistant", "content": "x", "thought": "t", "action": "ls", "agent": "a"},
                {"role": "user", "content": "out", "agent": "main"},
                {"role": "assistant", "tool_calls": [CALL], "action": "ls", "agent": "main"},
                {"role": "tool", "tool_call_ids": ["c1"], "content": "x", "agent": "main"},
            ]
        },
    ],
    "anthropic-messages": [
        {
            "system": [TEXT],
            "tools": [{"name": "ls"}],
            "messages": [
                {"role": "assistant", "content": [USE]},
                {"role": "user", "content": [RESULT, TEXT]},
            ],
        },
    ],
    "atif": [
        {
            "schema_version": "ATIF-v1.7",
            "agent": {"name": "pi", "version": "1", "model_name": "x"},
            "steps": [
                {"step_id": 1, "source": "user", "message": [TEXT], "timestamp": NOON},
                {
                    "step_id": 2,
                    "source": "agent",
                    "message": "x",
                    "tool_calls": [{"tool_call_id": "c1", "function_name": "ls", "arguments": {}}],
                    "observation": {"results": [{"source_call_id": "c1", "content": [TEXT]}]},
                    "metrics": {
                        "prompt_tokens": 9,
                        "cached_tokens": 3,
                        "extra": {"cache_write_tokens": 2, "cache_creation": WRITTEN},
                    },
                },
                {"source": "system", "message": "", "extra": {"context_management": {}}},
                {"source": "agent", "message": "y", "extra": {"is_sidechain": True}},
            ],
            "subagent_trajectories": [
                {"schema_version": "x", "agent": {}, "steps": [{"source": "user", "message": "z"}]}
            ],
        },
    ],
    "kimi": [
        {"type": "metadata", "protocol_version": "1.4"},
        {"type": "config.update", "systemPrompt": "s", "modelAlias": "x"},
        {"type": "context.append_message", "time": 5, "message": KIMI_ASKED},
        {"type": "context.append_loop_event", "event": {"type": "step.begin", "uuid": "s"}},
        {
            "type": "context.append_loop_event",
            "event": {"type": "content.part", "stepUuid": "s", "part": TEXT},
        },
        {
            "type": "context.append_loop_event",
            "event": {"type": "tool.call", "stepUuid": "s", "toolCallId": "c1", "name": "ls"},
        },
        {"type": "context.append_message", "message": {**KIMI_ASKED, "origin": {"kind": "x"}}},
        {
            "type": "context.append_loop_event",
            "event": {"type": "tool.result", "toolCallId": "c1", "result": {"output": [TEXT]}},
        },
        {"type": "context.append_loop_event", "event": {"type": "step.end", "uuid": "s"}},
        {"type": "usage.record", "model": "x", "usage": {"inputOther": 3, "output": 1}},
        {"type": "full_compaction.begin", "source": "auto"},
        {
            "type": "context.apply_compaction",
            "summary": "s",
            "compactedCount": 2,
            "tokensBefore": 9,
            "keptUserMessageCount": 2,
            "keptHeadUserMessageCount": 1,
        },
        {"type": "context.append_message", "message": KIMI_ASKED},
        {"type": "context.undo", "count": 1},
        {"type": "context.clear"},
    ],
    "hermes": [
        {
            "id": "s",
            "source": "cli",
            "model": "x",
            "started_at": 5.5,
            "messages": [
                {"id": 1, "role": "user", "content": [TEXT], "timestamp": 6.5},
                {"id": 2, "role": "assistant", "tool_calls": json.dumps([CALL]), "active": 1},
                {"id": 3, "role": "tool", "tool_call_id": "c1", "content": "x"},
                {"role": "assistant", "content": "y", "usage": {"prompt_tokens": 4}},
            ],
        },
    ],
    "opencode": [
        {
            "info": {"id": "s", "directory": "/w", "projectID": "p", "time": {"created": 1}},
            "messages": [
                {
                    "info": {"id": "u", "role": "user", "time": {"created": 5}},
                    "parts": [TEXT, {"type": "file", "mime": "image/png", "url": "data:x,AAAA"}],
                },
                {
                    "info": {
                        "id": "a",
                        "role": "assistant",
                        "modelID": "x",
                        "error": None,
                        "tokens": {"input": 4, "output": 1, "cache": {"read": 3, "write": 2}},
                    },
                    "parts": [
                        {"type": "step-start"},
                        {
                            "type": "tool",
                            "tool": "ls",
                            "callID": "c",
                            "state": {"status": "error", "input": {"at": 1}, "error": "x"},
                        },
                        {"type": "step-finish", "tokens": {"input": 4, "reasoning": 1}},
                        TEXT,
                    ],
                },
                {
                    "info": {"id": "b", "role": "assistant", "summary": True},
                    "parts": [TEXT, {"type": "compaction", "tail_start_id": "u"}],
                },
            ],
        },
    ],
    "otlp": [
        {
            "resourceSpans": [
                {
                    "resource": {
                        "attributes": [{"key": "service.name", "value": {"stringValue": "x"}}]
                    },
                    "scopeSpans": [
                        {
                            "spans": [
                                {
                                    "traceId": "t",
                                    "startTimeUnixNano": "7",
                                    "attributes": [
                                        {
                                            "key": "gen_ai.usage.input_tokens",
                                            "value": {"intValue": "9"},
                                        },
                                        {
                                            "key": "gen_ai.input.messages",
                                            "value": {
                                                "stringValue": json.dumps(
                                                    [{"role": "user", "content": "x"}]
                                                )
                                            },
                                        },
                                        {
                                            "key": "gen_ai.completion.0.content",
                                            "value": {"stringValue": "y"},
                                        },
                                    ],
                                }
                            ]
                        }
                    ],
                }
            ]
        },
    ],
    "native": [
        {"type": "conversation", "version": 1, "id": "c", "system": [TEXT], "seed": 3},
        {"type": "message", "id": "u", "role": "user", "time": 1.0, "parts": [TEXT]},
        {"type": "message", "id": "a", "role": "assistant", "parts": [TEXT], "call": {"usage": {}}},
        {"type": "rewind", "to": "u"},
        {"type": "compaction", "inserted": [{"id": "s", "role": "user", "parts": [TEXT]}]},
        {
            "type": "fact",
            "id": "f",
            "fact": "goal",
            "key": "k",
            "value": "v",
            "origin": [{"id": "u"}],
        },
        {"type": "need", "fact": "f", "at": "a"},
    ],
}

NUMBERS = st.integers(-5, 10**30) | st.floats(allow_nan=False, allow_infinity=False)
LEAVES = st.none() | st.booleans() | NUMBERS | st.text(max_size=5) | st.just("u")
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "text", "content", "role"]), inner, max_size=3)
    ),
    max_leaves=4,
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """List every place in a value: its container, and its key or index there."""
    if isinstance(value, dict | list):
        keys = list(value) if isinstance(value, dict) else range(len(value))
        return [place for key in keys for place in [(value, key), *places(value[key])]]
    return []


@st.composite
def mutated(draw: st.DrawFn, story: list[Any]) -> list[Any]:
    changed = copy.deepcopy(story)
    for _ in range(draw(st.integers(1, 3))):
        container, key = draw(st.sampled_from(places(changed)))
        alone = container is changed and len(changed) == 1
        if alone or draw(st.booleans()):
            container[key] = draw(ANYTHING)
        else:
            del container[key]
        if not places(changed):
            break
    return changed


# But for what is no JSON, and what stands in databases alone (`test_database.py`).
_OTHERS = {"aider", "openclaw"}
READERS = {each.name: each for each in transcripts.FORMATS if each.name not in _OTHERS}


def test_there_is_a_story_in_every_format(tmp_path: Path) -> None:
    assert STORIES.keys() == READERS.keys()
    for format, story in STORIES.items():
        path = tmp_path / "story.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in story))
        conversations = list(transcripts.read(path))
        assert {c.format for c in conversations} == {format}
        assert not any(c.passed_over for c in conversations)


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS.keys())
@settings(max_examples=150)
@given(data=st.data(), strict=st.booleans())
def test_anything_anywhere_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, reader: Format, data: st.DataObject, strict: bool
) -> None:
    records = data.draw(mutated(STORIES[reader.name]))
    path = tmp_path_factory.mktemp("mutated") / "story.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    with suppress(InputError):
        transcripts.find([path])
    try:
        conversations = list(reader.read(jsonl.Lines(path, strict)))
    except InputError as error:
        whole = re.search(r"no (messages|conversation)|without any text", error.message)
        assert error.path == str(path)  # noqa: PT017
        assert error.line or whole  # noqa: PT017
        return
    for conversation in conversations:
        ids = [m.id for m in conversation.messages]
        assert len(set(ids)) == len(ids)
        assert all(message.parts for message in conversation.messages)
        assert conversation.digest


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS.keys())
@settings(max_examples=30)
@given(data=st.data())
def test_no_command_ends_with_a_fault_of_its_own(
    tmp_path_factory: pytest.TempPathFactory, reader: Format, data: st.DataObject
) -> None:
    records = data.draw(mutated(STORIES[reader.name]))
    path = tmp_path_factory.mktemp("mutated") / "story.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    for words in (
        ("inspect", path),
        ("audit", path),
        ("explain", path, "--strategies", "keep_all"),
    ):
        done = called(*words)
        assert done.code in (0, 1, 2), done.said
        assert "the reader" not in done.said, done.said  # the net, which is for what nobody knows
