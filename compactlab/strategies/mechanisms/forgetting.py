"""Keeping a pinned head and the newest: OpenHands' recent events and amortised forgetting."""

from __future__ import annotations

from compactlab.sim.messages import Messages


def recent(
    messages: Messages, keep_first: int, max_events: int, *, mended: bool = False
) -> Messages:
    """The first messages and the newest, as ``RecentEventsCondenser`` (openhands-ai 0.62.0).

    Unless it is mended, head and tail are put together without a look at whether they overlap: a
    history that fits has its head twice, and where the head fills the window the tail is all.

    Parameters
    ----------
    messages
        The history.
    keep_first
        How many messages at the front stay.
    max_events
        How many messages there may be.
    mended
        Whether no message stands twice.
    """
    head = messages[:keep_first]
    length = max(0, max_events - len(head))
    if mended:
        start = max(len(messages) - length, len(head))
        return messages if start == len(head) else head.branch(len(head), messages[start:])
    tail = messages[-length:] if length else messages
    return head.branch(len(head), tail)


def forgotten(length: int, keep_first: int, max_size: int) -> range:
    """Which messages go, as ``AmortizedForgettingCondenser`` (openhands-ai 0.62.0).

    None until there are more than ``max_size``; then all but the first and the newest, so that
    half of that is left.

    Parameters
    ----------
    length
        How many messages there are.
    keep_first
        How many at the front stay.
    max_size
        How many there may be.
    """
    if length <= max_size:
        return range(0)
    head = len(range(length)[:keep_first])
    tail = max_size // 2 - head
    return range(head, length - tail if tail else 0)
