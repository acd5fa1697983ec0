"""How agents estimate tokens, and what they know of the size of their context."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import msgspec

from compactlab.sim.core.message import (
    FAILED,
    FRAME,
    INTERRUPTED,
    Message,
    Part,
    Weight,
    remembered,
)
from compactlab.sim.core.tokens import chars4, utf16_length
from compactlab.sim.core.view import View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import CAP, Strategy
from compactlab.strategies.mechanisms.cut import history_end

# pi counts an image in a tool's result or an extension's message as 4,800 characters (0.49.3 to
# 0.73.1), and none in what the user says.
IMAGE_CHARS = 4800

_ROLES = {"assistant": "assistant", "tool": "toolResult"}
_IMAGES = {"toolResult", "custom"}
_KNOWN = {"user", "custom", "bashExecution", "branchSummary", "compactionSummary"}


def role_of(message: Message) -> str:
    """What pi calls a message's role: ``user``, ``toolResult``, ``bashExecution`` and so on."""
    origin = "" if message.origin == INTERRUPTED else message.origin  # a client's note to the model
    return _ROLES.get(message.role) or origin or "user"


def estimate(message: Message) -> int:
    """Estimate a message: a quarter of its characters, rounded up.

    As pi's ``estimateTokens`` does (0.49.3 to 0.73.1): text, thinking, and of a tool call its name
    and arguments; nothing of a role that pi does not know. Frames are put around a message later
    and do not count. Parts whose text is not known count what they are known to weigh.
    """
    role, chars = message.role, 0
    if role == "user" and role_of(message) not in _KNOWN:
        return 0
    for part in message.parts:
        if part.type == "image":
            chars += IMAGE_CHARS if role_of(message) in _IMAGES else 0
        elif part.name == FRAME and part.kind == "synthetic":
            continue
        elif part.type == "tool_call":
            chars += utf16_length(part.name) + utf16_length(part.text)
        else:
            chars += utf16_length(part.text) + 4 * part.size
    return -(-chars // 4)


def estimate_system(view: View) -> int:
    """Estimate the system blocks of a view."""
    return sum(chars4(part.text) + part.size for part in view.system)


def usage_tokens(
    input: float | None = math.nan,
    output: float | None = math.nan,
    cache_read: float | None = math.nan,
    cache_write: float | None = math.nan,
    total: float | None = None,
) -> float:
    """Tokens of a request and its answer: pi's ``calculateContextTokens`` (0.49.3 to 0.73.1).

    The total where the provider gives one that is not 0, else the sum; NaN where something is
    missing, and 0 for what is null.
    """
    if total and not math.isnan(total):
        return total
    return (input or 0) + (output or 0) + (cache_read or 0) + (cache_write or 0)


def last_usage(host: Host) -> float | None:
    """Tokens of the last call and its answer as the provider reported them; None before it."""
    usage = host.reported
    if usage is None:
        return None
    return usage_tokens(usage.uncached, usage.output, usage.cache_read, usage.cache_write)


class Context(NamedTuple):
    """What is in context: tokens of the last report, estimates of what came after, their sum."""

    tokens: float
    reported: float
    trailing: int
    last: int | None


def estimate_context(
    messages: Sequence[Message], reported: Callable[[Message], float | None]
) -> Context:
    """Tokens in context: pi's ``estimateContextTokens`` (0.49.3 to 0.73.1).

    The last answer that has a usage and did not fail tells of everything up to itself; what came
    after it is estimated. Without such an answer everything is.
    """
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.role != "assistant" or message.origin in FAILED:
            continue
        tokens = reported(message)
        if tokens is not None:
            trailing = sum(map(estimate, messages[index + 1 :]))
            return Context(tokens + trailing, tokens, trailing, index)
    trailing = sum(map(estimate, messages))
    return Context(trailing, 0, trailing, None)


def reported_tokens(host: Host) -> int | None:
    """Tokens of the last call, its answer included; None if no report says what is in context now.

    A report is of the prompt that was sent. After a compaction it is stale until the next call: an
    agent that goes by it compacts what it has just compacted (OpenClaw issue 26458).
    """
    if host.reported is None or is_stale(host):
        return None
    return host.reported.prompt + host.reported.output


def is_stale(host: Host) -> bool:
    """Whether the context has been compacted since the last call."""
    if not host.compactions:
        return False
    last = host.compactions[-1].last
    for message in reversed(host.log):
        if message.id == last:
            return True
        if message.call is not None:
            return False
    return True


def known_tokens(view: View, host: Host) -> int:
    """Tokens in context: what was reported, and estimates of what came after the last answer.

    Where no report holds, estimates of everything.
    """
    reported = reported_tokens(host)
    if reported is None:
        return estimate_system(view) + view.messages.total(estimate)
    return reported + view.messages[history_end(view.messages) :].total(estimate)


def is_little(tokens: int, host: Host) -> bool:
    """Whether so much is not worth a compaction: less than a hundredth of the window.

    The originals do not ask, and would do it again at every call.
    """
    return tokens * 100 < host.window


def at_most(tokens: int, host: Host) -> int:
    """A number of tokens that is meant for a large window: a quarter of one that is narrowed.

    A run may narrow the window of its model. What agents reserve as an absolute number would then
    be all of it, which no agent was made for. A window that is a model's own is as it is.
    """
    return min(tokens, host.window // CAP) if host.model.own_window else tokens


def defaults(strategy: Strategy, *names: str) -> dict[str, int]:
    """Those of some fields of a strategy that nobody has set, with what they stand at."""
    return {
        field.name: tokens
        for field in fields(strategy)  # type: ignore[arg-type]
        if field.name in names and (tokens := getattr(strategy, field.name)) == field.default
    }


def capped(strategy: Strategy, name: str, host: Host) -> int:
    """A field's tokens: in a narrowed window a quarter of it at most, if nobody has set them."""
    tokens: int = getattr(strategy, name)
    return at_most(tokens, host) if name in defaults(strategy, name) else tokens


# Tokens as LangChain approximates them (langchain-core 1.7.2, `count_tokens_approximately`).

# Three tokens are added to every message; an image has 85. LangChain takes 3.3 characters for a
# token of Claude where it summarises, and 4 elsewhere and for any other model.
_EXTRA, _IMAGE = 3, 85
_CLAUDE, _OTHERS = 3.3, 4.0


@remembered
def approximate(message: Message) -> int:
    """Approximate a message: a token for four characters."""
    return approximated(message, _OTHERS)


@remembered
def approximate_blocks(message: Message) -> int:
    """The same where an answer is a list of blocks, as LangChain has those of Anthropic."""
    return approximated(message, _OTHERS, blocks=True)


@remembered
def approximate_claude(message: Message) -> int:
    """Approximate a message for a model of Anthropic: a token for 3.3 characters."""
    return approximated(message, _CLAUDE, blocks=True)


def approximates(host: Host) -> Weight:
    """How LangChain approximates messages of a model where nothing else is said."""
    return approximate_blocks if host.model.name.startswith("claude") else approximate


def approximated(
    message: Message, chars_per_token: float, extra: float = _EXTRA, *, blocks: bool = False
) -> int:
    """Content, role, and of tools the calls, ids and names; rounded up for each message.

    Each result of a tool is a message of its own.
    """
    images = sum(part.type == "image" for part in message.parts)
    opaque = sum(part.size for part in message.parts if part.type != "image")
    if message.role == "tool":
        told = [sum(map(len, (part.text, part.call_id, part.name))) for part in message.parts]
    elif message.role == "assistant" and blocks:
        told = [sum(map(_block, message.parts))]
    else:
        told = [sum(len(part.text) for part in message.parts if part.type != "tool_call")]
        calls = [_call(part) for part in message.parts if part.type == "tool_call"]
        told[0] += len(repr(calls)) if calls else 0
    role = len(message.origin or message.role)
    tokens = sum(math.ceil(math.ceil((chars + role) / chars_per_token) + extra) for chars in told)
    return tokens + _IMAGE * images + opaque


def _block(part: Part) -> int:
    """Characters of a block of Anthropic's: a text's, or all as Python writes it.

    A block of thinking has a signature besides, which no transcript of ours holds.
    """
    if part.type == "thinking":
        return len(repr({"type": "thinking", "thinking": part.text, "signature": ""}))
    if part.type == "tool_call":
        call = _call(part)
        return len(
            repr(
                {"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["args"]}
            )
        )
    return len(part.text)


def _call(part: Part) -> dict[str, Any]:
    """A call as LangChain keeps it: its length as Python writes it is what counts."""
    try:
        arguments = msgspec.json.decode(part.text)
    except (msgspec.DecodeError, ValueError, RecursionError):
        arguments = part.text
    return {"name": part.name, "args": arguments, "id": part.call_id, "type": "tool_call"}
