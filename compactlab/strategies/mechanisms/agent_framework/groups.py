"""Groups of messages that stay or go together: Microsoft's Agent Framework."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from compactlab.sim.message import Message, Part
from compactlab.sim.weight import Weight, remembered

Kind = Literal["system", "user", "assistant_text", "tool_call"]
SYSTEM = "system"
TOLD = "tool_summary"
"""The origin of a message that tells the results of a group."""


@dataclass
class Group:
    """Messages that stay or go together.

    Parameters
    ----------
    kind
        What they are.
    messages
        The messages, in their order; not always next to each other.
    """

    kind: Kind
    messages: list[Message]


def groups_of(messages: Sequence[Message]) -> list[Group]:
    """Group a history, as ``group_messages`` (agent-framework-core 1.23.0).

    A group is a message; or a call with the thinking around it and the results behind it. A
    result that comes later joins the group of its call, if there is just one such call.
    """
    messages = list(messages)  # each is looked at several times
    spans: list[tuple[Kind, int, int]] = []
    start = 0
    while start < len(messages):
        kind, stop = _span(messages, start)
        spans.append((kind, start, stop))
        start = stop
    home = [n for n, (_, begin, end) in enumerate(spans) for _ in range(begin, end)]
    root = list(range(len(spans)))
    for call, result in _pairs(messages):
        one, other = _root(root, home[call]), _root(root, home[result])
        if home[call] < home[result]:
            root[max(one, other)] = min(one, other)
    found: dict[int, Group] = {}
    for number, (kind, begin, end) in enumerate(spans):
        group = found.setdefault(_root(root, number), Group(kind, []))
        group.messages += messages[begin:end]
    return list(found.values())


def _root(root: list[int], number: int) -> int:
    while root[number] != number:
        number = root[number]
    return number


def _span(messages: Sequence[Message], start: int) -> tuple[Kind, int]:
    """What begins at an index, and where it ends."""
    message = messages[start]
    if message.role == "user":
        return ("system" if message.origin == SYSTEM else "user"), start + 1
    if message.role == "tool":
        return "tool_call", _past(messages, start, "tool")
    call = start
    while call < len(messages) and _thinks(messages[call]):
        call += 1
    if call < len(messages) and _calls(messages[call]):
        stop = call + 1
        while stop < len(messages) and _thinks(messages[stop]):
            stop += 1
        return "tool_call", _past(messages, stop, "tool")
    return "assistant_text", start + 1


def _past(messages: Sequence[Message], index: int, role: str) -> int:
    while index < len(messages) and messages[index].role == role:
        index += 1
    return index


def _thinks(message: Message) -> bool:
    """Whether an assistant's message is nothing but thinking."""
    parts = message.parts
    return message.role == "assistant" and bool(parts) and all(p.type == "thinking" for p in parts)


def _calls(message: Message) -> bool:
    return message.role == "assistant" and any(p.type == "tool_call" for p in message.parts)


def _pairs(messages: Sequence[Message]) -> list[tuple[int, int]]:
    """Places of calls and of their results, where there is no doubt."""
    waiting: dict[str, list[int]] = {}
    pairs = []
    for index, message in enumerate(messages):
        for part in message.parts if message.role != "user" else ():
            if not part.call_id:
                continue
            if part.type == "tool_call" and message.role == "assistant":
                waiting.setdefault(part.call_id, []).append(index)
            elif part.type == "tool_result" and len(waiting.get(part.call_id, ())) == 1:
                pairs.append((waiting[part.call_id].pop(), index))
    return pairs


@remembered
def serialised(message: Message) -> int:
    """Count a message: a quarter of what it is as JSON, rounded down; 1 at least."""
    told = message.origin == TOLD
    parts = (_joined(message.parts),) if told else message.parts
    chars = _FRAME + _quoted(message.role) + _quoted(message.id)
    chars += sum(map(_chars, parts)) + len(", ") * max(len(parts) - 1, 0)
    return max(1, (chars + 4 * sum(part.size for part in message.parts)) // 4)


def _joined(parts: Sequence[Part]) -> Part:
    return Part("text", "".join(part.text for part in parts), "synthetic", ())


# Whole messages are not written: what stands around their texts is always as long.
_FRAME = len('{"contents": [], "message_id": , "role": }')
_TEXT = len('{"additional_properties": {}, "text": , "type": "text"}')
_AROUND = {
    "thinking": len('{"additional_properties": {}, "text": , "type": "text_reasoning"}'),
    "tool_result": len(
        '{"additional_properties": {}, "call_id": , "result": , "type": "function_result"}'
    ),
    "tool_call": len(
        '{"additional_properties": {}, "arguments": , "call_id": , "hosted": false, "name": , '
        '"type": "function_call"}'
    ),
}
_quote = json.JSONEncoder(ensure_ascii=False).encode


def _quoted(text: str) -> int:
    return len(_quote(text))


def _chars(part: Part) -> int:
    chars = _AROUND.get(part.type, _TEXT) + _quoted(part.text)
    if part.type in ("tool_call", "tool_result"):
        chars += _quoted(part.call_id)
    return chars + _quoted(part.name) if part.type == "tool_call" else chars


def total(groups: Sequence[Group], weight: Weight) -> int:
    """What groups weigh together."""
    return sum(weight(message) for group in groups for message in group.messages)


def one(message: Message) -> int:
    """Weigh a message by that it is one."""
    return 1


def calls_tool(message: Message) -> int:
    """Weigh a message by whether it is part of a tool's use."""
    return int(message.role == "tool" or _calls(message))
