"""Trimming a history to a budget from either end: LangChain's trim_messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, Literal

import msgspec

from compactlab.sim.core.limits import at_least
from compactlab.sim.core.message import Message, Part, Source, Weight
from compactlab.sim.core.messages import Messages
from compactlab.sim.core.view import View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Lifetime, Strategy
from compactlab.strategies.mechanisms.estimate import approximate
from compactlab.strategies.mechanisms.parts import one

SYSTEM = "system"
_TYPES = {"user": "human", "assistant": "ai", "tool": "tool"}

Types = str | Sequence[str] | None


@dataclass(frozen=True)
class Trim:
    """What is kept."""

    max_tokens: int  # the budget
    # From which end: the ``first`` messages or the ``last``.
    strategy: Literal["first", "last"] = "last"
    allow_partial: bool = False  # whether the message at the cut may stay in part
    include_system: bool = False  # whether a system message in front always stays; it counts
    # start_on, end_on: types of message that the rest must begin or end with: ``human``, ``ai``,
    # ``tool``, ``system``
    start_on: Types = None
    end_on: Types = None

    def __post_init__(self) -> None:
        for name in ("start_on", "include_system") if self.strategy == "first" else ():
            if getattr(self, name):
                raise ValueError(f"{name} parameter is only valid with strategy='last'")


def trimmed(messages: Messages, trim: Trim, weight: Weight) -> Messages:
    """Keep what fits, as ``trim_messages`` (langchain-core 1.7.2).

    Nothing guards pairs of calls and results but ``start_on`` and ``end_on``. Where not even one
    message fits, none is kept.
    """
    if trim.strategy == "first":
        return _first(messages, trim, weight)
    stop = _back_to(messages, trim.end_on)
    messages = messages[:stop]
    system = trim.include_system and len(messages) > 0 and type_of(messages[0]) == SYSTEM
    head, rest = messages[: int(system)], messages[int(system) :]
    budget = max(0, trim.max_tokens - head.total(weight)) if system else trim.max_tokens
    newest = _last(rest, trim, weight, budget)
    return head.branch(len(head), newest) if system else newest


def type_of(message: Message) -> str:
    """What LangChain calls a message's type."""
    return SYSTEM if message.origin == SYSTEM else _TYPES[message.role]


def _is(message: Message, types: Types) -> bool:
    return type_of(message) in ((types,) if isinstance(types, str) else types or ())


def _back_to(messages: Messages, types: Types) -> int:
    """Index behind the last message of some types; the end, if any type will do."""
    stop = len(messages)
    while types and stop and not _is(messages[stop - 1], types):
        stop -= 1
    return stop


def _on_to(messages: Messages, types: Types) -> int:
    """Index of the first message of some types; 0, if any type will do."""
    start = 0
    while types and start < len(messages) and not _is(messages[start], types):
        start += 1
    return start


def _first(messages: Messages, trim: Trim, weight: Weight) -> Messages:
    if messages.total(weight) <= trim.max_tokens:
        return messages[: _back_to(messages, trim.end_on)]
    left = _most(len(messages), lambda n: messages[:n].total(weight) <= trim.max_tokens)
    oldest = messages[:left]
    if trim.allow_partial and left < len(messages):
        piece = _piece(messages[left], trim.max_tokens - oldest.total(weight), weight, end="first")
        oldest = oldest if piece is None else oldest.branch(left, [piece])
    return oldest[: _back_to(oldest, trim.end_on)]


def _last(messages: Messages, trim: Trim, weight: Weight, budget: int) -> Messages:
    if messages.total(weight) <= budget:
        return messages[_on_to(messages, trim.start_on) :]
    size = len(messages)
    count = size - messages.tail_from(weight, budget)
    newest = messages[size - count :]
    if trim.allow_partial and count < size:
        left = budget - newest.total(weight)
        piece = _piece(messages[size - count - 1], left, weight, end="last")
        newest = newest if piece is None else Messages([piece, *newest])
    return newest[_on_to(newest, trim.start_on) :]


def _most(size: int, fits: Callable[[int], bool]) -> int:
    """The largest number that fits, as halving finds it."""
    left, right = 0, size
    while left < right:
        middle = (left + right + 1) // 2
        left, right = (middle, right) if fits(middle) else (left, middle - 1)
    return left


def _piece(
    message: Message, budget: int, weight: Weight, *, end: Literal["first", "last"]
) -> Message | None:
    """As much of a message as fits: whole blocks, else lines of the outermost; None if nothing."""
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
    """The beginning or the end of a part, with the span that it is."""
    place = next(n for n, other in enumerate(message.parts) if other is part)
    gone = len(part.text) - len(text)
    span = (0, len(text)) if end == "first" else (gone, -1)
    own = part.kind == "verbatim" and all(source.id == message.id for source in part.sources)
    sources = (Source(message.id, place, *span),) if own else part.sources
    kind = "truncated" if sources else part.kind  # what stands for nothing goes on to
    return msgspec.structs.replace(part, text=text, kind=kind, sources=sources)


@dataclass(frozen=True)
class TrimMessages(Strategy):
    """Send the newest messages that fit a budget, for this request alone.

    ``trim_messages`` (langchain-core 1.7.2), exactly. By itself it guards no pairs: that needs
    ``start_on=('human',)``, as its documentation recommends. The system prompt stands outside of
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
        Whether the message at the cut may stay in part.
    include_system
        Whether the system prompt counts.
    start_on, end_on
        Types of message that the rest must begin or end with: ``human``, ``ai``, ``tool``.
    """

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
        _ = self._trim  # refuses what does not go together

    @cached_property
    def _trim(self) -> Trim:
        return Trim(
            self.max_tokens,
            self.strategy,
            self.allow_partial,
            self.include_system,
            self.start_on,
            self.end_on,
        )

    def compact(self, view: View, host: Host) -> View:
        """Leave out what does not fit."""
        counters: dict[str, Weight] = {"model": host.weight, "approximate": approximate, "len": one}
        weight = counters[self.token_counter]
        trim = self._trim
        if self.include_system and view.system:
            head = Message(SYSTEM, "user", view.system, meta=True, origin=SYSTEM)
            model = self.token_counter == "model"  # noqa: S105
            taken = host.count(View(view.system)) if model else weight(head)
            trim = replace(trim, max_tokens=max(0, self.max_tokens - taken))
        return view.with_messages(trimmed(view.messages, trim, weight))
