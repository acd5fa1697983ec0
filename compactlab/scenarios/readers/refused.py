"""Clients whose files cannot be read: how to recognise them, and what to do instead."""

from __future__ import annotations

from typing import Any, NamedTuple

from compactlab.scenarios.readers.shapes import Shape, fits, of_type, starts

CHAT = (
    "write its messages as those of OpenAI's Chat Completions, a line each "
    "(docs/formats.md#openai-chat)"
)
_SPANS = "export its traces as OTLP JSON, or its runs from Langfuse or LangSmith"


class Refused(NamedTuple):
    """A client whose files cannot be read."""

    client: str
    shape: Shape  # tests a value in its files
    instead: str


# As of 2026-11.
REFUSED: tuple[Refused, ...] = (
    Refused("Cursor", {"role": str, "message": {"content": list}}, CHAT),
    Refused("Cursor", {"sqlite": {"cursorDiskKV": list}}, CHAT),
    Refused("Gemini's API", {"role": "model", "parts": list}, CHAT),
    Refused("Droid", {"type": "session_start", "id": str}, CHAT),
    Refused("Droid", {"type": "message", "role": str, "text": str}, CHAT),
    Refused("Grok", {"type": "assistant", "model_id": str}, CHAT),
    Refused("Grok", {"type": "user", "prompt_index": int}, CHAT),
    Refused(
        "Kimi CLI before Kimi Code",
        {"timestamp": float, "message": {"type": str, "payload": dict}},
        "sessions of Kimi Code are read",
    ),
    Refused("Antigravity", {"step_index": int, "source": str, "status": str}, CHAT),
    Refused(
        "Codex before its lines had a payload",
        {"record_type": "state"},
        "sessions of today's Codex are read",
    ),
    Refused(
        "OpenAI's Responses API",
        {"type": "function_call", "call_id": str, "arguments": str},
        _SPANS,
    ),
    Refused("OpenAI's Responses API", {"object": "response", "output": list}, _SPANS),
    Refused("OpenAI's Responses API", {"type": starts("response."), "response": dict}, _SPANS),
    Refused("OpenAI's Responses API", {"response": {"object": "response"}}, _SPANS),
    Refused("Goose", {"working_dir": str, "message_count": int}, CHAT),
    Refused("Goose", {"working_dir": str, "conversation": list}, CHAT),
    Refused("Goose", {"content": of_type("toolRequest", "toolResponse")}, CHAT),
    Refused("Goose", {"sqlite": {"messages": lambda columns: "content_json" in columns}}, CHAT),
    Refused(
        "an export of ChatGPT",
        {"mapping": dict, "current_node": object},
        f"it holds neither tools nor usage; {CHAT}",
    ),
    Refused(
        "an export of Claude.ai",
        {"uuid": str, "chat_messages": list},
        f"it holds no usage; {CHAT}, or read sessions of Claude Code",
    ),
    Refused(
        "messages of the AI SDK",
        {"role": str, "parts": of_type("text", "step-start", "reasoning", "dynamic-tool")},
        f"they hold no usage; {_SPANS}",
    ),
    Refused(
        "a chat of VS Code",
        {"responderUsername": str, "requests": list},
        "it holds no prompts; sessions of Copilot CLI are read",
    ),
    Refused(
        "a chat of VS Code",
        {"kind": 0, "v": {"requests": list}},
        "it holds no prompts; sessions of Copilot CLI are read",
    ),
)


def refusal(first: list[Any]) -> Refused | None:
    """Return the unsupported client that the first values of a file belong to; None if unknown.

    Examples
    --------
    >>> refusal([{"step_index": 0, "source": "USER", "status": "DONE"}]).client
    'Antigravity'
    """
    lists = [list(v.values()) if isinstance(v, dict) else [v] for v in first]
    inner = [each for held in lists for one in held if isinstance(one, list) for each in one]
    values = [*first, *inner]
    return next((one for one in REFUSED if any(fits(v, one.shape) for v in values)), None)
