"""How agents estimate tokens that no provider has reported yet."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from compactlab.sim.host import Host
from compactlab.sim.message import FAILED, FRAME, Message
from compactlab.sim.tokens import chars4, utf16_length
from compactlab.sim.view import View

# pi counts an image in a tool's result or an extension's message as 4,800 characters (0.49.3 to
# 0.73.1), and none in what the user says.
IMAGE_CHARS = 4800

_ROLES = {"assistant": "assistant", "tool": "toolResult"}
_IMAGES = {"toolResult", "custom"}
_KNOWN = {"user", "custom", "bashExecution", "branchSummary", "compactionSummary"}


def role_of(message: Message) -> str:
    """What pi calls a message's role: ``user``, ``toolResult``, ``bashExecution`` and so on."""
    return _ROLES.get(message.role) or message.origin or "user"


def estimate(message: Message) -> int:
    """Estimate a message: a quarter of its characters, rounded up.

    As pi's ``estimateTokens`` does (0.49.3 to 0.73.1): text, thinking, and of a tool call its name
    and arguments; nothing of a role that pi does not know. Frames are put around a message later
    and do not count. Parts whose text is not known count what they are known to weigh.
    """
    role, chars = message.role, 0
    if role == "user" and message.origin and message.origin not in _KNOWN:
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

    Examples
    --------
    >>> usage_tokens(10, 5, 100, 20), usage_tokens(1, 2, 3, 4, total=999), usage_tokens(5, 5)
    (135, 999, nan)
    """
    if total and not math.isnan(total):
        return total
    return (input or 0) + (output or 0) + (cache_read or 0) + (cache_write or 0)


def last_usage(host: Host) -> float | None:
    """Tokens of the last call and its answer as the provider reported them; None before it."""
    told = host.reported
    if told is None:
        return None
    return usage_tokens(told.uncached, told.output, told.cache_read, told.cache_write)


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

    Parameters
    ----------
    messages
        What is in context.
    reported
        Tokens of the request that a message answers, and of itself; None if nothing was reported.
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
