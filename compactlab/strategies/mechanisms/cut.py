"""Where a history may be cut, so that no result is parted from its call."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

from compactlab.sim.core.message import SUMMARY, Message, Weight
from compactlab.sim.core.view import Messages


def after_results(messages: Messages, index: int) -> int:
    """The next index at which no tool's result stands; the end, if only results follow."""
    while index < len(messages) and messages[index].role == "tool":
        index += 1
    return index


def tail(messages: Messages, index: int) -> Messages:
    """The messages from an index on, without results whose call was cut off.

    A result may come late, with a reminder of the client between it and its call. Where only
    results would be left, the cut moves back to their call: there must be something to send.
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
    """Results without their call; nearly all follow theirs, so each is looked up at once."""
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
    """Index of the last answer, if it calls a tool whose result has not come; else the length."""
    come: set[str] = set()
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.role == "assistant":
            calls = {part.call_id for part in message.parts if part.type == "tool_call"}
            return index if calls - come else len(messages)
        come.update(part.call_id for part in message.parts if part.type == "tool_result")
    return len(messages)


def history_end(messages: Messages) -> int:
    """Index behind the last answer: what stands from there on is about to be sent."""
    index = len(messages)
    while index and messages[index - 1].role != "assistant":
        index -= 1
    return index


def unanswered(messages: Messages) -> int:
    """Index from which on nobody but the user has spoken; the length if the user has not."""
    index = len(messages)
    while index and messages[index - 1].role == "user" and messages[index - 1].origin != SUMMARY:
        index -= 1
    return index


starts_turn: Weight = attrgetter("starts_turn")
"""Weighs a message by whether a person starts a turn with it."""


def current_turn(messages: Messages) -> int:
    """Index at which the current turn begins; 0 if nobody has spoken."""
    return messages.last_holding(starts_turn, 1) or 0


def last_turns(messages: Messages, turns: int) -> int:
    """Index at which the newest turns begin: OpenClaw's ``limitHistoryTurns`` (2026.1.29 on).

    What came before the first turn stays unless a turn has to go; then it goes with it, and so
    does a summary: it is no turn. 0 is no limit.
    """
    if not turns or messages.total(starts_turn) <= turns:
        return 0
    return messages.last_holding(starts_turn, turns) or 0


# Exchanges: an assistant message with the results of its calls, or any other message alone.
#
# What keeps or drops whole exchanges never leaves a result without its call.


def exchanges(messages: Iterable[Message]) -> list[list[Message]]:
    """Split messages into exchanges, in the order in which they begin.

    A result belongs to the exchange of its call, however late it comes.
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
    """What stands before an index, and the rest.

    A result may come late, with a reminder of the client between it and its call: it goes with its
    call, so that the rest has no result without one.
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
