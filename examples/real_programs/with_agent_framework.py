"""Agent Framework's compaction strategies, as programs of compactlab's protocol.

Usage: with_agent_framework.py context_window | sliding_window | tool_result
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from agent_framework import Content, Message
from agent_framework._compaction import (
    GROUP_ANNOTATION_KEY,
    SUMMARY_OF_MESSAGE_IDS_KEY,
    CharacterEstimatorTokenizer,
    ContextWindowCompactionStrategy,
    SlidingWindowStrategy,
    ToolResultCompactionStrategy,
    annotate_message_groups,
    included_messages,
)

from pieces import arguments, text_of  # isort: skip
from compactlab_program import Host, serve  # isort: skip

MAX_OUTPUT = 16_384


def framework(message: dict[str, Any]) -> Message:
    """A message as Agent Framework has it."""
    contents = []
    for part in message["parts"]:
        if part["type"] == "tool_call":
            called = {"arguments": arguments(part["text"])}
            contents.append(
                Content.from_function_call(part.get("call_id", ""), part.get("name", ""), **called)
            )
        elif part["type"] == "tool_result":
            contents.append(
                Content.from_function_result(part.get("call_id", ""), result=text_of(part))
            )
        elif part["type"] == "thinking":
            contents.append(Content.from_text_reasoning(text=part["text"]))
        else:
            contents.append(Content.from_text(text_of(part)))
    return Message(message["role"], contents, message_id=message["id"])


def strategy_of(name: str, window: int) -> Any:
    """A strategy with its own defaults, or with those of our built-in where it has none."""
    if name == "sliding_window":
        return SlidingWindowStrategy(keep_last_groups=40)
    if name == "tool_result":
        return ToolResultCompactionStrategy(keep_last_tool_call_groups=4)
    return ContextWindowCompactionStrategy(
        max_context_window_tokens=window, max_output_tokens=MAX_OUTPUT
    )


def compacting(name: str) -> Any:
    """The strategy, asked before each call as a chat client with compaction asks it."""

    def compact(view: dict[str, Any], host: Host) -> list[Any]:
        # What the framework told comes back under an id of the host's; it has one of its own.
        named, told_last = vars(host).setdefault("named", ({}, {}))
        messages = [framework(message) for message in view["messages"]]
        for message in messages:
            if (waiting := told_last.get(message.text)) and message.message_id not in named:
                if not message.message_id.startswith("program:"):
                    continue
                named[message.message_id] = waiting.pop(0)
            message.message_id = named.get(message.message_id, message.message_id)
        both = zip(messages, view["messages"], strict=True)
        known = {message.message_id: sent["id"] for message, sent in both}
        annotate_message_groups(messages, tokenizer=CharacterEstimatorTokenizer())
        asyncio.run(strategy_of(name, view["window"])(messages))
        left = included_messages(messages)
        told_last.clear()
        for message in left:
            if message.message_id not in known:
                told_last.setdefault(message.text, []).append(message.message_id)
        return [known.get(m.message_id) or told(m, known) for m in left]

    return compact


def told(message: Message, known: dict[str, str]) -> dict[str, Any]:
    """A message that tells old results in one."""
    sources = message.additional_properties[GROUP_ANNOTATION_KEY][SUMMARY_OF_MESSAGE_IDS_KEY]
    part = {"text": message.text, "kind": "truncated", "sources": [known[id] for id in sources]}
    return {"role": "assistant", "parts": [part]}


if __name__ == "__main__":
    mode = sys.argv[1]
    serve(compacting(mode), f"agent-framework {mode}", "1.23.0", does=["truncate", "clear"])
