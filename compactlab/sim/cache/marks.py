"""Where a client marks a prompt for Anthropic's cache, and how a read walks back from a mark.

Anthropic's page on prompt caching (copy of 2026-08-21): at most four marks; entries of one hour
stand before those of five minutes; thinking blocks and empty texts cannot be marked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, islice, pairwise
from typing import NamedTuple

from compactlab.sim.message import Part
from compactlab.sim.prompt import Prompt

# Seconds; Anthropic's documentation of prompt caching, 2026-08-21.
LIFETIMES = {"5m": 300.0, "1h": 3600.0}
PLACES = ("tools", "system", "last", "auto")
MOST = 4


class Mark(NamedTuple):
    """A marked block, and the lifetime of the entry that ends there."""

    block: int
    ttl: str


def check_marks(marks: Sequence[str], ttl: str) -> None:
    """Refuse what the provider refuses with an HTTP 400.

    Raises
    ------
    ValueError
        If the marks are too many, not known, out of order, or a longer lifetime follows.

    Examples
    --------
    >>> check_marks(("system:1h", "last:5m"), "5m")
    >>> check_marks(("system:5m", "last:1h"), "5m")
    Traceback (most recent call last):
    ...
    ValueError: marks: system:5m stands before last:1h, but a mark of 1h must come first
    """
    if not 1 <= len(marks) <= MOST:
        raise ValueError(f"marks: a request has 1 to {MOST} of them, not {len(marks)}")
    for mark in marks:
        place, _, own = mark.partition(":")
        if place not in PLACES or own not in ("", *LIFETIMES):
            raise ValueError(
                f"marks: {mark!r} is no mark: name {', '.join(PLACES)}, with :5m or :1h behind it"
            )
    for one, next in pairwise(marks):
        places = [PLACES.index(mark.partition(":")[0]) for mark in (one, next)]
        if places[0] >= places[1]:
            raise ValueError(f"marks: {next} comes before {one} in a prompt, or is the same")
        lives = [LIFETIMES[mark.partition(":")[2] or ttl] for mark in (one, next)]
        if places == [2, 3] and lives[0] != lives[1]:
            raise ValueError(f"marks: {one} and {next} are the same block with two lifetimes")
        if lives[0] < lives[1]:
            raise ValueError(f"marks: {one} stands before {next}, but a mark of 1h must come first")


def parse_marks(marks: Sequence[str]) -> list[tuple[str, str]]:
    """Each mark's place, and its own lifetime or ""."""
    return [(place, ttl) for place, _, ttl in (mark.partition(":") for mark in marks)]


def set_marks(marks: Sequence[tuple[str, str]], prompt: Prompt, ttl: str) -> list[Mark]:
    """Mark a prompt: the blocks in ascending order, at least one."""
    last = _last_markable(prompt)
    found: list[Mark] = []
    before = -1
    for place, own in marks:
        if place == "system":
            block = prompt.front - 1
        else:
            block = prompt.tools - 1 if place == "tools" else last
        if before < block <= last:
            found.append(Mark(block, own or ttl))
            before = block
    return found or [Mark(last, ttl)]


def _last_markable(prompt: Prompt) -> int:
    block = last = len(prompt.totals) - 1
    for part in _backwards(prompt):
        if part.type != "thinking" and (part.text or part.size):
            return block
        block -= 1
    return max(block, 0) if prompt.front else last


def positions(prompt: Prompt, mark: int, most: int) -> Iterator[int]:
    """Blocks from a mark backwards, as far as so many positions reach.

    A run of tool calls, or of tool results, is one position; every other block is one by itself.
    """
    behind = len(prompt.totals) - 1 - mark
    kinds = islice((part.type for part in _backwards(prompt)), behind, None)
    block = mark
    seen = 0
    for kind, run in groupby(kinds):
        for count, _ in enumerate(run):
            seen += not (count and kind in ("tool_call", "tool_result"))
            if seen > most:
                return
            yield block
            block -= 1
    yield from range(block, max(block - (most - seen), -1), -1)


def _backwards(prompt: Prompt) -> Iterator[Part]:
    """The parts of the messages of a prompt, the last one first."""
    for message in reversed(prompt.view.messages):
        yield from reversed(message.parts)
