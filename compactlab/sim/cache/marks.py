"""Where a client marks a prompt for Anthropic's cache, and how a read walks back from a mark.

Anthropic's page on prompt caching (copy of 2026-08-21): at most four marks; entries of one hour
stand before those of five minutes; thinking blocks and empty texts cannot be marked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, pairwise

from compactlab.sim.message import Part
from compactlab.sim.prompt import Prompt

# Seconds; Anthropic's documentation of prompt caching, 2026-08-21.
LIFETIMES = {"5m": 300.0, "1h": 3600.0}
PLACES = ("tools", "system", "context", "last", "auto")
MOST = 4
RUNS = ("tool_call", "tool_result")


Mark = tuple[int, str]
"""A marked block, and the lifetime of the entry that ends there."""


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
        if place not in PLACES or (own and own not in LIFETIMES):
            raise ValueError(
                f"marks: {mark!r} is no mark: name {', '.join(PLACES)}, with :5m or :1h behind it"
            )
    for one, next in pairwise(marks):
        places = [PLACES.index(mark.partition(":")[0]) for mark in (one, next)]
        if places[0] >= places[1]:
            raise ValueError(f"marks: {next} comes before {one} in a prompt, or is the same")
        lives = [LIFETIMES[mark.partition(":")[2] or ttl] for mark in (one, next)]
        if places == [PLACES.index("last"), PLACES.index("auto")] and lives[0] != lives[1]:
            raise ValueError(f"marks: {one} and {next} are the same block with two lifetimes")
        if lives[0] < lives[1]:
            raise ValueError(f"marks: {one} stands before {next}, but a mark of 1h must come first")


def parse_marks(marks: Sequence[str], ttl: str) -> list[tuple[str, str]]:
    """Each mark's place, and its own lifetime or the one given."""
    return [(place, own or ttl) for place, _, own in (mark.partition(":") for mark in marks)]


def set_marks(places: Sequence[tuple[str, str]], prompt: Prompt) -> list[Mark]:
    """Mark a prompt: blocks in ascending order, none twice; of two on one block the first stays."""
    marks: list[Mark] = []
    before = -1
    for place, ttl in places:
        if place == "tools":
            block = _markable_system(prompt, prompt.tools)
        elif place == "system":
            block = _markable_system(prompt, prompt.front)
        elif place == "context":
            block = _markable_system(prompt, len(prompt.view.system))
        else:
            block = _last_markable(prompt)
        if block > before:
            marks.append((block, ttl))
            before = block
    return marks


def _markable(part: Part) -> bool:
    """Whether a block can be marked: all but thinking and empty texts."""
    if part.type == "text":
        return bool(part.text or part.size)
    return part.type != "thinking"


def _markable_system(prompt: Prompt, blocks: int) -> int:
    """Of the first so many system blocks, the last that can be marked; -1 if none can."""
    system = prompt.view.system
    while blocks and not _markable(system[blocks - 1]):
        blocks -= 1
    return blocks - 1


def _last_markable(prompt: Prompt) -> int:
    """The last block of all that can be marked; -1 if none can."""
    block, messages = len(prompt.totals), prompt.view.messages
    parts = messages[-1].parts if messages else ()
    if parts and _markable(parts[-1]):
        return block - 1  # nearly always, and no turn comes after it that drops its thinking
    for part in chain(_backwards(prompt), reversed(prompt.view.system)):
        block -= 1
        if _markable(part):
            return block
    return -1


def walk(mark: int, most: int) -> Iterable[int]:
    """Blocks from a mark backwards, as far as so many positions reach if every block is one."""
    return range(mark, max(mark - most, -1), -1)


def walk_further(prompt: Prompt, mark: int, most: int) -> Iterable[int]:
    """The blocks behind those that the same positions reach, as a run of tool calls is one.

    So is a run of results.
    """
    if not prompt.starts or mark < prompt.starts[0]:
        return ()  # no runs among the blocks of the system prompt
    return islice(_runs(prompt, mark, most), most, None)


def _runs(prompt: Prompt, mark: int, most: int) -> Iterator[int]:
    block, left, kind = mark, most, ""
    for part in islice(_backwards(prompt), len(prompt.totals) - 1 - mark, None):
        if part.type != kind or kind not in RUNS:
            kind = part.type
            left -= 1
            if left < 0:
                return
        yield block
        block -= 1
    yield from walk(block, left)


def _backwards(prompt: Prompt) -> Iterator[Part]:
    """The parts of the messages of a prompt, the last one first; a model may drop thinking."""
    end = len(prompt.totals)
    both = zip(reversed(prompt.starts), reversed(prompt.view.messages), strict=True)
    for start, message in both:
        parts = message.parts
        if end - start < len(parts):
            parts = tuple(part for part in parts if part.type != "thinking")
        yield from reversed(parts)
        end = start
