"""Where pi cuts a session's history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from compactlab.strategies.mechanisms.estimate import estimate, role_of
from compactlab.strategies.mechanisms.pi.entries import Entry

# Roles of messages before which a cut may fall: never a tool's result, whose call stands before it.
_CUTS = {"user", "assistant", "bashExecution", "custom", "branchSummary", "compactionSummary"}
# Entries that the model is told of as the user's, and that are no messages to pi.
_ADDED = {"custom_message", "branch_summary"}


class CutPoint(NamedTuple):
    """Index of the first entry to keep; of the turn that it cuts in two, or -1; whether it does."""

    first_kept: int
    turn_start: int = -1
    split: bool = False


def find_cut_point(
    entries: Sequence[Entry], start: int, end: int, keep_recent_tokens: float
) -> CutPoint:
    """Cut so that about so many tokens stay: pi's ``findCutPoint`` (0.49.3 to 0.73.1).

    Walks back until the sum of estimates reaches the budget, and cuts before the next entry there
    or after it at which a cut may fall. If there is none, because the budget is reached inside
    trailing results of tools, or if everything fits, the cut falls before the first entry at which
    it may: nothing is cut off.

    Parameters
    ----------
    entries
        The session.
    start, end
        Which of them are looked at, the end not included.
    keep_recent_tokens
        What the kept tail is to weigh. Entries that are no messages weigh nothing.
    """
    cuts = [index for index in range(start, end) if _may_cut(entries[index])]
    if not cuts:
        return CutPoint(start)
    crossing = _crossing(entries, start, end, keep_recent_tokens)
    cut = next((index for index in cuts if index >= crossing), cuts[0])
    while cut > start and entries[cut - 1].type not in ("message", "compaction"):
        cut -= 1
    if entries[cut].type == "message" and _role(entries[cut]) == "user":
        return CutPoint(cut)
    turn = _turn_start(entries, cut, start)
    return CutPoint(cut, turn, turn != -1)


def _crossing(entries: Sequence[Entry], start: int, end: int, budget: float) -> int:
    """Index of the message at which the tail reaches its budget; the end, if none does."""
    tokens = 0
    for index in range(end - 1, start - 1, -1):
        entry = entries[index]
        if entry.type == "message" and entry.message is not None:
            tokens += estimate(entry.message)
            if tokens >= budget:
                return index
    return end


def _may_cut(entry: Entry) -> bool:
    return entry.type in _ADDED or (entry.type == "message" and _role(entry) in _CUTS)


def _role(entry: Entry) -> str:
    return role_of(entry.message) if entry.message is not None else ""


def _turn_start(entries: Sequence[Entry], index: int, start: int) -> int:
    """Index of the entry that starts the turn in which another stands; -1 if none does."""
    for at in range(index, start - 1, -1):
        entry = entries[at]
        if entry.type in _ADDED:
            return at
        if entry.type == "message" and _role(entry) in ("user", "bashExecution"):
            return at
    return -1
