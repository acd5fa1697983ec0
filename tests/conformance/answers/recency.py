"""What OpenClaw's safeguard writes under a summary."""

from collections.abc import Mapping
from typing import Any

from compactlab.sim.core.message import Message
from compactlab.strategies import RecencyBuffer
from compactlab.strategies.openclaw.kept import (
    buffer_section,
    buffered,
    quoted,
    split_turns,
    turns_section,
    words,
)
from compactlab.strategies.openclaw.safeguard import failure_section, tool_failures
from compactlab.strategies.pi.summary import text_of
from tests.conformance.answers import Answer
from tests.conformance.busy import under
from tests.conformance.pi import made_up, message, messages
from tests.conformance.vectors import UNDEFINED, Case

BUSY = under("recency_buffer(reserve_tokens_floor=0, keep_recent_tokens=4000)")


def given(value: Any) -> Any:
    return None if value is UNDEFINED else value


def recency_buffer(case: Case) -> Any:
    history, config = messages(case.named("conversations")), given(case.input.get("config")) or {}
    most, tokens, ours = config.get("keepMessages"), config.get("keepTokens"), RecencyBuffer()
    most = ours.keep_messages if most is None else most
    tokens = ours.keep_tokens if tokens is None else tokens
    count = buffered(history, most if config.get("enabled") else 0, tokens)
    older = history[: len(history) - count]
    return {
        "recentCount": count,
        "olderCount": len(older),
        "olderIsSameArray": len(older) == len(history),
        "section": text_of(buffer_section(history[len(older) :])),
    }


def recency_format(case: Case) -> Any:
    told = message(case.input["message"])
    return {"text": text_of(words(told)), "formatted": text_of(quoted(told))}


def failures(case: Case) -> Any:
    originals = [each for each in case.named("conversations") if isinstance(each, Mapping)]

    def details(told: Message) -> Any:
        return originals[int(told.id)].get("details")

    found = tool_failures(messages(originals), details)
    return {
        "failures": [
            {
                "toolCallId": each.call_id,
                "toolName": each.tool,
                "summary": each.text,
                **({"meta": each.meta} if each.meta else {}),
            }
            for each in found
        ],
        "section": text_of(failure_section(found)),
    }


def preserved_turns(case: Case) -> Any:
    history = messages(case.named("conversations"))
    now = case.shared["now_ms"] / 1000
    left, turns = split_turns(history, min(12, case.input["recentTurnsPreserve"]), now)
    return {
        "summarizable": [place(message) for message in left],
        "preserved": [place(message) for message in turns],
        "section": text_of(turns_section(turns)),
    }


def place(message: Message) -> Any:
    """A message of the history by its place there, and one that was made up as pi has it."""
    return int(message.id) if message.id.isdecimal() else made_up(message)


ANSWERS = [
    Answer(
        "splitPreservedRecentTurns + formatPreservedTurnsSection",
        preserved_turns,
        (split_turns, turns_section),
        under("preserve_turns(reserve_tokens_floor=0, keep_recent_tokens=4000)"),
    ),
    Answer(
        "computeRecencyBufferSlice + formatRecencyBufferSection",
        recency_buffer,
        (buffered, buffer_section),
        BUSY,
    ),
    Answer(
        "extractMessageText + formatMessageForRecencyBuffer", recency_format, (words, quoted), BUSY
    ),
    Answer(
        "collectToolFailures + formatToolFailuresSection",
        failures,
        (tool_failures, failure_section),
        BUSY,
    ),
]
