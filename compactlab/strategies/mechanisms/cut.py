"""Positions at which a history may be cut without separating a result from its call."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

from compactlab.sim.core.message import SUMMARY, Message, Weight
from compactlab.sim.core.view import Messages


def after_results(messages: Messages, index: int) -> int:
    """Return the next index without a tool result; the end, if only results follow."""
    while index < len(messages) and messages[index].role == "tool":
        index += 1
    return index


def tail(messages: Messages, index: int) -> Messages:
    """Return the messages from an index on, without results whose call was removed.

    A result may come late, with a client's reminder between it and its call. If only results would
    be left, the cut moves back to their call, because a prompt must not be empty.
    """
    start = after_results(messages, index)
    if start == len(messages):
        while index and messages[index - 1].role == "tool":
            index -= 1
        start = max(index - 1, 0)
    newest = messages[start:]
    late = unasked(newest) if start else []
    return Messages(m for m in newest if m not in late) if late else newest


def unasked(messages: Iterable[Message]) -> list[Message]:
    """Return results without their call; most follow their calls, so each is found at once."""
    calls: set[str] = set()
    doubtful = []
    for message in messages:
        answers = message.role != "tool"
        for part in message.parts:
            if part.type == "tool_call":
                calls.add(part.call_id)
            elif part.type == "tool_result" and part.call_id in calls:
                answers = True
        if not answers:
            doubtful.append(message)
    return [message for message in doubtful if not _answers(message, calls)]


def _answers(message: Message, calls: set[str]) -> bool:
    return any(part.call_id in calls for part in message.parts if part.type == "tool_result")


def open_call(messages: Messages) -> int:
    """Return the index of the last answer, if it has a call without a result; else the length."""
    come: set[str] = set()
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.role == "assistant":
            calls = {part.call_id for part in message.parts if part.type == "tool_call"}
            return index if calls - come else len(messages)
        come.update(part.call_id for part in message.parts if part.type == "tool_result")
    return len(messages)


def history_end(messages: Messages) -> int:
    """Return the index after the last answer: later messages are about to be sent."""
    index = len(messages)
    while index and messages[index - 1].role != "assistant":
        index -= 1
    return index


def unanswered(messages: Messages) -> int:
    """Return the index after which there are only user messages; the length if there are none."""
    index = len(messages)
    while index and messages[index - 1].role == "user" and messages[index - 1].origin != SUMMARY:
        index -= 1
    return index


starts_turn: Weight = attrgetter("starts_turn")
"""Weighs a message by whether a person starts a turn with it."""


def current_turn(messages: Messages) -> int:
    """Return the index at which the current turn begins; 0 if there is no user message."""
    return messages.last_holding(starts_turn, 1) or 0


def last_turns(messages: Messages, turns: int) -> int:
    """Return the start of the newest turns: OpenClaw's ``limitHistoryTurns`` (2026.1.29 on).

    Messages before the first turn are kept unless a turn is removed; then they are removed with it,
    including a summary, which is not a turn. 0 is no limit.
    """
    if not turns or messages.total(starts_turn) <= turns:
        return 0
    return messages.last_holding(starts_turn, turns) or 0


# Exchanges: an assistant message with the results of its calls, or any other message alone. Keeping
# or dropping whole exchanges never leaves a result without its call.


def exchanges(messages: Iterable[Message]) -> list[list[Message]]:
    """Split messages into exchanges, ordered by their starts.

    A result belongs to the exchange of its call, even if it is late.
    """
    split: list[list[Message]] = []
    of_call: dict[str, list[Message]] = {}
    for message in messages:
        home = None
        for part in message.parts:
            if part.type == "tool_result" and home is None:
                home = of_call.get(part.call_id)
        if home is None:
            split.append(home := [])
        home.append(message)
        for part in message.parts:
            if part.type == "tool_call":
                of_call[part.call_id] = home
    return split


def parted(messages: Messages, index: int) -> tuple[list[Message], Messages]:
    """Split messages at an index; return both parts.

    A result may come late, with a client's reminder between it and its call. It stays with its
    call, so that the second part has no result without a call.
    """
    old, rest = messages[:index], messages[index:]
    if not any(message.role == "tool" for message in rest):
        return list(old), rest
    before = {part.call_id for m in old for part in m.parts if part.type == "tool_call"}
    late = [m for m in rest if m.role == "tool" and _answers(m, before)]
    if not late:
        return list(old), rest
    gone = set(map(id, late))
    return [*old, *late], Messages(m for m in rest if id(m) not in gone)
