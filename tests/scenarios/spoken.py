"""A good file of every format, in which each word that was said is marked: ``w01``, ``w02``, ..."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

NOON = "2026-01-01T12:00:00.000Z"
Record = dict[str, Any]


def text(words: str) -> Record:
    return {"type": "text", "text": words}


def text_part(words: str) -> Record:
    """A part of a content of Gemini's API."""
    return {"text": words}


def _claude(type: str, uuid: str, parent: str | None, **more: Any) -> Record:
    line = {"type": type, "uuid": uuid, "parentUuid": parent, "timestamp": NOON}
    return {**line, "sessionId": "s", "isSidechain": False, **more}


def _printed(type: str, uuid: str, message: Any) -> Record:
    more = {"session_id": "s", "parent_tool_use_id": None}
    return {"type": type, "uuid": uuid, "message": message, **more}


def _pi(type: str, id: str, parent: str | None, **more: Any) -> Record:
    return {"type": type, "id": id, "parentId": parent, "timestamp": NOON, **more}


def _codex(type: str, /, **payload: Any) -> Record:
    return {"type": type, "timestamp": NOON, "payload": payload}


def _item(type: str, **payload: Any) -> Record:
    return _codex("response_item", type=type, **payload)


def _done(type: str, /, **item: Any) -> Record:
    """An item of `codex exec --json`."""
    return {"type": "item.completed", "item": {"id": "item_0", "type": type, **item}}


def _copilot(type: str, id: str, /, **data: Any) -> Record:
    return {"type": type, "id": id, "parentId": None, "timestamp": NOON, "data": data}


def _qwen(type: str, uuid: str, parent: str | None, *parts: Record) -> Record:
    line = {"uuid": uuid, "parentUuid": parent, "sessionId": "s", "timestamp": NOON, "type": type}
    role = "model" if type == "assistant" else "user"
    return {**line, "message": {"role": role, "parts": list(parts)}}


def _told(id: str, role: str, *parts: Record, **more: Any) -> Record:
    """A message of an export of OpenCode."""
    info = {"id": id, "sessionID": "s", "role": role, "time": {"created": 1e12}, **more}
    return {"info": {**info, "modelID": "x"}, "parts": list(parts)}


def _function(words: str) -> Record:
    return {"name": "ls", "arguments": json.dumps({"at": words})}


def _asks(words: str, id: str = "c1") -> Record:
    return {"id": id, "type": "function", "function": _function(words)}


def _step(number: int, source: str, message: Any, **more: Any) -> Record:
    return {"step_id": number, "source": source, "message": message, "timestamp": NOON, **more}


def _attribute(key: str, value: Any) -> Record:
    return {"key": key, "value": {"stringValue": value}}


def _span(number: int, asked: list[Record], answered: str, **more: str) -> Record:
    said = [{"role": "assistant", "parts": [{"type": "text", "content": answered}]}]
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps(asked),
        "gen_ai.output.messages": json.dumps(said),
        **more,
    }
    return {
        "traceId": "t",
        "startTimeUnixNano": str(number),
        "attributes": [_attribute(*each) for each in attributes.items()],
    }


def _kimi(type: str, /, **more: Any) -> Record:
    return {"type": type, "time": 1767268800000, "agentId": "main", **more}


def _appended(words: str, **origin: str) -> Record:
    message = {"role": "user", "content": [text(words)], "toolCalls": [], "origin": origin}
    return _kimi("context.append_message", message=message)


def _step_event(type: str, /, **more: Any) -> Record:
    return _kimi("context.append_loop_event", event={"type": type, **more})


COUNTED = {"input_tokens": 9, "cached_input_tokens": 3, "output_tokens": 1, "total_tokens": 10}
USED = {"input_tokens": 3, "output_tokens": 5, "cache_read_input_tokens": 0}
IMAGE = {"type": "image", "source": {"type": "base64", "data": "iVBORw0KGgo="}}
FOUND = {"type": "search_result", "source": "w40", "title": "w41", "content": [text("w42")]}
ATTACHED = {"type": "document", "title": "w43", "source": {"type": "text", "data": "w44"}}

FILES: dict[str, list[Any]] = {
    "claude-code": [
        {"type": "mode", "mode": "normal", "sessionId": "s"},
        _claude("user", "u", None, message={"role": "user", "content": "w01"}),
        _claude(
            "assistant",
            "a",
            "u",
            requestId="r",
            message={
                "id": "m",
                "role": "assistant",
                "model": "claude-opus-5",
                "content": [
                    {"type": "thinking", "thinking": "w02", "signature": "x"},
                    text("w03"),
                    {"type": "tool_use", "id": "c1", "name": "ls", "input": {"at": "w04"}},
                ],
                "usage": USED,
            },
        ),
        _claude(
            "user",
            "t",
            "a",
            message={
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": [text("w05"), IMAGE]}
                ],
            },
        ),
        _claude(
            "attachment",
            "x",
            "t",
            attachment={"type": "nested_memory", "path": "R.md", "content": {"content": "w06"}},
        ),
        _claude("attachment", "q", "x", attachment={"type": "queued_command", "prompt": "w07"}),
        _claude("system", "b", None, subtype="compact_boundary", compactMetadata={"preTokens": 9}),
        _claude("user", "s", "b", isCompactSummary=True, message={"content": "w08"}),
        _claude("user", "v", "s", message={"role": "user", "content": [text("w09")]}),
        _claude("user", "w", None, isSidechain=True, agentId="g", message={"content": "w10"}),
    ],
    "claude-stream-json": [
        {"type": "system", "subtype": "init", "session_id": "s", "cwd": "/srv", "model": "x"},
        _printed(
            "assistant",
            "a",
            {
                "id": "m",
                "model": "claude-opus-5",
                "content": [
                    text("w01"),
                    {"type": "tool_use", "id": "c", "name": "ls", "input": {"at": "w02"}},
                ],
                "usage": USED,
            },
        ),
        _printed(
            "user",
            "t",
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "c", "content": "w03"}],
            },
        ),
        _printed("user", "v", {"role": "user", "content": "w04"}),
    ],
    "pi": [
        {"type": "session", "version": 3, "id": "s", "timestamp": NOON},
        _pi("message", "a", None, message={"role": "user", "content": "w01"}),
        _pi(
            "message",
            "b",
            "a",
            message={
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "w02"},
                    text("w03"),
                    {"type": "toolCall", "id": "c1", "name": "ls", "arguments": {"at": "w04"}},
                ],
                "usage": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0},
            },
        ),
        _pi(
            "message",
            "c",
            "b",
            message={"role": "toolResult", "toolCallId": "c1", "content": [text("w05")]},
        ),
        _pi("compaction", "d", "c", summary="w06", firstKeptEntryId="b", tokensBefore=9),
        _pi("custom_message", "e", "d", content=[text("w07")]),
        _pi(
            "message",
            "f",
            "e",
            message={"role": "bashExecution", "command": "w08", "output": "w09", "exitCode": 1},
        ),
        _pi("branch_summary", "g", "b", summary="w10"),
        _pi("message", "h", "g", message={"role": "custom", "content": "w11"}),
    ],
    "codex": [
        _codex("session_meta", id="s", base_instructions={"text": "You code."}),
        _codex("turn_context", model="gpt-5"),
        _item("message", role="developer", content=[{"type": "input_text", "text": "w01"}]),
        _item("message", role="user", content=[{"type": "input_text", "text": "w02"}]),
        _item("reasoning", summary=[], content=[{"type": "reasoning_text", "text": "w03"}]),
        _item("function_call", call_id="c1", **_function("w04")),
        _item("function_call_output", call_id="c1", output="w05"),
        _item("custom_tool_call", call_id="c2", name="edit", input="w06"),
        _item("custom_tool_call_output", call_id="c2", output={"content": [text("w07")]}),
        _item("message", role="assistant", content=[{"type": "output_text", "text": "w08"}]),
        _codex(
            "event_msg",
            type="token_count",
            info={"total_token_usage": COUNTED, "last_token_usage": COUNTED},
        ),
        _codex(
            "compacted",
            message="",
            replacement_history=[{"type": "message", "role": "user", "content": [text("w09")]}],
        ),
        _codex("compacted", message="w10"),
    ],
    "codex-exec": [
        {"type": "thread.started", "thread_id": "t"},
        {"type": "turn.started"},
        _done("reasoning", text="w01"),
        _done("command_execution", command="w02", aggregated_output="w03", exit_code=0),
        _done("mcp_tool_call", server="s", tool="t", arguments={"in": "w04"}, result={"c": "w05"}),
        _done("todo_list", items=[{"text": "w06", "completed": False}]),
        _done("agent_message", text="w07"),
        {"type": "turn.completed", "usage": {"input_tokens": 9, "output_tokens": 1}},
        {"type": "turn.failed", "error": {"message": "w08"}},
    ],
    "openai-chat": [
        {"role": "system", "content": "w01"},
        {"role": "user", "content": [text("w02"), {"type": "image_url", "image_url": {"url": ""}}]},
        {"role": "assistant", "content": "w03", "tool_calls": [_asks("w04")]},
        {"role": "tool", "tool_call_id": "c1", "content": "w05"},
        {"role": "assistant", "content": None, "function_call": _function("w06")},
        {"role": "function", "name": "ls", "content": "w07"},
        {"role": "developer", "content": "w08"},
    ],
    "anthropic-messages": [
        {
            "model": "claude-opus-5",
            "messages": [
                {"role": "user", "content": [ATTACHED, FOUND, text("w01")]},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "w02", "signature": "x"},
                        text("w03"),
                        {"type": "tool_use", "id": "c1", "name": "ls", "input": {"at": "w04"}},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "c1", "content": [text("w05")]},
                        {"type": "tool_result", "tool_use_id": "c2", "content": "w06"},
                        text("w07"),
                    ],
                },
            ],
        }
    ],
    "gemini": [
        {"sessionId": "s", "projectHash": "0b7d", "startTime": NOON, "kind": "main"},
        {"id": "u", "timestamp": NOON, "type": "user", "content": [text_part("w01")]},
        {"$set": {"lastUpdated": NOON}},
        {
            "id": "g",
            "timestamp": NOON,
            "type": "gemini",
            "content": "w02",
            "model": "gemini-3-pro",
            "thoughts": [{"description": "w03 w04", "timestamp": NOON}],
            "tokens": {"input": 9, "output": 1, "cached": 3, "thoughts": 1, "total": 11},
            "toolCalls": [
                {
                    "id": "c1",
                    "name": "ls",
                    "args": {"at": "w05"},
                    "status": "success",
                    "timestamp": NOON,
                    "result": [{"functionResponse": {"id": "c1", "response": {"output": "w06"}}}],
                }
            ],
        },
        {"id": "v", "timestamp": NOON, "type": "user", "content": "w07"},
        {"$rewindTo": "v"},
        {"id": "x", "timestamp": NOON, "type": "user", "content": [text_part("w08")]},
    ],
    "copilot": [
        _copilot("session.start", "e1", sessionId="s", selectedModel="gpt-5-mini"),
        _copilot("system.message", "e2", role="system", content="w01"),
        _copilot("user.message", "e3", content="w02", attachments=[]),
        _copilot(
            "assistant.message",
            "e4",
            messageId="m",
            content="w03",
            toolRequests=[{"toolCallId": "c1", "name": "ls", "arguments": {"at": "w04"}}],
        ),
        _copilot("tool.execution_complete", "e5", toolCallId="c1", result={"content": "w05"}),
        _copilot("session.compaction_complete", "e6", success=True, summaryContent="w06"),
        _copilot("system.notification", "e7", content="w07"),
    ],
    "qwen": [
        _qwen("user", "a", None, text_part("w01")),
        _qwen("assistant", "b", "a", {"text": "w02", "thought": True}, text_part("w03")),
        _qwen("assistant", "c", "b", {"functionCall": {"name": "ls", "args": {"at": "w04"}}}),
        _qwen("tool_result", "d", "c", {"functionResponse": {"response": {"output": "w05"}}}),
        _qwen("user", "e", "a", text_part("w06")),
    ],
    "locomo": [
        {
            "conversation": {
                "speaker_a": "Ana",
                "speaker_b": "Ben",
                "session_1": [
                    {"speaker": "Ana", "dia_id": "D1:1", "text": "w01", "blip_caption": "w02"},
                    {"speaker": "Ben", "dia_id": "D1:2", "text": "w03"},
                ],
                "session_1_date_time": "1:56 pm on 8 May, 2023",
            },
            "qa": [],
            "sample_id": "s",
        }
    ],
    "tau-bench": [
        {
            "task_id": 1,
            "trial": 0,
            "traj": [
                {"role": "user", "content": "w01"},
                {"role": "assistant", "content": "w02", "tool_calls": [_asks("w03")]},
                {"role": "tool", "tool_call_id": "c1", "name": "ls", "content": "w04"},
            ],
        }
    ],
    "swe-agent": [
        {
            "history": [
                {"role": "user", "content": "w01", "is_demo": True, "agent": "main"},
                {"role": "user", "content": [text("w02")], "agent": "main"},
                {
                    "role": "assistant",
                    "content": "w03\n```\nls w04\n```",
                    "thought": "w03",
                    "action": "ls w04",
                    "agent": "main",
                },
                {"role": "user", "content": "w05", "agent": "main"},
                {"role": "assistant", "content": "w06", "agent": "main"},
                {"role": "user", "content": "w07", "agent": "main"},
            ]
        }
    ],
    "atif": [
        {
            "schema_version": "ATIF-v1.8",
            "agent": {"name": "x", "version": "1", "tool_definitions": [{"name": "w01"}]},
            "steps": [
                _step(1, "system", "w02"),
                _step(2, "user", [text("w03")]),
                _step(
                    3,
                    "agent",
                    "w04",
                    reasoning_content="w05",
                    tool_calls=[
                        {"tool_call_id": "c1", "function_name": "ls", "arguments": {"at": "w06"}}
                    ],
                    observation={"results": [{"source_call_id": "c1", "content": "w07"}]},
                ),
                _step(4, "system", "", extra={"context_management": {"type": "compaction"}}),
                _step(5, "user", "w08"),
                _step(6, "agent", "w09", observation={"results": [{"content": [text("w10")]}]}),
            ],
            "subagent_trajectories": [
                {
                    "schema_version": "ATIF-v1.8",
                    "trajectory_id": "t",
                    "agent": {"name": "x", "version": "1"},
                    "steps": [_step(1, "user", "w11")],
                }
            ],
        }
    ],
    "kimi": [
        {"type": "metadata", "protocol_version": "1.5", "created_at": 1767268800000},
        _kimi("config.update", systemPrompt="w01", modelAlias="x"),
        _kimi("llm.tools_snapshot", hash="0", tools=[{"name": "w02"}]),
        _appended("w03", kind="user"),
        _step_event("step.begin", uuid="s", turnId="0"),
        _step_event("content.part", stepUuid="s", part={"type": "think", "think": "w04"}),
        _step_event("content.part", stepUuid="s", part=text("w05")),
        _step_event("tool.call", stepUuid="s", toolCallId="c1", name="ls", args={"at": "w06"}),
        _step_event("tool.result", toolCallId="c1", result={"output": "w07", "note": "w08"}),
        _step_event("step.end", uuid="s", usage={"inputOther": 5, "output": 2}),
        _kimi("context.apply_compaction", summary="w09", contextSummary="w09", compactedCount=3),
        _appended("w10", kind="injection"),
    ],
    "hermes": [
        {
            "session_id": "s",
            "model": "x",
            "platform": "cli",
            "system_prompt": "w01",
            "tools": [{"name": "w02"}],
            "messages": [
                {"role": "user", "content": "w03"},
                {
                    "role": "assistant",
                    "content": "w04",
                    "reasoning": "w05",
                    "tool_calls": [_asks("w06")],
                },
                {"role": "tool", "tool_call_id": "c1", "tool_name": "ls", "content": "w07"},
                {"role": "session_meta"},
                {"role": "assistant", "content": "w08"},
            ],
        }
    ],
    "opencode": [
        {
            "info": {"id": "s", "directory": "/w", "projectID": "p", "time": {"created": 1}},
            "messages": [
                _told("u1", "user", text("w01"), {"type": "subtask", "prompt": "w02"}),
                _told(
                    "a1",
                    "assistant",
                    {"type": "reasoning", "text": "w03"},
                    text("w04"),
                    {
                        "type": "tool",
                        "tool": "ls",
                        "callID": "c1",
                        "state": {"status": "completed", "input": {"at": "w05"}, "output": "w06"},
                    },
                    {"type": "step-finish", "tokens": {"input": 3, "output": 2}},
                ),
                _told("u2", "user", {"type": "compaction", "auto": True}),
                _told("a2", "assistant", text("w07"), summary=True),
                _told("u3", "user", text("w08")),
                _told("a3", "assistant", text("w09")),
            ],
        }
    ],
    "otlp": [
        {
            "resourceSpans": [
                {
                    "scopeSpans": [
                        {
                            "spans": [
                                _span(
                                    1,
                                    [
                                        {"role": "system", "content": "w01"},
                                        {"role": "user", "parts": [text("w02")]},
                                    ],
                                    "w03",
                                ),
                                _span(
                                    2,
                                    [
                                        {"role": "user", "parts": [text("w02")]},
                                        {"role": "assistant", "parts": [text("w03")]},
                                        {"role": "user", "parts": [text("w04")]},
                                    ],
                                    "w05",
                                ),
                            ]
                        }
                    ]
                }
            ]
        }
    ],
    "mini-swe-agent": [
        {
            "trajectory_format": "mini-swe-agent-1.1",
            "info": {"config": {"model": {"model_name": "x"}}},
            "messages": [
                {"role": "system", "content": "w01"},
                {"role": "user", "content": "w02"},
                {"role": "assistant", "content": "w03", "tool_calls": [_asks("w04")]},
                {"role": "tool", "tool_call_id": "c1", "content": "w05"},
                {
                    "object": "response",
                    "output": [
                        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "w06"}]},
                        {"type": "message", "content": [text("w07")]},
                        {"type": "function_call", "call_id": "c2", **_function("w08")},
                    ],
                },
                {"type": "function_call_output", "call_id": "c2", "output": "w09"},
            ],
        }
    ],
    "inspect": [
        {
            "eval": {"task": "sort", "model": "x"},
            "samples": [
                {
                    "id": 1,
                    "epoch": 1,
                    "messages": [
                        {"role": "system", "content": "w01"},
                        {"role": "user", "content": [text("w02")]},
                        {
                            "role": "assistant",
                            "content": [{"type": "reasoning", "reasoning": "w03"}, text("w04")],
                            "tool_calls": [
                                {"id": "c1", "function": "ls", "arguments": {"at": "w05"}}
                            ],
                        },
                        {"role": "tool", "function": "ls", "tool_call_id": "c1", "content": "w06"},
                    ],
                },
                {
                    "id": 2,
                    "events": [
                        {
                            "event": "model",
                            "model": "x",
                            "input": [{"role": "user", "content": "w07"}],
                            "tools": [{"name": "w08"}],
                            "output": {
                                "choices": [{"message": {"role": "assistant", "content": "w09"}}]
                            },
                        }
                    ],
                },
            ],
        }
    ],
    "langfuse": [
        {
            "id": "t",
            "observations": [
                {
                    "id": "o",
                    "type": "GENERATION",
                    "startTime": NOON,
                    "model": "x",
                    "input": {"messages": [{"role": "user", "content": "w01"}]},
                    "output": {"role": "assistant", "content": "w02", "tool_calls": [_asks("w03")]},
                },
                {
                    "id": "p",
                    "type": "GENERATION",
                    "startTime": NOON,
                    "model": "x",
                    "input": [
                        {"role": "user", "content": "w01"},
                        {"role": "assistant", "content": "w02", "tool_calls": [_asks("w03")]},
                        {"role": "tool", "tool_call_id": "c1", "content": "w04"},
                    ],
                    "output": "w05",
                },
            ],
        }
    ],
    "langsmith": [
        {
            "id": "r",
            "run_type": "llm",
            "start_time": NOON,
            "inputs": {
                "messages": [
                    [
                        {
                            "lc": 1,
                            "id": ["langchain", "SystemMessage"],
                            "kwargs": {"content": "w01"},
                        },
                        {"type": "human", "content": "w02"},
                    ]
                ]
            },
            "outputs": {
                "generations": [
                    [
                        {
                            "message": {
                                "id": ["langchain", "AIMessage"],
                                "kwargs": {
                                    "content": "w03",
                                    "tool_calls": [
                                        {"id": "c1", "name": "ls", "args": {"at": "w04"}}
                                    ],
                                },
                            }
                        }
                    ]
                ]
            },
        }
    ],
    "openhands": [
        {"id": 0, "source": "agent", "action": "system", "args": {"content": "w01"}},
        {"id": 1, "source": "user", "action": "message", "args": {"content": "w02"}},
        {
            "id": 2,
            "source": "agent",
            "action": "run",
            "args": {"command": "w03", "thought": "w04"},
        },
        {"id": 3, "source": "agent", "observation": "run", "content": "w05", "cause": 2},
        {
            "id": 4,
            "source": "agent",
            "action": "condensation",
            "args": {"forgotten_event_ids": [2, 3], "summary": "w06"},
        },
        {
            "kind": "MessageEvent",
            "id": "m",
            "source": "agent",
            "llm_message": {"role": "assistant", "content": [text("w07")]},
            "llm_response_id": "r1",
        },
        {
            "kind": "ActionEvent",
            "id": "n",
            "source": "agent",
            "thought": [text("w08")],
            "reasoning_content": "w09",
            "tool_name": "ls",
            "tool_call_id": "c1",
            "tool_call": {"id": "c1", **_function("w10")},
            "llm_response_id": "r2",
        },
        {
            "kind": "ObservationEvent",
            "id": "o",
            "source": "environment",
            "tool_name": "ls",
            "tool_call_id": "c1",
            "observation": {"content": [text("w11")]},
        },
    ],
    "amp": [
        {
            "id": "T-1",
            "created": 1767268800000,
            "messages": [
                {"role": "user", "messageId": 0, "content": [text("w01")]},
                {
                    "role": "assistant",
                    "messageId": 1,
                    "content": [
                        {"type": "thinking", "thinking": "w02"},
                        {"type": "tool_use", "id": "c1", "name": "ls", "input": {"at": "w03"}},
                    ],
                },
                {
                    "role": "user",
                    "messageId": 2,
                    "content": [
                        {
                            "type": "tool_result",
                            "toolUseID": "c1",
                            "run": {"status": "done", "result": "w04"},
                        }
                    ],
                },
            ],
        }
    ],
    "cline": [
        [
            {"role": "user", "content": [text("<task>w01</task>")], "ts": 1767268800000},
            {
                "role": "assistant",
                "content": [{"type": "reasoning", "text": "w02"}, text("w03")],
                "ts": 1767268801000,
                "condenseParent": "s",
            },
            {
                "role": "user",
                "content": [text("w04")],
                "isSummary": True,
                "condenseId": "s",
                "ts": 1767268802000,
            },
            {
                "role": "assistant",
                "content": [
                    {
                        "type": "tool-call",
                        "toolCallId": "c1",
                        "toolName": "ls",
                        "input": {"at": "w05"},
                    }
                ],
                "ts": 1767268803000,
            },
            {
                "role": "tool",
                "content": [
                    {
                        "type": "tool-result",
                        "toolCallId": "c1",
                        "output": {"type": "text", "value": "w06"},
                    }
                ],
                "ts": 1767268804000,
            },
        ]
    ],
    "cline-session": [
        {
            "version": 1,
            "sessionId": "s",
            "agent": "lead",
            "messages": [
                {"id": "m1", "role": "user", "content": "w01", "ts": 1767268800000},
                {
                    "id": "m2",
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "w02"},
                        {"type": "tool_use", "id": "c1", "name": "ls", "input": {"at": "w03"}},
                    ],
                    "modelInfo": {"id": "x"},
                    "metrics": {"inputTokens": 9, "outputTokens": 2},
                },
                {
                    "id": "m3",
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "c1",
                            "content": [{"type": "file", "path": "a", "content": "w04"}],
                        }
                    ],
                },
                {
                    "id": "m4",
                    "role": "user",
                    "content": "w05",
                    "metadata": {"kind": "compaction_summary", "tokensBefore": 90},
                },
            ],
        }
    ],
    "native": [
        {"type": "conversation", "version": 1, "id": "c"},
        {"type": "message", "id": "u", "role": "user", "parts": [text("w01")]},
        {
            "type": "message",
            "id": "a",
            "role": "assistant",
            "parts": [{"type": "tool_call", "text": "w02", "name": "ls", "call_id": "c1"}],
            "call": {"model": "claude-opus-5"},
        },
        {
            "type": "message",
            "id": "t",
            "role": "tool",
            "parts": [{"type": "tool_result", "text": "w03", "name": "ls", "call_id": "c1"}],
        },
        {"type": "compaction", "inserted": [{"id": "s", "role": "user", "parts": [text("w04")]}]},
    ],
}


def write(path: Path, records: list[Any]) -> Path:
    """Write records as JSON Lines."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path
