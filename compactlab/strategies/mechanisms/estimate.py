"""How agents estimate tokens and the size of their context."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence
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

# pi counts an image in a tool's result or an extension's message as 4,800 characters; an image in a
# user message as none (0.49.3 to 0.73.1), or the same (0.79.0 to 1.6.0).
IMAGE_CHARS = 4800

_ROLES = {"assistant": "assistant", "tool": "toolResult"}
_IMAGES = frozenset({"toolResult", "custom"})
_ALL_IMAGES = _IMAGES | {"user"}
_KNOWN = {"user", "custom", "bashExecution", "branchSummary", "compactionSummary"}


def role_of(message: Message) -> str:
    """Return pi's role of a message: ``user``, ``toolResult``, ``bashExecution`` and so on."""
    origin = "" if message.origin == INTERRUPTED else message.origin  # a client's note to the model
    return _ROLES.get(message.role) or origin or "user"


def estimate(message: Message, images: Container[str] = _IMAGES) -> int:
    """Estimate a message: a quarter of its characters, rounded up.

    As pi's ``estimateTokens`` (0.49.3 to 1.6.0): text, thinking, names and arguments of tool calls,
    and images of some roles; 0 for unknown roles. Frames are added later and do not count. Parts
    without known text count their known size.
    """
    role, chars = message.role, 0
    if role == "user" and role_of(message) not in _KNOWN:
        return 0
    for part in message.parts:
        if part.type == "image":
            chars += IMAGE_CHARS if role_of(message) in images else 0
        elif part.name == FRAME and part.kind == "synthetic":
            continue
        elif part.type == "tool_call":
            chars += utf16_length(part.name) + utf16_length(part.text)
        else:
            chars += utf16_length(part.text) + 4 * part.size
    return -(-chars // 4)


def estimate_pictured(message: Message) -> int:
    """Estimate a message with the images of a user, as pi does since 0.79.0 at the latest."""
    return estimate(message, _ALL_IMAGES)


def estimate_system(view: View) -> int:
    """Estimate the system prompt of a view."""
    return sum(chars4(part.text) + part.size for part in view.system)


def usage_tokens(
    input: float | None = math.nan,
    output: float | None = math.nan,
    cache_read: float | None = math.nan,
    cache_write: float | None = math.nan,
    total: float | None = None,
) -> float:
    """Count the tokens of a call: pi's ``calculateContextTokens`` (0.49.3 to 1.6.0).

    This is the provider's total if it is not 0, otherwise the sum. The sum is NaN if a count is
    missing; null counts as 0.
    """
    if total and not math.isnan(total):
        return total
    return (input or 0) + (output or 0) + (cache_read or 0) + (cache_write or 0)


def last_usage(host: Host) -> float | None:
    """Return the reported tokens of the last call and its answer; None before the first call."""
    usage = host.reported
    if usage is None:
        return None
    return usage_tokens(usage.uncached, usage.output, usage.cache_read, usage.cache_write)


class Context(NamedTuple):
    """Tokens of the last report, estimates of later messages, and their sum."""

    tokens: float
    reported: float
    trailing: int
    last: int | None


def estimate_context(
    messages: Sequence[Message],
    reported: Callable[[Message], float | None],
    weigh: Weight = estimate,
) -> Context:
    """Return the tokens in context: pi's ``estimateContextTokens`` (0.49.3 to 1.6.0).

    The usage of the last answer that did not fail covers all messages up to it; later ones are
    estimated. Without such an answer, all messages are estimated.
    """
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.role != "assistant" or message.origin in FAILED:
            continue
        tokens = reported(message)
        if tokens is not None:
            trailing = sum(map(weigh, messages[index + 1 :]))
            return Context(tokens + trailing, tokens, trailing, index)
    trailing = sum(map(weigh, messages))
    return Context(trailing, 0, trailing, None)


def reported_tokens(host: Host) -> int | None:
    """Return the tokens of the last call with its answer; None if the report is out of date.

    A report is about the prompt that was sent. After a compaction it is out of date until the next
    call: an agent that uses it compacts again at once (OpenClaw issue 26458).
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
    """Return the tokens in context: the report, plus estimates of messages after the last answer.

    Without a valid report, all messages are estimated. It is what the strategy believes.
    """
    known = reported_tokens(host)
    if known is None:
        known = estimate_system(view) + view.messages.total(estimate)
    else:
        known += view.messages[history_end(view.messages) :].total(estimate)
    host.believe(known, view)
    return known


def is_little(tokens: int, host: Host) -> bool:
    """Whether a saving is too small for a compaction: below a hundredth of the window.

    The originals have no such check, and would compact again at every call.
    """
    return tokens * 100 < host.window


def at_most(tokens: int, host: Host) -> int:
    """Limit a number of tokens meant for a large window: to a quarter of a narrowed one.

    A run may narrow the window of its model. A fixed reserve of an agent could then exceed it,
    which no agent was designed for. A model's own window is not limited.
    """
    return min(tokens, host.window // CAP) if host.model.own_window else tokens


def defaults(strategy: Strategy, *names: str) -> dict[str, int]:
    """Return those fields of a strategy that have their default values, with these values."""
    return {
        field.name: tokens
        for field in fields(strategy)  # type: ignore[arg-type]
        if field.name in names and (tokens := getattr(strategy, field.name)) == field.default
    }


def capped(strategy: Strategy, name: str, host: Host) -> int:
    """Return a field's tokens; a default is limited to a quarter of a narrowed window."""
    tokens: int = getattr(strategy, name)
    return at_most(tokens, host) if name in defaults(strategy, name) else tokens


# LangChain's approximation of tokens (langchain-core 1.7.2, `count_tokens_approximately`).

# Each message counts three more tokens; an image counts 85. LangChain takes 3.3 characters per
# token of Claude in its summarising middleware, and 4 elsewhere and for other models.
_EXTRA, _IMAGE = 3, 85
_CLAUDE, _OTHERS = 3.3, 4.0


@remembered
def approximate(message: Message) -> int:
    """Approximate a message: one token per four characters."""
    return approximated(message, _OTHERS)


@remembered
def approximate_blocks(message: Message) -> int:
    """Approximate a message whose answer is a list of blocks, as LangChain has Anthropic's."""
    return approximated(message, _OTHERS, blocks=True)


@remembered
def approximate_claude(message: Message) -> int:
    """Approximate a message for a model of Anthropic: one token per 3.3 characters."""
    return approximated(message, _CLAUDE, blocks=True)


def approximates(host: Host) -> Weight:
    """Return LangChain's default approximation for a model."""
    return approximate_blocks if host.model.name.startswith("claude") else approximate


def approximated(
    message: Message, chars_per_token: float, extra: float = _EXTRA, *, blocks: bool = False
) -> int:
    """Count content, role, and the calls, ids and names of tools; rounded up for each message.

    Each tool result is a separate message.
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
    """Count the characters of an Anthropic block: its text, or all of its Python form.

    Blocks of thinking also have a signature, which our transcripts do not contain.
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
    """Return a call as LangChain keeps it; the length of its Python form is counted."""
    try:
        arguments = msgspec.json.decode(part.text)
    except (msgspec.DecodeError, ValueError, RecursionError):
        arguments = part.text
    return {"name": part.name, "args": arguments, "id": part.call_id, "type": "tool_call"}
