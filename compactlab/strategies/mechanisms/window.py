"""A window of the newest messages that never parts a call from its result: Strands'."""

from __future__ import annotations

from collections.abc import Container

import msgspec

from compactlab.sim.message import Message, Part, Source
from compactlab.sim.messages import Messages

# What stays of a tool's text at either end, in characters (code points).
PRESERVED = 200
TRUNCATED = "... [truncated:"


def pinned_first(messages: Messages, count: int) -> frozenset[str]:
    """Ids of the first messages, which are pinned when the history is first cut."""
    return frozenset(message.id for message in messages[: max(count, 0)])


def slide(
    messages: Messages, window_size: int, pins: Container[str] = frozenset(), *, force: bool = False
) -> Messages | None:
    """Cut the front off, as Strands' ``reduce_context``.

    The cut falls on the next message of a user that is no tool's result; where there is none, on
    the next call whose result follows. Pinned messages stay, and so does the other half of a
    pinned call or result.

    Parameters
    ----------
    messages
        The history.
    window_size
        How many messages at most; 0 leaves only the pinned ones.
    pins
        Ids of the pinned messages.
    force
        Whether to cut even where the history is no longer than the window: then at least two
        messages go.

    Returns
    -------
    Messages
        What stays; the history itself, if it is no longer than the window; None if nothing can
        be cut off.
    """
    size = len(messages)
    if size <= window_size and not force:
        return messages
    if window_size == 0:
        return Messages(m for n, m in enumerate(messages) if _pinned(messages, n, pins))
    start = 2 if size <= window_size else size - window_size
    cut = _plain_user(messages, start)
    if cut is None:
        cut = _pair(messages, start)
    if cut is None:
        return None
    if not pins:
        return messages[cut:] if cut else None
    kept = [messages[n] for n in range(min(cut, size)) if _pinned(messages, n, pins)]
    return Messages([*kept, *messages[cut:]]) if len(kept) < cut else None


def truncate_oldest(messages: Messages, pins: Container[str] = frozenset()) -> Messages | None:
    """Shorten the results in the oldest message that holds any, to 200 characters at either end.

    Returns
    -------
    Messages
        The history with that message shortened; None if there is none, or if nothing in it is
        longer than that: a message that is not shortened keeps the next ones from being so.
    """
    for index, message in enumerate(messages):
        if _holds(message, "tool_result") and not _pinned(messages, index, pins):
            parts = tuple(_shortened(part, message, n) for n, part in enumerate(message.parts))
            if all(one is other for one, other in zip(parts, message.parts, strict=True)):
                return None
            shorter = msgspec.structs.replace(message, parts=parts)
            return messages.replace({index: shorter})
    return None


def reduce(
    messages: Messages,
    window_size: int,
    pins: Container[str] = frozenset(),
    *,
    should_truncate_results: bool = True,
) -> Messages | None:
    """Make a history that did not fit smaller by one step; None if that cannot be done.

    First the oldest results are shortened; once they are, the front is cut off.
    """
    if should_truncate_results and window_size:
        shorter = truncate_oldest(messages, pins)
        if shorter is not None:
            return shorter
    return slide(messages, window_size, pins, force=True)


def _holds(message: Message, type: str) -> bool:
    return any(part.type == type for part in message.parts)


def _told(message: Message) -> bool:
    """Whether a message is what Strands calls a user's: its tools' results are told by the user."""
    return message.role != "assistant"


def _plain_user(messages: Messages, start: int) -> int | None:
    """The next message of a user's that is no result, and no call without one."""
    for index in range(start, len(messages)):
        message = messages[index]
        if not _told(message) or _holds(message, "tool_result"):
            continue
        following = messages[index + 1 : index + 2]
        if not _holds(message, "tool_call") or any(_holds(m, "tool_result") for m in following):
            return index
    return None


def _pair(messages: Messages, start: int) -> int | None:
    """The next message that calls a tool and is followed by a result."""
    for index in range(start, len(messages) - 1):
        after = messages[index + 1]
        if _holds(messages[index], "tool_call") and _told(after) and _holds(after, "tool_result"):
            return index
    return None


def _pinned(messages: Messages, index: int, pins: Container[str]) -> bool:
    """Whether a message, or the other half of one of its calls or results beside it, is pinned."""
    if messages[index].id in pins:
        return True
    mine = _call_ids(messages[index])
    beside = (n for n in (index - 1, index + 1) if 0 <= n < len(messages))
    return any(
        messages[n].id in pins and not mine.isdisjoint(_call_ids(messages[n])) for n in beside
    )


def _call_ids(message: Message) -> set[str]:
    return {
        part.call_id
        for part in message.parts
        if part.type in ("tool_call", "tool_result") and part.call_id
    }


def _shortened(part: Part, message: Message, place: int) -> Part:
    if message.role == "assistant":
        return part
    if part.type == "image":
        # Its bytes are not kept; the original says 0 of an image without any.
        text = f"[image: {part.name or 'unknown'}, 0 bytes]"
        return Part("tool_result", text, "stub" if part.sources else part.kind, part.sources)
    size = len(part.text)
    if part.type != "tool_result" or TRUNCATED in part.text or size <= 2 * PRESERVED:
        return part
    gap = f"...\n\n{TRUNCATED} {size - 2 * PRESERVED} chars removed] ...\n\n..."
    return msgspec.structs.replace(
        part,
        text=part.text[:PRESERVED] + gap + part.text[-PRESERVED:],
        kind="truncated" if part.sources else part.kind,
        sources=_ends(part, message, place),
    )


def _ends(part: Part, message: Message, place: int) -> tuple[Source, ...]:
    """The two spans that stay; of a part that is no longer the log's own, all that it stood for."""
    if part.kind != "verbatim" or any(source.id != message.id for source in part.sources):
        return part.sources
    end = len(part.text) - PRESERVED
    return (Source(message.id, place, 0, PRESERVED), Source(message.id, place, end, -1))
