"""Sizes of a context as LangChain's summarising middleware writes them, and what they decide.

A size is a kind and a number: ``("messages", 20)``, ``("tokens", 4000)`` or ``("fraction", 0.8)``
of the window. A trigger is one size, several of which any will do, or among those some that must
all be met: ``(("tokens", 5000), (("tokens", 3000), ("messages", 50)))``. As langchain 1.4.7.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compactlab.sim.messages import Messages
from compactlab.sim.weight import Weight

Size = tuple[str, float]
KINDS = ("tokens", "messages", "fraction")
_WHOLE = ("tokens", "messages")


def check_size(field: str, size: Any) -> None:
    """See that something is a size.

    Raises
    ------
    ValueError
        If it is none; the text names the field and what may stand there.
    """
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
    """A trigger as clauses, one of which must be met, of sizes that must all be reached.

    Raises
    ------
    ValueError
        If it is no trigger.
    """
    if not isinstance(trigger, tuple):
        raise ValueError(f"trigger must be a size or several of them, not {trigger!r}")
    if not trigger:
        return []
    if isinstance(trigger[0], str):
        trigger = (trigger,)
    found = [[each] if each and isinstance(each[0], str) else list(each) for each in trigger]
    for clause in found:
        if not clause:
            raise ValueError("trigger: a clause must have at least one size")
        for size in clause:
            check_size("trigger", size)
    return found


def reached(
    wanted: Sequence[Sequence[Size]], *, messages: int, tokens: int, reported: int, window: int
) -> bool:
    """Whether a trigger is met: all sizes of one clause are reached.

    Parameters
    ----------
    wanted
        The clauses; without any nothing is ever met.
    messages
        How many messages there are.
    tokens
        Their tokens, approximated.
    reported
        What the provider reported for the last call, its answer included; counts beside the
        approximation.
    window
        Tokens of the window.
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

    Parameters
    ----------
    messages
        The history.
    keep
        How much of its end is kept.
    weight
        Approximates the tokens of a message.
    tokens
        The approximated tokens of all of them; where they are scaled by what was reported, more
        than the messages weigh.
    window
        Tokens of the window.
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
