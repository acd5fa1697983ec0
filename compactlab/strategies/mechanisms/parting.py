"""Parting a history in two without parting a result from its call."""

from __future__ import annotations

from compactlab.sim.message import Message
from compactlab.sim.messages import Messages


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


def _answers(message: Message, calls: set[str]) -> bool:
    return any(part.call_id in calls for part in message.parts if part.type == "tool_result")
