"""Anthropic's prompt cache: entries at marked blocks, found by walking back from the marks.

Rules as documented on Anthropic's platform pages (copy of 2026-08-21): a prompt is tools, then
system, then messages; a write happens only at a marked block, of which there are at most four; a
read starts at each mark and steps back over at most 20 positions, the mark itself being the
first; an entry lives 5 minutes or 1 hour from the *start* of the last request that wrote or read
it, and can be read as soon as the answer to the request that wrote it begins; prefixes shorter
than the model's minimum are not stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from compactlab.sim.cache.marks import (
    LIFETIMES,
    Mark,
    check_marks,
    parse_marks,
    positions,
    set_marks,
)
from compactlab.sim.cache.policy import Cache, CachePolicy, Lookup, Request
from compactlab.sim.cache.salt import Salt
from compactlab.sim.prompt import Prompt


@dataclass(frozen=True)
class Anthropic(CachePolicy):
    """The policy of Anthropic's models.

    Parameters
    ----------
    minimum
        Tokens below which a prefix is not stored; differs by model.
    ttl
        Lifetime of entries where neither the request nor the mark says another.
    marks
        Where the client marks, in the order of the prompt: ``tools``, ``system`` (the end of the
        system blocks, so that they survive a compaction), ``last`` (the last block that can be
        marked, which moves), or ``auto`` for the mark that the provider sets there by itself. A
        lifetime of its own is written behind a colon, ``system:1h``.
    lookback
        Positions that a read walks, the mark included.
    runs_are_one
        Whether a run of tool calls, or of results, is one position. Said of the Claude API by a
        course text of 2026-10; not in the documentation.
    share
        Share of the documented lifetimes that entries really live.

    Raises
    ------
    ValueError
        If the provider would refuse the marks: more than four, a place that is not known or out
        of order, a longer lifetime behind a shorter one.
    """

    minimum: int = 1024
    ttl: Literal["5m", "1h"] = "5m"
    marks: tuple[str, ...] = ("system", "last")
    lookback: int = 20
    runs_are_one: bool = False
    share: float = 1.0

    def __post_init__(self) -> None:
        check_marks(self.marks, self.ttl)

    def open(self) -> Cache:
        """Start an empty cache."""
        return _Entries(self)

    def lifetime(self, ttl: str = "") -> float:
        """Seconds that an entry lives unread."""
        return LIFETIMES[ttl or self.ttl] * self.share

    def shortened(self, share: float) -> Anthropic:
        """The same rules with lifetimes of such a share."""
        return replace(self, share=self.share * share)


class _Entry(NamedTuple):
    """A stored prefix: when it was last touched, how long it lives, from when it can be read."""

    touched: float
    lifetime: float
    visible: float

    def alive(self, at: float) -> bool:
        return at - self.touched <= self.lifetime


class _Found(NamedTuple):
    """Of the entries that were walked over, where the longest of each kind end; -1 for none."""

    live: int = -1
    dead: int = -1
    hidden: int = -1


class _Entries(Cache):
    """Stored prefixes by key, and why others were not found."""

    def __init__(self, policy: Anthropic) -> None:
        self._policy = policy
        self._marks = parse_marks(policy.marks)
        self._entries: dict[int, _Entry] = {}
        # Of the stored prefixes, by their tokens, where they end: elsewhere no key is asked for.
        self._ends: dict[int, set[int]] = {}
        self._salt = Salt()

    def request(self, request: Request) -> Lookup:
        """Look up, then store."""
        prompt, at = request.prompt, request.at
        totals, policy = prompt.totals, self._policy
        if not totals:
            return Lookup()
        self._salt.take(request.settings, prompt)
        marks = set_marks(self._marks, prompt, request.ttl or policy.ttl)
        found = self._find(prompt, [mark.block for mark in marks], at, touch=not request.lost)
        missed = self._missed(prompt, found, marks[-1].block, at)
        read = totals[found.live] if found.live >= 0 else 0
        if request.lost and read:
            missed, read = (*missed, ("eviction", read)), 0
        written = {"5m": read, "1h": read}
        for mark in marks:
            if totals[mark.block] >= policy.minimum:
                self._store(prompt, mark, at, at + request.latency)
                written[mark.ttl] = max(written[mark.ttl], totals[mark.block])
        hour = written["1h"] - read
        return Lookup(read, max(0, written["5m"] - read - hour), hour, missed)

    def _key(self, prompt: Prompt, block: int) -> int:
        return prompt.key(block) ^ self._salt.of(block)

    def _store(self, prompt: Prompt, mark: Mark, at: float, visible: float) -> None:
        key, tokens = self._key(prompt, mark.block), prompt.totals[mark.block]
        known = self._entries.get(key)
        if known is None or not known.alive(at):
            self._entries[key] = _Entry(at, self._policy.lifetime(mark.ttl), visible)
        elif visible < known.visible:
            self._entries[key] = known._replace(visible=visible)
        self._ends.setdefault(tokens, set()).add(mark.block)

    def _find(self, prompt: Prompt, marks: Sequence[int], at: float, touch: bool) -> _Found:
        """The longest entries that are found from any mark; every hit is touched."""
        live = dead = hidden = -1
        for mark in reversed(marks):
            for index, entry in self._known(prompt, self._walk(prompt, mark)):
                if not entry.alive(at):
                    dead = max(dead, index)
                elif entry.visible > at:
                    hidden = max(hidden, index)
                else:
                    if touch:
                        key = self._key(prompt, index)
                        self._entries[key] = entry._replace(touched=at)
                    live = max(live, index)
                    break
        return _Found(live, dead, hidden)

    def _walk(self, prompt: Prompt, mark: int) -> Iterable[int]:
        lookback = self._policy.lookback
        if self._policy.runs_are_one:
            return positions(prompt, mark, lookback)
        return range(mark, max(mark - lookback, -1), -1)

    def _known(self, prompt: Prompt, blocks: Iterable[int]) -> Iterable[tuple[int, _Entry]]:
        """Those of the blocks where an entry ends, with it."""
        totals, ends = prompt.totals, self._ends
        for index in blocks:
            if totals[index] in ends and index in ends[totals[index]]:
                entry = self._entries.get(self._key(prompt, index))
                if entry is not None:
                    yield index, entry

    def _missed(
        self, prompt: Prompt, found: _Found, last: int, at: float
    ) -> tuple[tuple[str, int], ...]:
        missed = []
        if found.live < 0 and prompt.sent < self._policy.minimum:
            missed.append(("below_minimum", prompt.sent))
        if found.dead > found.live:
            missed.append(("ttl_expired", prompt.totals[found.dead]))
        if found.hidden > found.live:
            missed.append(("concurrent_cold", prompt.totals[found.hidden]))
        # Where runs count as one, a walk is longer than its positions: what it saw is known.
        walked = last - self._policy.lookback
        if max(found) < walked:
            far = self._known(prompt, range(walked, max(found), -1))
            for index, entry in far:
                cause = "lookback_miss" if entry.alive(at) else "ttl_expired"
                missed.append((cause, prompt.totals[index]))
                break
        return tuple(sorted(missed, key=lambda pair: pair[1])) if missed else ()
