"""Microsoft's Agent Framework: groups of messages are removed or reduced to a line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Literal

from compactlab.sim.core.limits import at_least
from compactlab.sim.core.message import Message, Part, Source, Weight, plain, remembered
from compactlab.sim.core.view import Messages, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Strategy
from compactlab.strategies.mechanisms.text import arguments_of, holds, one
from compactlab.strategies.mechanisms.trigger import Trigger, tokens_at

Kind = Literal["system", "user", "assistant_text", "tool_call"]
SYSTEM = "system"
SUMMARY = "tool_summary"
"""The origin of a message that tells the results of a group."""


@dataclass
class Group:
    """Messages that are kept or removed together."""

    kind: Kind  # the kind of group
    messages: list[Message]  # in order, but not always adjacent


def groups_of(messages: Sequence[Message]) -> list[Group]:
    """Group a history, as ``group_messages`` (agent-framework-core 1.23.0).

    A group is one message, or a call with the thinking around it and the results after it. A later
    result joins the group of its call, if exactly one call has its id.
    """
    messages = list(messages)  # each is read several times
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
    merged: dict[int, Group] = {}
    for number, (kind, begin, end) in enumerate(spans):
        group = merged.setdefault(_root(root, number), Group(kind, []))
        group.messages += messages[begin:end]
    return list(merged.values())


def _root(root: list[int], number: int) -> int:
    while root[number] != number:
        number = root[number]
    return number


def _span(messages: Sequence[Message], start: int) -> tuple[Kind, int]:
    """Return the kind and the end of the group that begins at an index."""
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
    """Whether an assistant message consists of thinking only."""
    parts = message.parts
    return message.role == "assistant" and bool(parts) and all(p.type == "thinking" for p in parts)


def _calls(message: Message) -> bool:
    return message.role == "assistant" and holds(message, "tool_call")


def _pairs(messages: Sequence[Message]) -> list[tuple[int, int]]:
    """Return the indices of calls and of their results, where they are unambiguous."""
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
    """Estimate a message: a quarter of its JSON, rounded down, at least 1."""
    return _serialised(message, objects=False)


@remembered
def serialised_objects(message: Message) -> int:
    """Estimate a message if a call's arguments are an object, as in Anthropic's answers."""
    return _serialised(message, objects=True)


def serialises(host: Host) -> Weight:
    """Return the token counter for a model."""
    return serialised_objects if host.model.name.startswith("claude") else serialised


def _serialised(message: Message, *, objects: bool) -> int:
    parts = message.parts
    if message.origin == SUMMARY:
        parts = (plain("".join(part.text for part in parts)),)
    chars = _FRAME + _quoted(message.role) + _quoted(message.id)
    chars += sum(_chars(part, objects=objects) for part in parts)
    chars += len(", ") * max(len(parts) - 1, 0)
    return max(1, (chars + 4 * sum(part.size for part in message.parts)) // 4)


# Messages are not serialised as a whole: the JSON around their texts has a constant length.
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
_sorted = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode


def _quoted(text: str) -> int:
    return len(_quote(text))


def _chars(part: Part, *, objects: bool) -> int:
    chars = _AROUND.get(part.type, _TEXT)
    arguments = arguments_of(part) if objects and part.type == "tool_call" else None
    chars += len(_sorted(arguments)) if isinstance(arguments, dict) else _quoted(part.text)
    if part.type in ("tool_call", "tool_result"):
        chars += _quoted(part.call_id)
    return chars + _quoted(part.name) if part.type == "tool_call" else chars


def total(groups: Sequence[Group], weight: Weight) -> int:
    """Return the total weight of groups."""
    return sum(weight(message) for group in groups for message in group.messages)


def calls_tool(message: Message) -> int:
    """Weigh a message by whether it is part of a tool use."""
    return int(message.role == "tool" or _calls(message))


# Operations of Microsoft's Agent Framework on groups: remove them, or reduce them to a line.

SUMMARY_ID = "tool_summary_group_"
PREFIX, SUFFIX, TRUNCATED, MOST = "[Tool results: ", "]", "... [truncated]", 4096


def truncate(
    groups: list[Group],
    max_n: int,
    compact_to: int,
    weight: Weight,
    *,
    preserve_system: bool = True,
    preserve_first_user_group: bool = False,
) -> list[Group]:
    """Remove the oldest groups, as ``TruncationStrategy``.

    The newest group is always kept, and so are system groups. It acts above ``max_n`` and stops at
    ``compact_to``, both by weight.
    """
    left = total(groups, weight)
    if left <= max_n:
        return groups
    safe = {id(group) for group in groups if preserve_system and group.kind == "system"}
    if preserve_first_user_group:
        safe |= {id(group) for group in [g for g in groups if g.kind == "user"][:1]}
    newest = [group for group in groups if group.kind != "system"] or groups
    safe |= {id(group) for group in newest[-1:]}
    remaining = []
    for group in groups:
        if left > compact_to and id(group) not in safe:
            left -= total([group], weight)
        else:
            remaining.append(group)
    return remaining


def slide_groups(
    groups: list[Group], keep_last_groups: int, *, preserve_system: bool = True
) -> list[Group]:
    """Keep the newest groups, as ``SlidingWindowStrategy``; system groups do not count."""
    newest = {id(g) for g in [g for g in groups if g.kind != "system"][-keep_last_groups:]}
    return [g for g in groups if id(g) in newest or (preserve_system and g.kind == "system")]


def old_tool_groups(groups: list[Group], keep: int) -> list[Group]:
    """Return all groups of tool calls except the newest."""
    calls = [group for group in groups if group.kind == "tool_call"]
    return calls[: max(len(calls) - keep, 0)]


def leave_out_tool_groups(groups: list[Group], keep: int) -> list[Group]:
    """Remove old groups of tool calls, as ``SelectiveToolCallCompactionStrategy``."""
    old = set(map(id, old_tool_groups(groups, keep)))
    return [group for group in groups if id(group) not in old]


def summarise_tool_groups(groups: list[Group], keep: int) -> list[Group]:
    """Reduce the results of old groups to one message each, as ``ToolResultCompactionStrategy``."""
    old = set(map(id, old_tool_groups(groups, keep)))
    return [
        Group("assistant_text", [_tool_summary(group)]) if id(group) in old else group
        for group in groups
    ]


def context_window(
    groups: list[Group],
    evict: int,
    cut: int,
    keep: int,
    weight: Weight = serialised,
    *,
    preserve_first_user_group: bool = False,
) -> list[Group]:
    """Reduce old tool groups, then remove groups, as ``ContextWindowCompactionStrategy``.

    ``evict`` and ``cut`` are the token limits of the two steps: shares of the budget, which is the
    window without the answer.
    """
    if total(groups, weight) > evict:
        groups = summarise_tool_groups(groups, keep)
    first = preserve_first_user_group
    return truncate(groups, cut, evict, weight, preserve_first_user_group=first)


def in_order(groups: Sequence[Group], messages: Sequence[Message]) -> list[Message]:
    """Return the messages of groups in order; a reduced group is placed at its start.

    A group with a late result has other groups' messages between its own.
    """
    place = {message.id: n for n, message in enumerate(messages)}
    place |= {SUMMARY_ID + id: n for id, n in place.items() if SUMMARY_ID + id not in place}
    messages_left = [message for group in groups for message in group.messages]
    return sorted(messages_left, key=lambda message: place[message.id])


def _tool_summary(group: Group) -> Message:
    first = group.messages[0]
    parts = tuple(_fitting(list(_pieces(group))))
    return Message(SUMMARY_ID + first.id, "assistant", parts, first.time, origin=SUMMARY)


def _pieces(group: Group) -> Iterator[Part]:
    """Yield the results with the names of their tools, and separators of our own."""
    calls = [p for m in group.messages for p in m.parts if p.type == "tool_call" and p.call_id]
    names = {part.call_id: part.name for part in calls if part.name}
    results = [
        (message, index, part)
        for message in group.messages
        for index, part in enumerate(message.parts)
        if part.type == "tool_result"
    ]
    if not results:
        yield plain("no results")
    for number, (message, index, part) in enumerate(results):
        name = names.get(part.call_id, "")
        text = part.text.rstrip() if name else part.text.strip()
        label = (f"{name}: " if text else f"{name}:") if name else ""
        yield plain(("; " if number else "") + label)
        start = 0 if name else len(part.text) - len(part.text.lstrip())
        if text:
            yield _piece(part, message, index, start, text)


def _fitting(pieces: list[Part]) -> Iterator[Part]:
    """Put the pieces in brackets, and cut them to the maximum length."""
    yield plain(PREFIX)
    size = sum(len(piece.text) for piece in pieces)
    room = MOST - len(PREFIX) - len(SUFFIX)
    if size <= room:
        yield from pieces
    else:
        yield from _stripped(pieces, room - len(TRUNCATED))
        yield plain(TRUNCATED)
    yield plain(SUFFIX)


def _stripped(pieces: Sequence[Part], room: int) -> list[Part]:
    shown: list[Part] = []
    for piece in pieces:
        shown.append(_shorter(piece, piece.text[:room]))
        room -= len(shown[-1].text)
    while shown and not shown[-1].text.rstrip():
        shown.pop()
    return [*shown[:-1], _shorter(shown[-1], shown[-1].text.rstrip())] if shown else []


def _shorter(piece: Part, text: str) -> Part:
    if text == piece.text or not piece.sources:
        return Part("text", text, piece.kind, piece.sources)
    (source,) = piece.sources[:1]
    end = source.start + len(text)
    return Part("text", text, "truncated", (Source(source.id, source.part, source.start, end),))


def _piece(part: Part, message: Message, place: int, start: int, text: str) -> Part:
    if text == part.text:
        return Part("text", text, part.kind, part.sources)
    return Part("text", text, "truncated", (Source(message.id, place, start, start + len(text)),))


_WORDS = {"last user message": "a turn may have more than fits; agent-framework-core 1.23.0"}
_SIZE = {"size": "what tells a tiny result is longer than it; agent-framework-core 1.23.0"}
_BREAKS = {
    "context_window": _WORDS | _SIZE,
    "truncation": _WORDS,
    "sliding_window": _WORDS,
    "tool_result": _SIZE,
    "selective_tool_call": {},
}


@dataclass(frozen=True)
class ToolGroups(Strategy):
    """Drop whole groups (a message, or a call with its results), or collapse old results.

    The compaction strategies of agent-framework-core 1.23.0, which mark messages in the session as
    excluded. They are exact, except that the system prompt is not counted. Tokens are the
    framework's estimate, a quarter of each message's JSON. Not built: its summarising strategy, and
    the composition under a budget.

    Parameters
    ----------
    strategy
        ``context_window``: replace old tool groups by a message each when the tokens exceed
        ``tool_eviction_threshold``, then leave out the oldest groups if they still exceed
        ``truncation_threshold``. ``truncation``, by messages; ``sliding_window``;
        ``selective_tool_call``: drop old tool groups; ``tool_result``: replace them.
    keep_last_tool_call_groups
        How many of the newest tool groups stay as they are.
    tool_eviction_threshold, truncation_threshold
        Shares of the window without the answer's maximum.
    max_output_tokens
        Tokens of the window kept for the answer.
    max_n, compact_to
        For ``truncation``: above how many messages it acts, and down to how many.
    keep_last_groups
        For ``sliding_window``: how many groups.
    preserve_first_user_group
        Whether truncation always keeps the first message of the user.
    trigger
        For ``context_window``: tokens, or a share of the window, beyond which old tool groups are
        replaced, and down to which groups are dropped; None for the two thresholds.
    """

    does = (Act.TRUNCATE, Act.CLEAR)

    strategy: Literal[
        "context_window", "truncation", "sliding_window", "selective_tool_call", "tool_result"
    ] = "context_window"
    keep_last_tool_call_groups: Annotated[int, at_least(0)] = 4
    tool_eviction_threshold: float = 0.5
    truncation_threshold: float = 0.8
    max_output_tokens: Annotated[int, at_least(0)] = 16_384
    max_n: Annotated[int, at_least(1)] = 100
    compact_to: Annotated[int, at_least(1)] = 50
    keep_last_groups: Annotated[int, at_least(1)] = 40
    preserve_first_user_group: bool = False
    trigger: Trigger = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.compact_to > self.max_n:
            raise ValueError(f"compact_to must be at most max_n, not {self.compact_to}")
        if not 0 < self.tool_eviction_threshold <= self.truncation_threshold <= 1:
            raise ValueError(
                "tool_eviction_threshold must be above 0 and at most truncation_threshold, and "
                f"that at most 1, not {self.tool_eviction_threshold}"
            )
        if self.trigger is not None and self.strategy != "context_window":
            raise ValueError(f"trigger must be None with strategy={self.strategy!r}")

    @property
    def breaks(self) -> Mapping[str, str]:  # type: ignore[override]
        """Removal may affect the user's last message; a reduced group may be longer."""
        return MappingProxyType(_BREAKS[self.strategy])

    def compact(self, view: View, host: Host) -> View:
        messages = view.messages
        if not self._is_due(messages, host):
            return view
        return view.with_messages(in_order(self._made(groups_of(messages), host), messages))

    def _is_due(self, messages: Messages, host: Host) -> bool:
        """Whether there can be anything to do, so that groups are only built if needed."""
        if self.strategy == "context_window":
            host.believe(weighed := messages.total(serialises(host)), View((), messages))
            return weighed > self._evicts(host)
        if self.strategy == "truncation":
            return len(messages) > self.max_n
        if self.strategy == "sliding_window":
            return len(messages) > self.keep_last_groups
        return messages.total(calls_tool) > self.keep_last_tool_call_groups

    def _made(self, groups: list[Group], host: Host) -> list[Group]:
        keep, first = self.keep_last_tool_call_groups, self.preserve_first_user_group
        if self.strategy == "truncation":
            limits = self.max_n, self.compact_to
            return truncate(groups, *limits, one, preserve_first_user_group=first)
        if self.strategy == "sliding_window":
            return slide_groups(groups, self.keep_last_groups)
        if self.strategy == "selective_tool_call":
            return leave_out_tool_groups(groups, keep)
        if self.strategy == "tool_result":
            return summarise_tool_groups(groups, keep)
        evict = int(self._evicts(host))
        cut = max(evict, int(self._budget(host) * self.truncation_threshold))
        weight = serialises(host)
        return context_window(groups, evict, cut, keep, weight, preserve_first_user_group=first)

    def _evicts(self, host: Host) -> float:
        """Return the tokens above which old tool groups are reduced."""
        return tokens_at(self.trigger, host, self._budget(host) * self.tool_eviction_threshold)

    def _budget(self, host: Host) -> int:
        return max(1, host.window - self.max_output_tokens)
