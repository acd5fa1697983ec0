"""Windows of the newest messages: sliding, and Strands', which keeps calls and results together."""

from __future__ import annotations

import math
from collections.abc import Container
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated

import msgspec

from compactlab.sim.core.limits import at_least
from compactlab.sim.core.message import Message, Part, Source
from compactlab.sim.core.view import Messages, Phase, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Strategy
from compactlab.strategies.mechanisms.cut import tail
from compactlab.strategies.mechanisms.text import changed_to, holds, with_parts
from compactlab.strategies.mechanisms.trigger import Trigger, tokens_at


@dataclass(frozen=True)
class SlidingWindow(Strategy):
    """Send the newest messages only.

    It saves tokens but defeats the cache: once the window is full, every prompt begins with another
    message, so none of it can be read.

    Parameters
    ----------
    keep
        Number of messages; fewer if the first would be a result without its call, more if only
        results would be left.
    """

    does = (Act.TRUNCATE,)
    waits = "a number of messages"

    keep: Annotated[int, at_least(1)] = 20

    breaks = MappingProxyType({"last user message": "in a long turn the tail may begin after it"})

    def compact(self, view: View, host: Host) -> View:
        messages = view.messages
        if len(messages) <= self.keep:
            return view
        return view.with_messages(tail(messages, len(messages) - self.keep))


# Characters (code points) kept at both ends of a tool's text.
PRESERVED = 200
TRUNCATED = "... [truncated:"


def pinned_first(messages: Messages, count: int) -> frozenset[str]:
    """Return the ids of the first messages, which are pinned at the first cut."""
    return frozenset(message.id for message in messages[: max(count, 0)])


def slide(
    messages: Messages, window_size: int, pins: Container[str] = frozenset(), *, force: bool = False
) -> Messages | None:
    """Remove the oldest messages, as Strands' ``reduce_context``.

    The cut is at the next user message without a tool result; if there is none, at the next call
    followed by a result. Pinned messages are kept, and so are results of pinned calls and calls of
    pinned results. With a window of 0, only pinned messages are kept. ``force`` removes at least
    two messages, even if the history fits the window. The result is None if nothing can be removed.
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
    pinned = [messages[n] for n in range(min(cut, size)) if _pinned(messages, n, pins)]
    return Messages([*pinned, *messages[cut:]]) if len(pinned) < cut else None


def truncate_oldest(messages: Messages, pins: Container[str] = frozenset()) -> Messages | None:
    """Cut the results in the oldest message with results to 200 characters at both ends.

    Return None if no message has results, or if these are short already; results in later messages
    are not cut then.
    """
    for index, message in enumerate(messages):
        if holds(message, "tool_result") and not _pinned(messages, index, pins):
            parts = tuple(_shortened(part, message, n) for n, part in enumerate(message.parts))
            shorter = with_parts(message, parts)
            return None if shorter is message else messages.replace({index: shorter})
    return None


def reduce(
    messages: Messages,
    window_size: int,
    pins: Container[str] = frozenset(),
    *,
    should_truncate_results: bool = True,
) -> Messages | None:
    """Shrink a history that did not fit by one step; None if that is impossible.

    First the oldest results are cut; if they are short already, the oldest messages are removed.
    """
    if should_truncate_results and window_size:
        shorter = truncate_oldest(messages, pins)
        if shorter is not None:
            return shorter
    return slide(messages, window_size, pins, force=True)


def _is_users(message: Message) -> bool:
    """Whether a message has the user role in Strands, as tool results do."""
    return message.role != "assistant"


def _plain_user(messages: Messages, start: int) -> int | None:
    """Return the next user message without a result, and without a call that lacks its result."""
    for index in range(start, len(messages)):
        message = messages[index]
        if not _is_users(message) or holds(message, "tool_result"):
            continue
        following = messages[index + 1 : index + 2]
        if not holds(message, "tool_call") or any(holds(m, "tool_result") for m in following):
            return index
    return None


def _pair(messages: Messages, start: int) -> int | None:
    """Return the index of the next message with a call that is followed by a result."""
    for index in range(start, len(messages) - 1):
        after = messages[index + 1]
        if holds(messages[index], "tool_call") and _is_users(after) and holds(after, "tool_result"):
            return index
    return None


def _pinned(messages: Messages, index: int, pins: Container[str]) -> bool:
    """Whether a message is pinned, or an adjacent one with the same call id is."""
    if messages[index].id in pins:
        return True
    mine = _call_ids(messages[index])
    neighbours = (n for n in (index - 1, index + 1) if 0 <= n < len(messages))
    return any(
        messages[n].id in pins and not mine.isdisjoint(_call_ids(messages[n])) for n in neighbours
    )


def _call_ids(message: Message) -> set[str]:
    return {
        part.call_id
        for part in message.parts
        if part.type in ("tool_call", "tool_result") and part.call_id
    }


def _shortened(part: Part, message: Message, index: int) -> Part:
    if message.role == "assistant":
        return part
    if part.type == "image":
        # The image's bytes are not kept; the original writes 0 for an image without bytes.
        text = f"[image: {part.name or 'unknown'}, 0 bytes]"
        return Part("tool_result", text, changed_to("stub", part), part.sources)
    size = len(part.text)
    if part.type != "tool_result" or TRUNCATED in part.text or size <= 2 * PRESERVED:
        return part
    gap = f"...\n\n{TRUNCATED} {size - 2 * PRESERVED} chars removed] ...\n\n..."
    return msgspec.structs.replace(
        part,
        text=part.text[:PRESERVED] + gap + part.text[-PRESERVED:],
        kind=changed_to("truncated", part),
        sources=_ends(part, message, index),
    )


def _ends(part: Part, message: Message, index: int) -> tuple[Source, ...]:
    """Return the two kept spans; for a part that is not verbatim, all its sources."""
    if part.kind != "verbatim" or any(source.id != message.id for source in part.sources):
        return part.sources
    end = len(part.text) - PRESERVED
    return (Source(message.id, index, 0, PRESERVED), Source(message.id, index, end, -1))


@dataclass(frozen=True)
class PairSafeWindow(Strategy):
    """After each turn, keep the newest messages, from a user message on.

    ``SlidingWindowConversationManager`` (strands-agents 1.62.0), exactly. If there is no user
    message to cut at, it cuts at a call followed by its result; as in the original, that may lose
    the user's last message. If the prompt exceeds the context window, the results in the oldest
    message with results are cut to 200 characters at both ends. If they are short already, at least
    two messages are removed from the front. The original repeats this after each refused request;
    here it is one step, until the prompt fits or nothing more can be removed.

    Parameters
    ----------
    window_size
        Maximum number of messages; 0 for only the pinned ones.
    pin_first
        Number of first messages that are pinned when the history is first cut.
    should_truncate_results
        Whether results are shortened before messages are removed.
    per_turn
        0 to look only at the end of each turn; n to look before every n-th call, too.
    trigger
        Tokens, or a share of the window, from which on the front is removed before a call; None for
        never, the original's default (``proactive_compression=True`` is 0.7).
    """

    does = (Act.TRUNCATE, Act.CLEAR)

    window_size: Annotated[int, at_least(0)] = 40
    pin_first: Annotated[int, at_least(0)] = 0
    should_truncate_results: bool = True
    per_turn: Annotated[int, at_least(0)] = 0
    trigger: Trigger = None
    phases = frozenset({Phase.BEFORE_CALL, Phase.AFTER_TURN, Phase.ON_OVERFLOW})

    breaks = MappingProxyType(
        {
            "last user message": "where no user speaks it cuts at a call; strands-agents 1.62.0",
            "pairs": "it looks for a result in the next message alone; strands-agents 1.62.0",
        }
    )

    def compact(self, view: View, host: Host) -> View:
        if host.phase is Phase.ON_OVERFLOW:
            return self._relieved(view, host)
        if host.phase is Phase.AFTER_TURN or self._is_due(host):
            view = self._cut(view, host, force=False)
        if host.phase is Phase.BEFORE_CALL and self._is_full(view, host):
            view = self._cut(view, host, force=True)
        return view

    def _is_due(self, host: Host) -> bool:
        if not self.per_turn:
            return False
        host.notes["calls"] = host.notes.get("calls", 0) + 1
        return bool(host.notes["calls"] % self.per_turn == 0)

    def _is_full(self, view: View, host: Host) -> bool:
        if self.trigger is None:
            return False
        return host.count(view) >= tokens_at(self.trigger, host, math.inf)

    def _cut(self, view: View, host: Host, *, force: bool) -> View:
        if len(view.messages) <= self.window_size and not force:
            return view
        shorter = slide(
            view.messages, self.window_size, self._pins(view.messages, host), force=force
        )
        return view if shorter is None else view.with_messages(shorter)

    def _relieved(self, view: View, host: Host) -> View:
        pins = self._pins(view.messages, host)
        while host.count(view) > host.window:
            shorter = reduce(
                view.messages,
                self.window_size,
                pins,
                should_truncate_results=self.should_truncate_results,
            )
            smaller = view if shorter is None else view.with_messages(shorter)
            if smaller is view:
                break
            view = smaller
        return view

    def _pins(self, messages: Messages, host: Host) -> frozenset[str]:
        """Return the pinned messages: the first ones when the history was first cut."""
        if not self.pin_first:
            return frozenset()
        if "pins" not in host.notes:
            host.notes["pins"] = sorted(pinned_first(messages, self.pin_first))
        return frozenset(host.notes["pins"])
