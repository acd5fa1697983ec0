"""LangChain: trim_messages, and the middleware that keeps a rolling summary before a tail."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, Any, Literal

import msgspec

from compactlab.sim.core.limits import at_least
from compactlab.sim.core.message import Message, Part, Source, Weight, plain
from compactlab.sim.core.view import Messages, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Lifetime, Strategy
from compactlab.sim.replay.summarize import SummaryRequest
from compactlab.strategies.mechanisms.cut import parted
from compactlab.strategies.mechanisms.estimate import (
    approximate,
    approximate_claude,
    approximates,
    reported_tokens,
)
from compactlab.strategies.mechanisms.handover import (
    INSTRUCTIONS,
    split_previous,
    summary_message,
)
from compactlab.strategies.mechanisms.text import one, transcript, without_middle
from compactlab.strategies.mechanisms.trigger import SIZE, is_size

# Trimming a history to a budget from either end: LangChain's trim_messages.

SYSTEM = "system"
_TYPES = {"user": "human", "assistant": "ai", "tool": "tool"}


def trimmed(messages: Messages, rule: TrimMessages, weight: Weight, budget: int) -> Messages:
    """Keep the messages that fit a budget, as ``trim_messages`` (langchain-core 1.7.2).

    Only ``start_on`` and ``end_on`` keep calls and results together. If not even one message fits,
    none is kept.
    """
    if rule.strategy == "first":
        return _first(messages, rule, weight, budget)
    stop = _back_to(messages, rule.end_on)
    messages = messages[:stop]
    system = rule.include_system and len(messages) > 0 and type_of(messages[0]) == SYSTEM
    head, rest = messages[: int(system)], messages[int(system) :]
    budget = max(0, budget - head.total(weight)) if system else budget
    newest = _last(rest, rule, weight, budget)
    return head.branch(len(head), newest) if system else newest


def type_of(message: Message) -> str:
    """Return LangChain's type of a message."""
    return SYSTEM if message.origin == SYSTEM else _TYPES[message.role]


def _back_to(messages: Messages, types: tuple[str, ...]) -> int:
    """Return the index after the last message of some types; the end, if there are no types."""
    stop = len(messages)
    while types and stop and type_of(messages[stop - 1]) not in types:
        stop -= 1
    return stop


def _on_to(messages: Messages, types: tuple[str, ...]) -> int:
    """Return the index of the first message of some types; 0, if there are no types."""
    start = 0
    while types and start < len(messages) and type_of(messages[start]) not in types:
        start += 1
    return start


def _first(messages: Messages, rule: TrimMessages, weight: Weight, budget: int) -> Messages:
    if messages.total(weight) <= budget:
        return messages[: _back_to(messages, rule.end_on)]
    left = _most(len(messages), lambda n: messages[:n].total(weight) <= budget)
    oldest = messages[:left]
    if rule.allow_partial and left < len(messages):
        piece = _piece(messages[left], budget - oldest.total(weight), weight, end="first")
        oldest = oldest if piece is None else oldest.branch(left, [piece])
    return oldest[: _back_to(oldest, rule.end_on)]


def _last(messages: Messages, rule: TrimMessages, weight: Weight, budget: int) -> Messages:
    if messages.total(weight) <= budget:
        return messages[_on_to(messages, rule.start_on) :]
    size = len(messages)
    count = size - messages.tail_from(weight, budget)
    newest = messages[size - count :]
    if rule.allow_partial and count < size:
        left = budget - newest.total(weight)
        piece = _piece(messages[size - count - 1], left, weight, end="last")
        newest = newest if piece is None else Messages([piece, *newest])
    return newest[_on_to(newest, rule.start_on) :]


def _most(size: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number that fits, by bisection."""
    left, right = 0, size
    while left < right:
        middle = (left + right + 1) // 2
        left, right = (middle, right) if fits(middle) else (left, middle - 1)
    return left


def _piece(
    message: Message, budget: int, weight: Weight, *, end: Literal["first", "last"]
) -> Message | None:
    """Return the part of a message that fits: whole blocks, or lines of one; None if none fit."""
    content = [part for part in message.parts if part.type != "tool_call"]
    for count in range(len(content) - 1, 0, -1):
        blocks = content[:count] if end == "first" else content[len(content) - count :]
        piece = _with(message, blocks)
        if weight(piece) <= budget:
            return piece
    part = content[0 if end == "first" else -1] if content else None
    if part is None or part.type == "image" or not part.text:
        return None
    lines = part.text.split("\n")
    lines = [line + "\n" for line in lines[:-1]] + lines[-1:]
    if end == "last":
        lines.reverse()
    count = _most(
        len(lines),
        lambda n: weight(_with(message, [_retold(part, "".join(lines[:n]))])) <= budget,
    )
    if not count:
        return None
    fitting = lines[:count] if end == "first" else lines[:count][::-1]
    return _with(message, [_cut(part, "".join(fitting), message, end)])


def _with(message: Message, content: Sequence[Part]) -> Message:
    calls = (part for part in message.parts if part.type == "tool_call")
    return msgspec.structs.replace(message, parts=(*content, *calls))


def _retold(part: Part, text: str) -> Part:
    return msgspec.structs.replace(part, text=text)


def _cut(part: Part, text: str, message: Message, end: str) -> Part:
    """Return the beginning or end of a part, with its span as source."""
    place = next(n for n, other in enumerate(message.parts) if other is part)
    gone = len(part.text) - len(text)
    span = (0, len(text)) if end == "first" else (gone, -1)
    own = part.kind == "verbatim" and all(source.id == message.id for source in part.sources)
    sources = (Source(message.id, place, *span),) if own else part.sources
    kind = "truncated" if sources else part.kind  # a part without sources keeps its kind
    return msgspec.structs.replace(part, text=text, kind=kind, sources=sources)


@dataclass(frozen=True)
class TrimMessages(Strategy):
    """Send the newest messages that fit a budget, for this request only.

    ``trim_messages`` (langchain-core 1.7.2), exactly. It keeps calls and results together only with
    ``start_on=('human',)``, which its documentation recommends. The system prompt is not part of
    the history here and always stays; ``include_system`` says whether it counts.

    Parameters
    ----------
    max_tokens
        The budget; the original has no default.
    strategy
        From which end: the ``first`` messages or the ``last``.
    token_counter
        What is counted: ``model`` the model's tokens, ``approximate`` LangChain's approximation,
        ``len`` messages.
    allow_partial
        Whether a part of the message at the cut may stay.
    include_system
        Whether the system prompt counts.
    start_on, end_on
        Types of message that the rest must begin or end with: ``human``, ``ai``, ``tool``.
    """

    does = (Act.TRUNCATE,)
    waits = "nothing: it trims to a budget at every call"

    max_tokens: Annotated[int, at_least(1)] = 20_000
    strategy: Literal["first", "last"] = "last"
    token_counter: Literal["model", "approximate", "len"] = "approximate"  # noqa: S105
    allow_partial: bool = False
    include_system: bool = False
    start_on: tuple[str, ...] = ()
    end_on: tuple[str, ...] = ()
    lifetime = Lifetime.REQUEST

    breaks = MappingProxyType(
        {
            "pairs": "without start_on it cuts anywhere; langchain-core 1.7.2",
            "last user message": "in a long turn it may not fit; langchain-core 1.7.2",
        }
    )

    def __post_init__(self) -> None:
        for name in ("start_on", "end_on"):
            types = getattr(self, name)
            types = (types,) if isinstance(types, str) else types
            if not isinstance(types, list | tuple) or not {"human", "ai", "tool"} >= set(types):
                raise ValueError(
                    f"{name} must be a tuple of 'human', 'ai' or 'tool', not {types!r}"
                )
            object.__setattr__(self, name, tuple(types))
        super().__post_init__()
        for name in ("start_on", "include_system") if self.strategy == "first" else ():
            if getattr(self, name):
                raise ValueError(f"{name} parameter is only valid with strategy='last'")

    def compact(self, view: View, host: Host) -> View:
        counters: dict[str, Weight] = {
            "model": host.weight, "approximate": approximates(host), "len": one,
        }  # fmt: skip
        weight, budget = counters[self.token_counter], self.max_tokens
        if self.include_system and view.system:
            head = Message(SYSTEM, "user", view.system, meta=True, origin=SYSTEM)
            model = self.token_counter == "model"  # noqa: S105
            taken = host.count(View(view.system)) if model else weight(head)
            budget = max(0, budget - taken)
        if weight is counters["approximate"]:
            host.believe(view.messages.total(weight), View((), view.messages))
        return view.with_messages(trimmed(view.messages, self, weight, budget))


# A rolling summary before a tail of messages or tokens: LangChain's middleware.

# Sizes of a context in LangChain's summarising middleware, and triggers built from them.
#
# A size is a kind and a number: ``("messages", 20)``, ``("tokens", 4000)`` or ``("fraction",
# 0.8)`` of the window. A trigger is one size, or several alternatives. One may be several
# sizes that must all be reached: ``(("tokens", 5000), (("tokens", 3000), ("messages", 50)))``. As
# langchain 1.4.7.

Size = tuple[str, float]
KINDS = ("tokens", "messages", "fraction")
_WHOLE = ("tokens", "messages")
OWN = ("fraction", 0.85)  # of deepagents (0.7.32)


def check_size(field: str, size: Any) -> None:
    """Check that a value is a size."""
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
    """Return a trigger as clauses (alternatives) of sizes that must all be reached.

    A number is a size, too: tokens above 1, else a share of the window. None is deepagents' size.
    """
    if trigger is None:
        trigger = OWN
    elif isinstance(trigger, int | float) and is_size(trigger):
        trigger = ("fraction" if trigger <= 1 else "tokens", trigger)
    if isinstance(trigger, tuple) and trigger and isinstance(trigger[0], str):
        trigger = (trigger,)
    if not isinstance(trigger, tuple) or not all(isinstance(each, tuple) for each in trigger):
        what = f"{SIZE}, a size or several of them"
        raise ValueError(f"trigger must be {what}, not {trigger!r}")
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
    """Whether all sizes of any clause are reached.

    The provider's report for the last call, including its answer, counts as well as the
    approximation. Without clauses the result is False.
    """
    known = max(tokens, reported)
    figures = {"messages": messages, "tokens": known, "fraction": known}

    def met(size: Size) -> bool:
        kind, value = size
        least = max(int(window * value), 1) if kind == "fraction" else value
        return figures[kind] >= least

    return any(all(map(met, clause)) for clause in wanted)


def cutoff(messages: Messages, keep: Size, *, weight: Weight, tokens: int, window: int) -> int:
    """Return the index of the first message to keep; 0 to summarise nothing.

    ``tokens`` are approximated. Scaled by the report, they may exceed the messages' actual size.
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
    """Move an index from results back to their call, or after them if the call is missing."""
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


def last_tokens(
    messages: Messages, max_tokens: int, weight: Weight, scale: float = 1.0
) -> list[Message]:
    """Return the newest messages that fit, from a user message on; the first may be cut.

    If an answer is among several messages, their tokens are multiplied by ``scale``. The
    middleware's counter uses the report for the oldest of these answers, which nearly always
    exceeds their size.

    As ``trim_messages`` with the middleware's arguments (langchain-core 1.7.2): strategy last,
    start on human, partial messages by lines, a leading system message is kept. In an agent's long
    turn the newest messages may contain no user message, and then nothing is left.
    """
    system = [messages[0]] if messages and messages[0].origin == "system" else []
    rest = messages[len(system) :]
    budget = max(0, max_tokens - sum(map(weight, system)))
    first = rest.tail_from(weight, budget)
    newest_answer = next((n for n in range(len(rest) - 1, -1, -1) if _is_answer(rest[n])), -1)
    alone = min(newest_answer + 1, len(rest) - 1)  # from here on nothing is scaled
    if first < alone:
        first = min(alone, rest.tail_from(weight, math.floor(budget / scale)))
    newest = list(rest[first:])
    if first:
        taken = rest[first:].total(weight) * (scale if first < alone else 1)
        part_of = _end(rest[first - 1], budget - math.ceil(taken), weight)
        newest[:0] = [part_of] if part_of is not None else []
    start = next((n for n, m in enumerate(newest) if _is_human(m)), len(newest))
    return [*system, *newest[start:]]


def _is_answer(message: Message) -> bool:
    return message.role == "assistant"


def _is_human(message: Message) -> bool:
    return message.role == "user" and message.origin != "system"


def _end(message: Message, budget: int, weight: Weight) -> Message | None:
    """Return as many of the last lines as fit; None if not even one does."""
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


# The text that langchain 1.4.7 writes before a summary.
LEAD = "Here is a summary of the conversation to date:\n\n"
# The summary if trimming left nothing of the old part; our own wording.
NOTHING_LEFT = "What was said before was too long to be summarised."
# LangChain sets no limit; a model has its own.
_MAX_TOKENS = 4096
# Largest factor by which an approximation is raised if the provider reports more.
_SCALE = 1.25


@dataclass(frozen=True)
class RollingSummary(Strategy):
    """Summarise all but the tail, including the previous summary.

    After LangChain's ``SummarizationMiddleware`` (1.4.7), with exact trigger and cut: sizes are
    compared inclusively, tokens are approximated from characters or taken from the last report, and
    a cut among results moves back to their call. The summariser gets at most the last 4,000 tokens
    of the old part, from a user message on. In a long turn that is nothing, and then nothing is
    summarised. LangChain has no default trigger; this one acts at 85 % of the window, as deepagents
    (0.7.32).

    ``keep=("tokens", 20_000), summary_input=0`` with ``trigger=("fraction", 0.9)`` is Cline's
    agentic compaction; with ``rides="live"`` the request reads the cache. Not built: retries of a
    failed request, and the exact counting of messages with several parts.

    Parameters
    ----------
    trigger
        Tokens or a share of the window; a kind and a number (``("tokens", 8000)``, ``("messages",
        50)`` or ``("fraction", 0.85)``); or several alternatives, each of which may be several
        sizes that must all be reached: ``(("messages", 90), (("tokens", 3000), ("messages",
        50)))``.
    keep
        Size of the tail: a kind and a number.
    summary_input
        Newest tokens of the old part that the summariser gets; 0 for all of it.
    rides
        How the request is built: ``fresh`` or ``live``.
    """

    does = (Act.SUMMARISE,)

    trigger: tuple[Any, ...] | int | float | None = OWN
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
        messages, weight = view.messages, weight_of(host)
        reported = reported_tokens(host) or 0
        tokens = _scaled(messages, weight, reported)
        host.believe(tokens, view)
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
            scale = 1.0 if host.reported is None else _SCALE
            given = last_tokens(old, self.summary_input, weight_of(host), scale)
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
    """Return LangChain's token counter for a model."""
    return approximate_claude if host.model.name.startswith("claude") else approximate


def _scaled(messages: Messages, weight: Weight, reported: int) -> int:
    """Approximate tokens, and scale them to the report for the messages up to the last answer."""
    tokens = messages.total(weight)
    if not reported:
        return tokens
    last = len(messages)
    while last and messages[last - 1].role != "assistant":
        last -= 1
    upto = messages[:last].total(weight)
    scale = min(_SCALE, max(1.0, reported / upto)) if upto and len(messages) > 1 else 1.0
    return math.ceil(tokens * scale)
