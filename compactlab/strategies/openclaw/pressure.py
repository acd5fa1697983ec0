"""How OpenClaw 2026.9.6 estimates texts, messages and prompts, and reacts to large prompts.

Exact against the program's own functions (vectors ``openclaw_2026.9.6_*``). Texts count their
characters, in UTF-16 code units; Chinese, Japanese and Korean ones count as more.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from compactlab.sim.core.message import FRAME, Message, Part, remembered
from compactlab.sim.core.tokens import utf16_length
from compactlab.strategies.mechanisms.estimate import role_of

MARGIN = 1.2  # by which estimates of a prompt are raised
_CHARS, _RESULT_CHARS, _JSON_CHARS = 4, 2, 3  # per token: of texts, of results, of names and JSON
_MESSAGE, _BLOCK, _IMAGE = 12, 6, 2000  # tokens of a message, of a block, of an image
# An image's line in a summary request, and the label that it may need.
_OMITTED = len("[image data omitted from summary input]") + 17
# By the characters that they count for.
_WIDE = {
    4: "\u00b7\u3000-\u319f\u4e00-\u9fa5\uac00-\ud7af\uff01-\uff60",
    12: "\u1100-\u11ff\u2e80-\u2fff\u31a0-\u4dff\u9fa6-\u9fff\ua000-\ua4ff\ua700-\ua707"
    "\ua960-\ua97f\ud7b0-\ud7ff\uf900-\ufaff\U0001d360-\U0001d371",
    8: "\u02c7\u02c9-\u02cb\u02d9\u02ea\u02eb\u0305\u0323\ufe10-\ufe4f\uff61-\uffdc\uffe0-\uffe6",
    16: "\U00016fe0-\U00016fff\U0001aff0-\U0001afff\U0001b000-\U0001b16f\U0001f200-\U0001f2ff"
    "\U00020000-\U0002fa1f\U00030000-\U0003347f",
}
_RUNS = {weight: re.compile(f"[{span}]") for weight, span in _WIDE.items()}


def chars(text: str, least: int = 1) -> int:
    """Weigh a text in characters; each code unit counts at least ``least``.

    As ``estimateStringCharsWithMinimumRawWeight``.
    """
    units = utf16_length(text) * least
    if text.isascii():
        return units
    return units + sum(
        weight - least * utf16_length(found)
        for weight, run in _RUNS.items()
        for found in run.findall(text)
    )


def _said(parts: Iterable[Part]) -> list[str]:
    """Return the texts of parts without frames."""
    return [p.text for p in parts if p.type != "image" and not (p.name == FRAME and not p.sources)]


@remembered
def tokens(message: Message) -> int:
    """Estimate a message: a quarter of its characters, rounded up; ``estimateTokens``."""
    parts, role = message.parts, role_of(message)
    known = 4 * sum(part.size for part in parts if part.type != "image")
    if role == "assistant":
        weighed = sum(chars(p.text) + chars(p.name if p.type == "tool_call" else "") for p in parts)
        return -(-(weighed + known) // 4)
    texts = [text for text in _said(parts) if text]
    between = len(texts) - 1 if texts and role in ("user", "custom", "toolResult") else 0
    images = sum(part.type == "image" for part in parts)
    shown = images * 4 * _IMAGE + (_OMITTED if images else 0)
    return -(-(sum(map(chars, texts)) + between + shown + known) // 4)


def _text(text: str, each: int = _CHARS) -> int:
    return -(-chars(text) // each)


@remembered
def pressure(message: Message) -> int:
    """Estimate a message in a prompt: ``estimateMessageTokenPressure``; results count twice."""
    parts, role = message.parts, role_of(message)
    if role in ("bashExecution", "branchSummary", "compactionSummary"):
        return _MESSAGE + _text("".join(part.text for part in parts))
    total = _MESSAGE + sum(part.size for part in parts if part.type != "image")
    for part in parts:
        if part.type == "image":
            total += _IMAGE
        elif part.type == "tool_call":
            total += _text(part.name, _JSON_CHARS) + _BLOCK + _text(part.text or "{}", _JSON_CHARS)
        else:
            half = -(-utf16_length(part.text) // _RESULT_CHARS) if role == "toolResult" else 0
            total += _BLOCK + max(_text(part.text), half)
    name = next((part.name for part in parts if part.call_id), "") if role == "toolResult" else ""
    return total + _text(name, _JSON_CHARS)


def history_pressure(messages: Iterable[Message]) -> int:
    """Return what messages add to a prompt; ``estimateCompactionHistoryTokens``."""
    return raised(_MESSAGE + sum(map(pressure, messages))) - raised(_MESSAGE)


def raised(estimate: float) -> int:
    """Raise an estimate by the margin."""
    return math.ceil(estimate * MARGIN)


def prompt_pressure(messages: Iterable[Message], system: Sequence[Part] = ()) -> int:
    """Estimate a whole prompt without definitions of tools."""
    text = "\n".join(part.text for part in system if part.text)
    opaque = sum(part.size for part in system)
    fixed = _MESSAGE + _text(text) + opaque if opaque or text.strip() else 0
    return raised(sum(map(pressure, messages)) + fixed + _MESSAGE)


# The reserve, and the reaction to a prompt that exceeds it.

RESERVE_SHARE = 0.25
_BUFFER = 512  # tokens


def effective_reserve(reserve: float, window: float) -> int:
    """Cap a reserve to a quarter of the window: ``resolveEffectiveCompactionReserveTokens``."""
    return min(max(0, math.floor(reserve)), math.floor(max(1, math.floor(window)) * RESERVE_SHARE))


Way = Literal["fits", "compact_only", "truncate_tool_results_only", "compact_then_truncate"]


class Route(NamedTuple):
    """The decision of a check within a turn, and its figures in tokens (the last in characters)."""

    way: Way
    estimated: int
    budget: int
    overflow: int
    reducible: int


def route(estimated: int, window: float, reserve: float, reducible: int) -> Route:
    """Decide what to do about a prompt: ``shouldPreemptivelyCompactBeforePrompt``.

    Parameters
    ----------
    estimated
        The prompt's tokens, as estimated with the margin.
    window, reserve
        Tokens.
    reducible
        Characters by which the tool results can be cut, see :func:`.caps.reduced`.

    Returns
    -------
    Route
        Results are only cut if that yields half as much again as is needed, and 512 tokens more.
    """
    budget = max(1, math.floor(window) - effective_reserve(reserve, window))
    overflow = max(0, estimated - budget)
    enough = max((overflow + _BUFFER) * _CHARS, math.ceil(overflow * _CHARS * 1.5))
    way: Way = "fits"
    if overflow:
        way = "truncate_tool_results_only" if reducible >= enough else "compact_then_truncate"
        way = way if reducible > 0 else "compact_only"
    return Route(way, estimated, budget, overflow, reducible)
