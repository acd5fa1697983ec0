"""Old tool uses told in a line each, by rule: Hermes' first three passes, without any model."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from compactlab.sim.message import Message, Part
from compactlab.sim.messages import Messages
from compactlab.strategies.mechanisms.stub import Result, is_stub, results_of, with_stubs

# Characters (code points): a result that is repeated, a result, arguments, a text in arguments.
REPEATED, RESULT, ARGUMENTS, VALUE = 200, 200, 500, 200
AGAIN = "[the same output as that of a later call]"
CUT = "...[truncated]"
# Below this many tokens a window counts as small, and this many are never too few to compact.
SMALL_WINDOW, LEAST = 512_000, 64_000


def hermes_trigger(window: int, threshold: float) -> int:
    """From how many tokens on Hermes compacts.

    A share of the window, in small windows 75 % at least, and never fewer than 64,000; where that
    would be the whole window, 85 % of it.
    """
    share = max(threshold, 0.75) if window < SMALL_WINDOW else threshold
    tokens = max(int(window * share), LEAST)
    return tokens if tokens < window else max(1, min(int(window * 0.85), window - 1))


def described(messages: Messages, boundary: int) -> Messages:
    """Shorten what tools said, and what they were told, before a boundary.

    Of results that are repeated word for word, the newest stays, on either side of the boundary.

    Parameters
    ----------
    messages
        The history.
    boundary
        Index of the first message that stays as it is, but for repetitions.

    Returns
    -------
    Messages
        The history; itself, if nothing was to be shortened.
    """
    newest = _newest(messages)
    calls = {p.call_id: p for m in messages for p in m.parts if p.type == "tool_call"}
    changed = {}
    for index, message in enumerate(messages):
        shorter = _shorter(message, index, newest, calls, old=index < boundary)
        if shorter is not message:
            changed[index] = shorter
    return messages.replace(changed)


def _newest(messages: Messages) -> dict[str, tuple[int, int]]:
    """Where each long text of a result stands for the last time: message, and place in it."""
    return {
        _text(result): (index, place)
        for index, message in enumerate(messages)
        for place, result in enumerate(results_of(message))
        if len(_text(result)) >= REPEATED and not is_stub(result)
    }


def _text(result: Result) -> str:
    return result[0].text if len(result) == 1 else ""


def _shorter(
    message: Message,
    index: int,
    newest: dict[str, tuple[int, int]],
    calls: dict[str, Part],
    *,
    old: bool,
) -> Message:
    if message.role == "assistant":
        return shrunk(message) if old else message

    def say(place: int, result: Result) -> str | None:
        text = _text(result)
        if is_stub(result):
            return None
        if newest.get(text, (index, place)) != (index, place):
            return AGAIN
        return describe(result[0], calls.get(result[0].call_id)) if old else None

    return with_stubs(message, say)


def describe(result: Part, call: Part | None) -> str | None:
    """A line on what a call was for and how much came back; None for a short result."""
    size = len(result.text)
    if size <= RESULT:
        return None
    name = result.name or (call.name if call else "") or "unknown"
    arguments = _arguments(call) if call else None
    named = list(arguments.items())[:2] if isinstance(arguments, dict) else []
    said = "".join(f" {key[:40]}={str(value)[:40]}" for key, value in named)
    lines = result.text.count("\n") + 1
    line = f"[{name}]{said} ({size:,} characters, {lines:,} lines)"
    return line if len(line) < size else None


def shrunk(message: Message) -> Message:
    """Cut the long texts in the arguments of a message's calls; they stay valid JSON."""
    parts = tuple(_shrunk(part) for part in message.parts)
    if all(one is other for one, other in zip(parts, message.parts, strict=True)):
        return message
    return msgspec.structs.replace(message, parts=parts)


def _shrunk(part: Part) -> Part:
    if part.type != "tool_call" or len(part.text) <= ARGUMENTS:
        return part
    arguments = _arguments(part)
    shorter = _cut(arguments)
    if arguments is None or shorter == arguments:
        return part
    text = json.dumps(shorter, ensure_ascii=False, separators=(",", ":"))
    kind = "truncated" if part.sources else part.kind  # what stands for nothing goes on to
    return msgspec.structs.replace(part, text=text, kind=kind)


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return value[:VALUE] + CUT if len(value) > VALUE and not value.endswith(CUT) else value
    if isinstance(value, dict):
        return {key: _cut(inside) for key, inside in value.items()}
    return [_cut(inside) for inside in value] if isinstance(value, list) else value


def _arguments(call: Part) -> Any:
    try:
        return json.loads(call.text)
    except (ValueError, RecursionError):
        return None
