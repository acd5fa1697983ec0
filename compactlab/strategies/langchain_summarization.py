"""A rolling summary in front of a tail of messages or tokens: LangChain's middleware."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, Any, Literal

import msgspec

from compactlab.sim.core.limits import at_least
from compactlab.sim.core.message import Message, Part, Weight
from compactlab.sim.core.messages import Messages
from compactlab.sim.core.view import View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Strategy
from compactlab.sim.replay.summarize import SummaryRequest
from compactlab.strategies.mechanisms.cut import parted
from compactlab.strategies.mechanisms.estimate import (
    approximate,
    approximate_claude,
    reported_tokens,
)
from compactlab.strategies.mechanisms.handover import (
    INSTRUCTIONS,
    split_previous,
    summary_message,
)
from compactlab.strategies.mechanisms.parts import plain
from compactlab.strategies.mechanisms.text import transcript, without_middle

# Sizes of a context as LangChain's summarising middleware writes them, and what they decide.
#
# A size is a kind and a number: ``("messages", 20)``, ``("tokens", 4000)`` or ``("fraction",
# 0.8)`` of the window. A trigger is one size, several of which any will do, or among those some
# that must all be met: ``(("tokens", 5000), (("tokens", 3000), ("messages", 50)))``. As langchain
# 1.4.7.

Size = tuple[str, float]
KINDS = ("tokens", "messages", "fraction")
_WHOLE = ("tokens", "messages")


def check_size(field: str, size: Any) -> None:
    """See that something is a size."""
    if not isinstance(size, tuple) or len(size) != 2 or size[0] not in KINDS:
        raise ValueError(f"{field} must be a kind ({', '.join(KINDS)}) and a number, not {size!r}")
    kind, value = size
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{field}: {kind} must be a number, not {value!r}")
    if kind in _WHOLE and (value != int(value) or value <= 0):
        raise ValueError(f"{field}: {kind} must be a whole number of at least 1, not {value!r}")
    if kind == "fraction" and not 0 < value <= 1:
        raise ValueError(f"{field}: fraction must be above 0 and at most 1, not {value!r}")


def clauses(trigger: Any) -> list[list[Size]]:
    """A trigger as clauses, one of which must be met, of sizes that must all be reached."""
    if not isinstance(trigger, tuple):
        raise ValueError(f"trigger must be a size or several of them, not {trigger!r}")
    if not trigger:
        return []
    if isinstance(trigger[0], str):
        trigger = (trigger,)
    wanted = [[each] if each and isinstance(each[0], str) else list(each) for each in trigger]
    for clause in wanted:
        if not clause:
            raise ValueError("trigger: a clause must have at least one size")
        for size in clause:
            check_size("trigger", size)
    return wanted


def reached(
    wanted: Sequence[Sequence[Size]], *, messages: int, tokens: int, reported: int, window: int
) -> bool:
    """Whether a trigger is met: all sizes of one clause are reached.

    What the provider reported for the last call, its answer included, counts beside the
    approximated tokens. Without clauses no trigger is ever met.
    """
    known = max(tokens, reported)
    figures = {"messages": messages, "tokens": known, "fraction": known}

    def met(size: Size) -> bool:
        kind, value = size
        least = max(int(window * value), 1) if kind == "fraction" else value
        return figures[kind] >= least

    return any(all(map(met, clause)) for clause in wanted)


def cutoff(messages: Messages, keep: Size, *, weight: Weight, tokens: int, window: int) -> int:
    """Index of the first message to keep; 0 to summarise nothing.

    ``tokens`` are approximated; scaled by what was reported, they may be more than the messages
    weigh.
    """
    kind, value = keep
    if kind == "messages":
        return with_call(messages, max(len(messages) - int(value), 0))
    budget = max(int(window * value if kind == "fraction" else value), 1)
    if not messages or tokens <= budget:
        return 0
    first = messages.tail_from(weight, budget)
    if first >= len(messages):
        if len(messages) == 1:
            return 0
        first = len(messages) - 1
    return with_call(messages, first)


def with_call(messages: Messages, index: int) -> int:
    """The index, or that of the call if results stand there; behind them if no call is found.

    As ``_find_safe_cutoff_point``.
    """
    end = index
    while end < len(messages) and messages[end].role == "tool":
        end += 1
    if end == index:
        return index
    wanted = {p.call_id for m in messages[index:end] for p in m.parts if p.type == "tool_result"}
    wanted.discard("")
    for place in range(index - 1, -1, -1):
        parts = messages[place].parts
        if any(part.type == "tool_call" and part.call_id in wanted for part in parts):
            return place
    return end


def last_tokens(messages: Messages, max_tokens: int, weight: Weight) -> list[Message]:
    """The newest messages that fit, from a user's on; the first may be the end of one.

    As ``trim_messages`` with what the summarising middleware gives it (langchain-core 1.7.2):
    strategy last, start on human, partial messages by lines, a system message in front kept. In a
    long turn of an agent there may be no user's message among the newest, and nothing is left.
    """
    system = [messages[0]] if messages and messages[0].origin == "system" else []
    rest = messages[len(system) :]
    budget = max(0, max_tokens - sum(map(weight, system)))
    first = rest.tail_from(weight, budget)
    newest = list(rest[first:])
    if first:
        part_of = _end(rest[first - 1], budget - rest[first:].total(weight), weight)
        newest[:0] = [part_of] if part_of is not None else []
    start = next((n for n, m in enumerate(newest) if _is_human(m)), len(newest))
    return [*system, *newest[start:]]


def _is_human(message: Message) -> bool:
    return message.role == "user" and message.origin != "system"


def _end(message: Message, budget: int, weight: Weight) -> Message | None:
    """As many of its last lines as fit; None if not even one does."""
    texts = [index for index, part in enumerate(message.parts) if part.text]
    starts = [
        (index, start)
        for index in texts
        for start in (0, *(n + 1 for n, c in enumerate(message.parts[index].text) if c == "\n"))
    ]

    def cut(place: tuple[int, int]) -> Message:
        index, start = place
        length = len(message.parts[index].text) - start
        end = without_middle(message, index, 0, length, "") if start else message.parts[index]
        before = (part for part in message.parts[:index] if not part.text)
        parts = (*before, end, *message.parts[index + 1 :])
        return msgspec.structs.replace(message, parts=parts)

    first = bisect_left(starts, True, key=lambda place: weight(cut(place)) <= budget)
    return cut(starts[first]) if first < len(starts) else None


# What langchain 1.4.7 writes before a summary.
LEAD = "Here is a summary of the conversation to date:\n\n"
# What stands there when nothing of the old part was left to be summarised; our own words.
NOTHING_LEFT = "What was said before was too long to be summarised."
# LangChain sets no limit; a model has its own.
_MAX_TOKENS = 4096
# By how much an approximation is raised at most when the provider reports more.
_SCALE = 1.25


@dataclass(frozen=True)
class RollingSummary(Strategy):
    """Summarise what is older than the tail, the summary before it included.

    After LangChain's ``SummarizationMiddleware`` (1.4.7), whose rules of when and where to cut it
    follows exactly: sizes are compared inclusively, tokens are approximated from characters or
    taken from the last report, and a cut among results walks back to their call. The summariser
    is given no more than the last 4,000 tokens of what it is to summarise, from a message of the
    user on: in a long turn that is nothing, and then nothing is summarised. As a default trigger
    LangChain has none and never acts; this one acts at 85 % of the window, as deepagents (0.7.32).

    ``keep=("tokens", 20_000), summary_input=0`` with ``trigger=("fraction", 0.9)`` is Cline's
    agentic compaction; with ``rides="live"`` the request reads the cache. Not followed: retries
    of a failed request, and the exact counting of messages that have several parts.

    Parameters
    ----------
    trigger
        When: a kind and a number (``("tokens", 8000)``, ``("messages", 50)`` or
        ``("fraction", 0.85)`` of the window); several of them, of which any will do; among those
        some that must all be met: ``(("messages", 90), (("tokens", 3000), ("messages", 50)))``.
    keep
        How much of the end stays: a kind and a number.
    summary_input
        Tokens of the old part that the summariser is given, the newest; 0 for all of it.
    rides
        How the request is built: ``fresh`` or ``live``.
    """

    trigger: tuple[Any, ...] = ("fraction", 0.85)
    keep: tuple[str, float] = ("messages", 20)
    summary_input: Annotated[int, at_least(0)] = 4000
    rides: Literal["live", "fresh"] = "fresh"

    breaks = MappingProxyType(
        {
            "last user message": "in a long turn the tail begins after it; langchain 1.4.7",
            "size": "a summary may be longer than the little that it stands for; langchain 1.4.7",
        }
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        clauses(self.trigger)
        check_size("keep", self.keep)

    @cached_property
    def _clauses(self) -> list[list[Size]]:
        return clauses(self.trigger)

    def compact(self, view: View, host: Host) -> View:
        """Replace the old part, if it is time."""
        messages, weight = view.messages, weight_of(host)
        reported = reported_tokens(host) or 0
        tokens = _scaled(messages, weight, reported)
        sizes = {"tokens": tokens, "window": host.window}
        if not reached(self._clauses, messages=len(messages), reported=reported, **sizes):
            return view
        cut = cutoff(messages, self.keep, weight=weight, **sizes)
        if cut <= 0:
            return view
        old, rest = parted(messages, cut)
        summary = self._summary(view, host, Messages(old))
        return view.with_messages([summary_message(host, summary, lead=LEAD), *rest])

    def _summary(self, view: View, host: Host, old: Messages) -> tuple[Part, ...]:
        given: list[Message] = list(old)
        if self.summary_input:
            given = last_tokens(old, self.summary_input, weight_of(host))
        if not given:
            return (plain(NOTHING_LEFT),)
        previous, spoken = split_previous(Messages(given))
        written = transcript(given) if self.rides == "fresh" else ""
        most = host.model.max_output or _MAX_TOKENS
        return host.summarize(
            view,
            SummaryRequest(tuple(spoken), most, previous, INSTRUCTIONS, written, self.rides),
        )


def weight_of(host: Host) -> Weight:
    """How LangChain approximates the tokens of a message for a model."""
    return approximate_claude if host.model.name.startswith("claude") else approximate


def _scaled(messages: Messages, weight: Weight, reported: int) -> int:
    """Approximated tokens, raised towards what was reported for those up to the last answer."""
    tokens = messages.total(weight)
    if not reported:
        return tokens
    last = len(messages)
    while last and messages[last - 1].role != "assistant":
        last -= 1
    upto = messages[:last].total(weight)
    scale = min(_SCALE, max(1.0, reported / upto)) if upto and len(messages) > 1 else 1.0
    return math.ceil(tokens * scale)
