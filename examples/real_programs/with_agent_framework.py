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

from pieces import arguments  # isort: skip
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
                Content.from_function_result(part.get("call_id", ""), result=part["text"])
            )
        elif part["type"] == "thinking":
            contents.append(Content.from_text_reasoning(text=part["text"]))
        else:
            contents.append(Content.from_text(part["text"]))
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
        messages = [framework(message) for message in view["messages"]]
        known = {message["id"] for message in view["messages"]}
        annotate_message_groups(messages, tokenizer=CharacterEstimatorTokenizer())
        asyncio.run(strategy_of(name, view["window"])(messages))
        return [kept(message, known) for message in included_messages(messages)]

    return compact


def kept(message: Message, known: set[str]) -> Any:
    """A message by its id, or one that tells old results."""
    if message.message_id in known:
        return message.message_id
    told = message.additional_properties[GROUP_ANNOTATION_KEY][SUMMARY_OF_MESSAGE_IDS_KEY]
    part = {"text": message.text, "kind": "truncated", "sources": told}
    return {"role": "assistant", "parts": [part]}


if __name__ == "__main__":
    mode = sys.argv[1]
    serve(compacting(mode), f"agent-framework {mode}", "1.23.0", does=["truncate", "clear"])
