"""The cut point of a history in OpenClaw 2026.9.6, and the pieces in which it is summarised.

Its agent core is a fork of pi's; exact against vectors (``openclaw_cut_2026.9.6``,
``openclaw_stages_2026.9.6``). Calls and results are only separated if a group of them is too large.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from compactlab.sim.core.message import FAILED, Message, Weight
from compactlab.sim.core.view import Messages
from compactlab.strategies.mechanisms.estimate import role_of
from compactlab.strategies.openclaw.pairs import answers, repair
from compactlab.strategies.openclaw.pressure import MARGIN, tokens
from compactlab.strategies.openclaw.safeguard import LEAST_MESSAGES, PARTS, share_of

_CUTS = {"user", "assistant", "bashExecution", "custom", "branchSummary", "compactionSummary"}
_STARTS = _CUTS - {"assistant"}


class Budget(NamedTuple):
    """The tokens of a request that the tail may take, and those left free for the summary."""

    most: float
    reserve: float
    weigh: Weight


class Boundary(NamedTuple):
    """A cut: the first kept message, and the start of its turn."""

    first: int
    turn: int  # equal to ``first`` if no turn is split


def cut_point(messages: Sequence[Message], keep: float, budget: Budget | None = None) -> Boundary:
    """Cut so that about this many tokens are kept: ``findCutPoint``.

    Walking back from the end, the cut is at the last allowed message when the tokens are reached,
    so results never lose their call. With a budget, the tail is shortened until it fits; if not
    even the newest message fits, the cut is at the end.
    """
    cuts = [n for n, message in enumerate(messages) if role_of(message) in _CUTS]
    if not cuts:
        return Boundary(0, 0)
    weigh = budget.weigh if budget else tokens
    cut, total = cuts[-1], 0.0
    allowed = frozenset(cuts)
    for index in range(len(messages) - 1, -1, -1):
        cut = index if index in allowed else cut
        total += weigh(messages[index])
        if total >= keep:
            break
    if budget:
        cut = _fitting(messages, cut, allowed, budget)
        if cut == len(messages):
            return Boundary(cut, cut)
    starts = (n for n in range(cut, -1, -1) if role_of(messages[n]) in _STARTS)
    return Boundary(cut, next(starts, cut))


def _fitting(messages: Sequence[Message], cut: int, allowed: frozenset[int], budget: Budget) -> int:
    """Return the longest tail that leaves room for a summary, or the shortest one that fits."""
    total, limit, found = 0.0, budget.most, len(messages)
    for index in range(len(messages) - 1, cut - 1, -1):
        total += budget.weigh(messages[index])
        if total > limit:
            break
        if index in allowed:
            if found == len(messages):
                limit = max(total, budget.most - budget.reserve)
            found = index
    return found


class Prepared(NamedTuple):
    """What a compaction summarises; the messages from ``first`` on are kept."""

    first: int
    history: Messages
    prefix: Messages  # the first part of a turn that is split


def unit_scale(keep: float, reported: float, estimated: float) -> float:
    """Return the ratio of the provider's count to the estimates; at least 1."""
    return min(max(1, keep), max(1, reported / estimated)) if estimated > 0 else 1


def prepared(
    messages: Messages, keep: float, scale: float = 1, budget: Budget | None = None
) -> Prepared | None:
    """Decide what to summarise: ``prepareCompaction``; None if there is nothing.

    Parameters
    ----------
    messages
        The context, without an earlier summary.
    keep
        Tokens that are kept.
    scale
        Factor for estimates; only used without a budget.
    budget
        The request that must fit.

    Raises
    ------
    ValueError
        If the newest message does not fit into the budget.
    """
    cut = cut_point(messages, keep if budget else keep / scale, budget)
    if messages and cut.first == len(messages):
        raise ValueError("no message fits beside the request")
    if not cut.first:
        return None
    return Prepared(cut.first, messages[: cut.turn], messages[cut.turn : cut.first])


# Pieces of a history.


def groups(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """Yield answers with the results of their calls, and other messages alone."""
    group: list[Message] = []
    open_calls: list[str] = []
    for message in messages:
        group.append(message)
        if message.role == "assistant":
            failed = message.origin in FAILED
            open_calls = [p.call_id for p in message.parts if p.type == "tool_call" and not failed]
        elif message.role == "tool" and open_calls:
            id = answers(message)
            if not id:
                open_calls = []
            elif id in open_calls:
                open_calls.remove(id)
        if not open_calls:
            yield group
            group = []
    if group:
        yield group


def packed(
    messages: Sequence[Message], most: float, parts: float = math.inf
) -> list[list[Message]]:
    """Put groups together into pieces of limited size: ``chunkCompactionMessageGroups``."""
    pieces: list[list[Message]] = []
    size = 0
    for group in groups(messages):
        own = sum(map(tokens, group))
        if not pieces or (len(pieces) < parts and size + own > most):
            pieces.append([])
            size = 0
        pieces[-1] += group
        size += own
    return pieces


def chunks(messages: Sequence[Message], most: float) -> list[list[Message]]:
    """Split messages for one request after the other: ``buildSummaryChunks``."""
    return packed(messages, max(1, math.floor(most / MARGIN)))


def halves(
    messages: Sequence[Message], most: float, least: int = LEAST_MESSAGES
) -> list[list[Message]]:
    """Split messages that are too large together: ``buildStageSplitPlan``; [] if they stay one."""
    total = sum(map(tokens, messages))
    if len(messages) < least or total <= most:
        return []
    found = packed(messages, total / PARTS, PARTS)
    return found if len(found) > 1 else []


class Small(NamedTuple):
    """The messages that a request can take, and a line for each of the others."""

    messages: list[Message]
    notes: list[str]


def without_oversized(messages: Sequence[Message], window: float) -> Small:
    """Omit too large messages, calls with their results: ``buildOversizedFallbackPlan``."""
    kept, notes = list[Message](), list[str]()
    for group in groups(messages):
        large = [m for m in group if tokens(m) * MARGIN > window * 0.5]
        notes += [
            f"[Large {role_of(m)} (~{math.floor(tokens(m) / 1000 + 0.5)}K tokens) omitted from "
            "summary]"
            for m in large
        ]
        pair = any(m.role in ("assistant", "tool") for m in large)
        kept += [
            m for m in group if m not in large and not (pair and m.role in ("assistant", "tool"))
        ]
    return Small(kept, notes)


class Pruned(NamedTuple):
    """A history that fits its share of the window, and what was dropped, in order."""

    kept: Messages
    dropped: list[Message]


def pruned(messages: Messages, window: float, share: float) -> Pruned:
    """Drop the first half until the rest fits its share: ``pruneHistoryForContextShare``."""
    budget, kept, gone = share_of(window, share), messages, set[int]()
    while found := halves(kept, budget, 2):
        rest = Messages([message for half in found[1:] for message in half])
        mended = repair(rest).messages
        left = set(map(id, mended))
        gone |= {id(m) for m in (*found[0], *rest) if id(m) not in left}
        kept = mended
    return Pruned(kept, [message for message in messages if id(message) in gone])
