"""What Microsoft's Agent Framework does to groups of messages: leave out, or tell in a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compactlab.sim.message import Message, Part, Source
from compactlab.sim.weight import Weight
from compactlab.strategies.mechanisms.agent_framework.groups import TOLD, Group, serialised, total

TOLD_ID = "tool_summary_group_"
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
    """Leave out the oldest groups, as ``TruncationStrategy``.

    The newest group stays whatever it weighs, and so do the system's.

    Parameters
    ----------
    groups
        The history.
    max_n
        Above which weight it acts.
    compact_to
        Down to which weight.
    weight
        Weighs a message.
    preserve_system, preserve_first_user_group
        What else stays.
    """
    left = total(groups, weight)
    if left <= max_n:
        return groups
    safe = {id(group) for group in groups if preserve_system and group.kind == "system"}
    if preserve_first_user_group:
        safe |= {id(group) for group in [g for g in groups if g.kind == "user"][:1]}
    newest = [group for group in groups if group.kind != "system"] or groups
    safe |= {id(group) for group in newest[-1:]}
    kept = []
    for group in groups:
        if left > compact_to and id(group) not in safe:
            left -= total([group], weight)
        else:
            kept.append(group)
    return kept


def slide_groups(
    groups: list[Group], keep_last_groups: int, *, preserve_system: bool = True
) -> list[Group]:
    """Keep the newest groups, as ``SlidingWindowStrategy``; those of the system do not count."""
    newest = {id(g) for g in [g for g in groups if g.kind != "system"][-keep_last_groups:]}
    return [g for g in groups if id(g) in newest or (preserve_system and g.kind == "system")]


def old_tool_groups(groups: list[Group], keep: int) -> list[Group]:
    """The groups of tool calls but for the newest."""
    calls = [group for group in groups if group.kind == "tool_call"]
    return calls[: max(len(calls) - keep, 0)]


def leave_out_tool_groups(groups: list[Group], keep: int) -> list[Group]:
    """Leave out old groups of tool calls, as ``SelectiveToolCallCompactionStrategy``."""
    old = set(map(id, old_tool_groups(groups, keep)))
    return [group for group in groups if id(group) not in old]


def tell_tool_groups(groups: list[Group], keep: int) -> list[Group]:
    """Tell the results of old groups in one message each, as ``ToolResultCompactionStrategy``."""
    old = set(map(id, old_tool_groups(groups, keep)))
    return [
        Group("assistant_text", [_told(group)]) if id(group) in old else group for group in groups
    ]


def context_window(
    groups: list[Group],
    budget: int,
    tool_eviction_threshold: float,
    truncation_threshold: float,
    keep: int,
    *,
    preserve_first_user_group: bool = False,
) -> list[Group]:
    """Tell old tool groups, then leave out, as ``ContextWindowCompactionStrategy``.

    Parameters
    ----------
    groups
        The history.
    budget
        Tokens of the window without the answer.
    tool_eviction_threshold, truncation_threshold
        Shares of it above which the one and the other is done.
    keep
        How many tool groups stay as they are.
    preserve_first_user_group
        Whether the first message of the user is never left out.
    """
    evict, cut = int(budget * tool_eviction_threshold), int(budget * truncation_threshold)
    if total(groups, serialised) > evict:
        groups = tell_tool_groups(groups, keep)
    return truncate(
        groups, cut, evict, serialised, preserve_first_user_group=preserve_first_user_group
    )


def in_order(groups: Sequence[Group], messages: Sequence[Message]) -> list[Message]:
    """The messages of groups in the order of a history; what tells a group stands where it began.

    A group whose result came late has others between its messages.
    """
    place = {message.id: n for n, message in enumerate(messages)}
    place |= {TOLD_ID + id: n for id, n in place.items() if TOLD_ID + id not in place}
    kept = [message for group in groups for message in group.messages]
    return sorted(kept, key=lambda message: place[message.id])


def _told(group: Group) -> Message:
    first = group.messages[0]
    parts = tuple(_fitting(list(_pieces(group))))
    return Message(TOLD_ID + first.id, "assistant", parts, first.time, origin=TOLD)


def _pieces(group: Group) -> Iterator[Part]:
    """The results, each behind the name of its tool; what is ours between them."""
    calls = [p for m in group.messages for p in m.parts if p.type == "tool_call" and p.call_id]
    names = {part.call_id: part.name for part in calls if part.name}
    results = [
        (message, place, part)
        for message in group.messages
        for place, part in enumerate(message.parts)
        if part.type == "tool_result"
    ]
    if not results:
        yield _ours("no results")
    for number, (message, place, part) in enumerate(results):
        name = names.get(part.call_id, "")
        text = part.text.rstrip() if name else part.text.strip()
        label = (f"{name}: " if text else f"{name}:") if name else ""
        yield _ours(("; " if number else "") + label)
        start = 0 if name else len(part.text) - len(part.text.lstrip())
        if text:
            yield _piece(part, message, place, start, text)


def _fitting(pieces: list[Part]) -> Iterator[Part]:
    """The pieces between brackets, cut off where they are too long."""
    yield _ours(PREFIX)
    size = sum(len(piece.text) for piece in pieces)
    room = MOST - len(PREFIX) - len(SUFFIX)
    if size <= room:
        yield from pieces
    else:
        yield from _stripped(pieces, room - len(TRUNCATED))
        yield _ours(TRUNCATED)
    yield _ours(SUFFIX)


def _stripped(pieces: Sequence[Part], room: int) -> list[Part]:
    kept: list[Part] = []
    for piece in pieces:
        kept.append(_shorter(piece, piece.text[:room]))
        room -= len(kept[-1].text)
    while kept and not kept[-1].text.rstrip():
        kept.pop()
    return [*kept[:-1], _shorter(kept[-1], kept[-1].text.rstrip())] if kept else []


def _shorter(piece: Part, text: str) -> Part:
    if text == piece.text or not piece.sources:
        return Part("text", text, piece.kind, piece.sources)
    (source,) = piece.sources[:1]
    end = source.start + len(text)
    return Part("text", text, "truncated", (Source(source.id, source.part, source.start, end),))


def _ours(text: str) -> Part:
    return Part("text", text, "synthetic", ())


def _piece(part: Part, message: Message, place: int, start: int, text: str) -> Part:
    if text == part.text:
        return Part("text", text, part.kind, part.sources)
    return Part("text", text, "truncated", (Source(message.id, place, start, start + len(text)),))
