"""Anthropic's prompt cache: entries at marked blocks, looked up backwards from the marks.

Rules of Anthropic's platform pages (copy of 2026-08-21): a prompt is tools, then system, then
messages. Only marked blocks are written, at most four. A read starts at each mark and checks at
most 20 positions backwards, the mark included. An entry lives 5 minutes or 1 hour from the *start*
of the last request that wrote or read it. It can be read as soon as the answer to the writing
request begins. Prefixes below the model's minimum are not stored.

The page does not say what happens to a 5-minute entry found under a 1-hour mark. Only the tokens
between the longest hit and the last 1-hour mark are billed as a 1-hour write, so nothing is paid
for the hit. Therefore the entry keeps its own lifetime here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, compress, count, islice, pairwise
from typing import Literal

from compactlab.sim.cache.policy import Cache, CachePolicy, Lookup, Request, Salt
from compactlab.sim.cache.prompt import Prompt
from compactlab.sim.core.message import Part

# Seconds; Anthropic's documentation of prompt caching, 2026-08-21.
LIFETIMES = {"5m": 300.0, "1h": 3600.0}
PLACES = ("tools", "system", "context", "last", "auto")
MOST = 4
RUNS = ("tool_call", "tool_result")


Mark = tuple[int, str]
"""A marked block, and the lifetime of its entry."""


@dataclass(frozen=True)
class Anthropic(CachePolicy):
    """Anthropic's models: prefixes up to a cache mark, for five minutes or an hour.

    Parameters
    ----------
    minimum
        Tokens below which a prefix is not stored; differs by model.
    ttl
        Lifetime of entries, unless the request or the mark sets another.
    marks
        The client's marks, in the order of the prompt: ``tools``, ``system`` (the end of the system
        blocks, so that they survive a compaction), ``context`` (the end of the client's addition to
        them), ``last`` (the last markable block, which moves), or ``auto`` if the provider marks it
        by itself. A colon adds a lifetime: ``system:1h``. Positions that a prompt lacks have no
        mark.
    lookback
        Positions that a read checks, including the mark.
    runs_are_one
        Whether a run of tool calls, or of results, is one position. A course text of 2026-10 says
        so of the Claude API, its documentation does not; a recorded call that added 22 blocks in
        such runs (ten parallel calls, 2026-07) read all earlier blocks.
    share
        Actual lifetime of entries, as a share of the documented one.

    Raises
    ------
    ValueError
        If the provider would refuse the marks: more than four, an unknown position, a wrong order,
        or a longer lifetime after a shorter one.
    """

    minimum: int = 1024
    ttl: Literal["5m", "1h"] = "5m"
    marks: tuple[str, ...] = ("system", "last")
    lookback: int = 20
    runs_are_one: bool = True
    share: float = 1.0

    def __post_init__(self) -> None:
        check_marks(self.marks, self.ttl)

    def open(self) -> Cache:
        return Entries(self)

    def lifetime(self, ttl: str = "") -> float:
        return LIFETIMES[ttl or self.ttl] * self.share

    def shortened(self, share: float) -> Anthropic:
        return replace(self, share=self.share * share)


# The marks of a client in a prompt, and the backward search from a mark.
#
# Anthropic's page on prompt caching (copy of 2026-08-21): at most four marks; 1-hour entries come
# before 5-minute entries; thinking blocks and empty texts cannot be marked.


def check_marks(marks: Sequence[str], ttl: str) -> None:
    """Raise for marks that the provider rejects with HTTP 400."""
    if not 1 <= len(marks) <= MOST:
        raise ValueError(f"marks: a request has 1 to {MOST} of them, not {len(marks)}")
    for mark in marks:
        place, _, own = mark.partition(":")
        if place not in PLACES or (own and own not in LIFETIMES):
            raise ValueError(
                f"marks: {mark!r} is not a mark: name {', '.join(PLACES)}, with :5m or :1h after it"
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
    """Return the place of each mark, with its own lifetime or the given one."""
    return [(place, own or ttl) for place, _, own in (mark.partition(":") for mark in marks)]


def set_marks(places: Sequence[tuple[str, str]], prompt: Prompt, messages: int = 0) -> list[Mark]:
    """Return the marked blocks of a prompt, ascending; of two marks on one block the first stays.

    If fewer than four marks are set, the end of the given number of leading messages is marked,
    too, with the lifetime of the last block's mark (if it has one).
    """
    marks: list[Mark] = []
    before = -1
    own = end_of(prompt, messages) if messages and len(places) < MOST else -1
    for place, ttl in places:
        if place == "tools":
            block = _markable_system(prompt, prompt.tools)
        elif place == "system":
            block = _markable_system(prompt, prompt.front)
        elif place == "context":
            block = _markable_system(prompt, len(prompt.view.system))
        else:
            block = _last_markable(prompt)
            if before < own < block:
                marks.append((own, ttl))
        if block > before:
            marks.append((block, ttl))
            before = block
    return marks


def end_of(prompt: Prompt, messages: int) -> int:
    """Return the last block of some leading messages; -1 if not markable, or the very last."""
    if not 0 < messages < len(prompt.starts):
        return -1
    parts = prompt.view.messages[messages - 1].parts
    return prompt.starts[messages] - 1 if parts and _markable(parts[-1]) else -1


def _markable(part: Part) -> bool:
    """Whether a block can be marked: not thinking, not empty text."""
    if part.type == "text":
        return bool(part.text or part.size)
    return part.type != "thinking"


def _markable_system(prompt: Prompt, blocks: int) -> int:
    """Return the last markable block among a number of first system blocks; -1 if there is none."""
    system = prompt.view.system
    while blocks and not _markable(system[blocks - 1]):
        blocks -= 1
    return blocks - 1


def _last_markable(prompt: Prompt) -> int:
    """Return the last markable block; -1 if there is none."""
    block, messages = len(prompt.totals), prompt.view.messages
    parts = messages[-1].parts if messages else ()
    if parts and _markable(parts[-1]):
        return block - 1  # the usual case; no later turn drops its thinking
    for part in chain(_backwards(prompt), reversed(prompt.view.system)):
        block -= 1
        if _markable(part):
            return block
    return -1


def walk(mark: int, most: int) -> Iterable[int]:
    """Return the blocks within a number of positions before a mark, counting each block as one."""
    return range(mark, max(mark - most, -1), -1)


def walk_further(prompt: Prompt, mark: int, most: int) -> Iterable[int]:
    """Return the further blocks in reach if a run of calls, or of results, counts as one."""
    if not prompt.starts or mark < prompt.starts[0]:
        return ()  # the system prompt has no runs
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
    """Yield the parts of a prompt's messages backwards, without dropped thinking."""
    end = len(prompt.totals)
    both = zip(reversed(prompt.starts), reversed(prompt.view.messages), strict=True)
    for start, message in both:
        parts = message.parts
        if end - start < len(parts):
            parts = tuple(part for part in parts if part.type != "thinking")
        yield from reversed(parts)
        end = start


# Most unmarkable blocks at the end of a prompt: thinking, empty texts.
_TAIL = 3
# Blocks at the end that every request searches: prompts are edited there.
_REVISED = 64


class _Entry:
    """A sent prefix; if it was not stored, with the cause."""

    __slots__ = ("lifetime", "touched", "unstored", "visible")

    def __init__(self, touched: float, lifetime: float, visible: float, unstored: str = "") -> None:
        self.touched, self.lifetime, self.visible = touched, lifetime, visible
        self.unstored = unstored

    def why_not(self, at: float) -> str:
        """Return the cause why the entry cannot be read; "" if it can."""
        if self.unstored:
            return self.unstored
        if at - self.touched > self.lifetime:
            return "ttl_expired"
        return "concurrent_cold" if self.visible > at else ""


class Entries(Cache):
    """Prefixes by key: stored ones, and others with the cause why they are not stored."""

    def __init__(self, policy: Anthropic) -> None:
        self._policy = policy
        self._places: dict[str, list[tuple[str, str]]] = {}
        self._entries: dict[int, _Entry] = {}
        # The blocks at which entries end, by number of tokens.
        self._ends: dict[int, set[int]] = {}
        self._salt = Salt()
        self._named: Callable[[int], int] = int  # returns the key of a block of the current prompt
        # A range of blocks without entry ends, and the key of its last block.
        self._bare = 0, -1, 0
        # The same range for the current prompt.
        self._empty = 0, -1

    def request(self, request: Request) -> Lookup:
        prompt, lost, policy = request.prompt, request.lost, self._policy
        totals = prompt.totals
        marks = set_marks(self._marks(request.ttl or policy.ttl), prompt, request.mark)
        if not totals or not request.marked:
            return Lookup()
        self._salt.take(request.settings, prompt)
        self._named, self._empty = self._salt.names(prompt), (0, -1)
        missed: dict[str, int] = {}
        blocks = [-1, *[block for block, _ in marks]]
        hits = [self._find(request, *pair, missed) for pair in pairwise(blocks)]
        hit, last = max(hits, default=-1), blocks[-1]
        if last < len(totals) - 1 or hit < last - policy.lookback:
            self._look_beyond(request, last, hit, missed)
        causes = _ascending(missed, hit, totals) if missed else ()
        read = totals[hit] if hit >= 0 else 0
        if lost and read:
            causes, read = (("eviction", read), *causes), 0
        hour = five = read
        for mark, hit_block in zip(marks, hits, strict=True):
            block, ttl = mark
            if (hit_block == block and not lost) or self._store(request, mark):
                five = max(five, totals[block])
                hour = five if ttl == "1h" else hour
        if last < len(totals) - 1:
            self._note(prompt, len(totals) - 1, "no_cache")
        return Lookup(read, five - hour, hour - read, causes)

    def _marks(self, ttl: str) -> list[tuple[str, str]]:
        """Return the marked places with their lifetimes, if the client asks for this lifetime."""
        places = self._places.get(ttl)
        if places is None:
            check_marks(self._policy.marks, ttl)
            places = self._places[ttl] = parse_marks(self._policy.marks, ttl)
        return places

    def _find(self, request: Request, before: int, mark: int, missed: dict[str, int]) -> int:
        """Return the end of the longest entry found from a mark, not from earlier ones; else -1."""
        lookback = self._policy.lookback
        entry = self._first(request, walk(mark, lookback), missed)
        if (
            entry < 0
            and self._policy.runs_are_one
            and any(self._known(request.prompt, before + 1, mark - lookback))
        ):
            further = walk_further(request.prompt, mark, lookback)
            entry = self._first(request, further, missed)
        return entry

    def _first(self, request: Request, blocks: Iterable[int], missed: dict[str, int]) -> int:
        """Return the first of the blocks at which a readable entry ends, and touch it; -1 if none.

        For unreadable entries on the way, record the longest by cause.
        """
        at, totals = request.at, request.prompt.totals
        ends, entries, named = self._ends, self._entries, self._named
        for block in blocks:
            here = ends.get(totals[block])
            if here is None or block not in here:  # true for most blocks
                continue
            entry = entries.get(named(block))
            if entry is None:
                continue
            why = entry.why_not(at)
            if not why:
                if not request.lost:
                    entry.touched = at
                return block
            _furthest(missed, why, block)
        return -1

    def _look_beyond(self, request: Request, last: int, hit: int, missed: dict[str, int]) -> None:
        """Record why entries out of reach were not read: after the last mark, or too far.

        Entries that were already checked end before the last seen block.
        """
        prompt, at = request.prompt, request.at
        end, far = len(prompt.totals) - 1, last - self._policy.lookback
        seen = max(hit, *missed.values()) if missed else hit
        for block, entry in self._known(prompt, last + 1, end):
            _furthest(missed, entry.why_not(at) or "lookback_miss", block)
            break
        for block, entry in self._known(prompt, seen + 1, far):
            why = entry.why_not(at) or "lookback_miss"
            if why == "ttl_expired" and block < prompt.agreed - _TAIL:
                continue  # even alive it would be out of reach: the edit is the cause
            _furthest(missed, why, block)
            if not entry.unstored:
                break

    def _known(self, prompt: Prompt, first: int, last: int) -> Iterable[tuple[int, _Entry]]:
        """Yield the entries that end in a range of blocks, last first."""
        start, end = self._empty
        if first > last or (start <= first and last <= end):
            return ()
        return self._look(prompt, first, last)

    def _look(self, prompt: Prompt, first: int, last: int) -> Iterator[tuple[int, _Entry]]:
        """Search a range for entries, except where it is known to have none.

        Usually a long range has none, and the next prompt shares most of it. That range is then not
        searched again.
        """
        behind, upto, none = first, last - _REVISED, True
        start, end, name = self._bare
        if first <= end <= last and self._named(end) == name:
            behind, upto = end + 1, upto if upto > end + _REVISED else end
        likely = self._likely(prompt, behind, last)
        if behind > first:
            likely = chain(likely, self._likely(prompt, first, start - 1))
        for block in likely:
            entry = self._entries.get(self._named(block))
            if entry is not None:
                self._keep(prompt, block + 1, upto)
                upto, none = -1, False
                yield block, entry
        if none:
            self._empty = first, last
        self._keep(prompt, first, upto)

    def _likely(self, prompt: Prompt, first: int, last: int) -> Iterator[int]:
        """Yield the blocks of a range, last first, at which an entry may end."""
        totals, ends = prompt.totals, self._ends
        for high in range(last, first - 1, -_REVISED):
            low = max(high - _REVISED + 1, first)
            likely = [*compress(count(low), map(ends.__contains__, totals[low : high + 1]))]
            yield from (block for block in reversed(likely) if block in ends[totals[block]])

    def _keep(self, prompt: Prompt, first: int, last: int) -> None:
        """Store that a range of blocks has no entries, if it is long enough."""
        if last - first > _REVISED:
            self._bare = first, last, self._named(last)

    def _store(self, request: Request, mark: Mark) -> bool:
        """Write the entry of a mark if it was not found; return whether it is long enough."""
        prompt, at = request.prompt, request.at
        block, ttl = mark
        if prompt.totals[block] < self._policy.minimum:
            self._note(prompt, block, "below_minimum")
            return False
        key = self._named(block)
        entry = _Entry(at, self._policy.lifetime(ttl), at + request.latency)
        known = self._entries.get(key)
        if known and known.why_not(at) in ("", "concurrent_cold"):
            # A second write of a live entry: the two are indistinguishable.
            entry.visible = min(known.visible, entry.visible)
            if known.touched + known.lifetime >= at + entry.lifetime:
                entry.touched, entry.lifetime = known.touched, known.lifetime
        self._put(prompt, block, key, entry)
        return True

    def _note(self, prompt: Prompt, block: int, cause: str) -> None:
        """Record that a prefix was sent but not stored, with the cause."""
        key = self._named(block)
        if key not in self._entries:
            self._put(prompt, block, key, _Entry(0.0, 0.0, 0.0, cause))

    def _put(self, prompt: Prompt, block: int, key: int, entry: _Entry) -> None:
        self._entries[key] = entry
        self._ends.setdefault(prompt.totals[block], set()).add(block)
        if self._bare[0] <= block <= self._bare[1]:
            self._bare = 0, -1, 0


def _furthest(missed: dict[str, int], cause: str, block: int) -> None:
    missed[cause] = max(missed.get(cause, -1), block)


def _ascending(missed: dict[str, int], hit: int, totals: list[int]) -> tuple[tuple[str, int], ...]:
    """Return the causes with the tokens that they reach beyond the hit."""
    causes = [(why, totals[block]) for why, block in missed.items() if block > hit]
    return tuple(sorted(causes, key=lambda pair: pair[1]))
