"""A summary after the unchanged part of the prompt, so that this part stays cached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Literal

from compactlab.sim.core.limits import at_least
from compactlab.sim.core.message import Message, Part
from compactlab.sim.core.view import Messages, Phase, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Strategy
from compactlab.sim.replay.summarize import SummaryRequest
from compactlab.strategies.mechanisms.cut import parted, unanswered
from compactlab.strategies.mechanisms.estimate import at_most, is_little, known_tokens
from compactlab.strategies.mechanisms.handover import (
    INSTRUCTIONS,
    fitting,
    is_summary,
    split_previous,
    summary_message,
)
from compactlab.strategies.mechanisms.trigger import Trigger, tokens_at

_SHARE = 0.8
_SUMMARY = 4096
_FRONT = "front"


def whole_front(messages: Sequence[Message], stop: int) -> int:
    """Count the leading messages, up to ``stop``, whose calls have no result after it."""
    behind = {part.call_id for m in messages[stop:] if m.role == "tool" for part in m.parts}
    for index, message in enumerate(messages[:stop]):
        if any(part.type == "tool_call" and part.call_id in behind for part in message.parts):
            return index
    return stop


@dataclass(frozen=True)
class SummaryBehind(Strategy):
    """Keep the beginning of the session, and put the summary after it.

    After a proposal (anthropics/claude-code issue 94197, 2026-09-14): Claude Code puts the summary
    before its attachments, so some 97,000 unchanged tokens are written to the cache again at each
    compaction. Its source is not public; this is the proposed order, with the oldest messages of
    the session instead of attachments. A cache holds prefixes, so only the front stays cached. The
    tail moves, and is written again in any order.

    The front has the client's messages before the first user message, and the oldest messages up to
    ``front_tokens``; it is empty if a log begins within a session. It is determined once, and its
    end is marked for the cache (``Host.mark``): otherwise providers with marks would not read it
    after a compaction. Next come a summary of the middle, including the previous summary, and the
    newest messages. The request extends the live prompt.

    Parameters
    ----------
    trigger
        Size at which it acts; None for 80 % of the window.
    front_tokens
        Tokens of the oldest messages that stay.
    tail_tokens
        Tokens of the newest messages that stay.
    order
        Where the summary stands: ``behind`` the front, in ``front`` of it (for comparison), or
        ``last``: after the tail, but before unanswered messages.
    mark
        Whether the end of the front is marked.
    """

    does = (Act.SUMMARISE,)

    trigger: Trigger = None
    front_tokens: Annotated[int, at_least(0)] = 10_000
    tail_tokens: Annotated[int, at_least(0)] = 20_000
    order: Literal["behind", "front", "last"] = "behind"
    mark: bool = True
    phases = frozenset({Phase.BEFORE_CALL, Phase.ON_OVERFLOW})

    breaks = MappingProxyType(
        {"last user message": "in a long turn the tail begins after it (a choice of ours)"}
    )

    def compact(self, view: View, host: Host) -> View:
        front = self._front(view, host)
        if self.mark and self.order != "front":
            host.mark(front)
        tokens = known_tokens(view, host)
        limit = tokens_at(self.trigger, host, host.window * _SHARE)
        if host.phase is not Phase.ON_OVERFLOW and tokens < limit:
            return view
        previous, spoken = split_previous(view.messages)
        messages = Messages(spoken)
        # A late result may belong to a call in the front.
        front = host.notes[_FRONT] = whole_front(messages, front)
        newest = messages.tail_from(host.weight, at_most(self.tail_tokens, host))
        old, tail = parted(messages, max(front, min(newest, len(messages))))
        between = old[front:]
        if is_little(host.count(Messages(between)), host):
            return view
        summary = self._summary(view, host, between, previous)
        if not summary:
            return view
        told = summary_message(host, summary)
        after = view.with_messages(self._ordered(list(messages[:front]), told, tail))
        return after if host.count(after) < host.count(view) else view

    def _front(self, view: View, host: Host) -> int:
        """Return the number of messages in the front; 0 while nothing follows it."""
        if front := host.notes.get(_FRONT, 0):
            return int(front)
        messages, budget = view.messages, at_most(self.front_tokens, host)
        stop = room = 0
        for message in messages:
            room += host.count(message)
            known = not is_summary(message) and all(p.kind != "opaque" for p in message.parts)
            if not known or (room > budget and not message.meta):
                break
            stop += 1
        if stop == len(messages):
            return 0
        front = host.notes[_FRONT] = whole_front(messages, stop)
        return front

    def _summary(
        self, view: View, host: Host, between: list[Message], previous: tuple[Part, ...]
    ) -> tuple[Part, ...]:
        most = host.model.max_output or _SUMMARY
        request = SummaryRequest(tuple(between), most, previous, INSTRUCTIONS, rides="live")
        return host.summarize(fitting(view, host, INSTRUCTIONS), request)

    def _ordered(self, front: list[Message], told: Message, tail: Messages) -> list[Message]:
        if self.order == "front":
            return [told, *front, *tail]
        if self.order == "behind":
            return [*front, told, *tail]
        asked = unanswered(tail)
        return [*front, *tail[:asked], told, *tail[asked:]]
