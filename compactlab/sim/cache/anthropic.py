"""Anthropic's prompt cache: entries at marked blocks, found by walking back from the marks.

Rules as documented on Anthropic's platform pages (copy of 2026-08-21): a prompt is tools, then
system, then messages; a write happens only at a marked block; a read starts at each mark and
steps back over at most 20 positions, the mark itself being the first; an entry lives 5 minutes or
1 hour from the *start* of the last request that wrote or read it; prefixes shorter than the
model's minimum are not stored. Clients place the marks: here one at the end of the system blocks,
so that they survive a compaction, and one on the last block, which moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from compactlab.sim.cache.policy import Cache, CachePolicy, Lookup
from compactlab.sim.prompt import Prompt

# Seconds; Anthropic's documentation of prompt caching, 2026-08-21.
LIFETIMES = {"5m": 300.0, "1h": 3600.0}


@dataclass(frozen=True)
class Anthropic(CachePolicy):
    """The policy of Anthropic's models.

    Parameters
    ----------
    minimum
        Tokens below which a prefix is not stored; differs by model.
    ttl
        Lifetime of entries where the client asks for none.
    lookback
        Positions that a read walks, the mark included.
    mark_system
        Whether the client marks the end of the system blocks.
    """

    minimum: int = 1024
    ttl: Literal["5m", "1h"] = "5m"
    lookback: int = 20
    mark_system: bool = True

    def open(self) -> Cache:
        """Start an empty cache."""
        return _Entries(self)

    def lifetime(self, ttl: str = "") -> float:
        """Seconds that an entry lives unread."""
        return LIFETIMES[ttl or self.ttl]

    def marks(self, prompt: Prompt) -> list[int]:
        """Indices of the blocks that the client marks, ascending."""
        last = len(prompt.totals) - 1
        system = prompt.front - 1
        return [system, last] if self.mark_system and 0 <= system < last else [last]


class _Entries(Cache):
    """Stored prefixes by key: when each was last touched, and for how long it lives."""

    def __init__(self, policy: Anthropic) -> None:
        self._policy = policy
        self._touched: dict[int, tuple[float, float]] = {}
        # Of the stored prefixes, by their tokens, where they end: elsewhere no key is asked for.
        self._ends: dict[int, set[int]] = {}

    def request(self, prompt: Prompt, at: float, ttl: str = "") -> Lookup:
        """Look up, then store."""
        totals = prompt.totals
        if not totals:
            return Lookup()
        marks = self._policy.marks(prompt)
        ttl = ttl or self._policy.ttl
        hit, dead = self._find(prompt, marks, at)
        missed = self._missed(prompt, hit, dead, marks[-1], at)
        read = written = totals[hit] if hit >= 0 else 0
        for mark in marks:
            if totals[mark] >= self._policy.minimum:
                self._store(prompt.key(mark), at, LIFETIMES[ttl])
                self._ends.setdefault(totals[mark], set()).add(mark)
                written = max(written, totals[mark])
        write = written - read
        return Lookup(read, 0, write, missed) if ttl == "1h" else Lookup(read, write, 0, missed)

    def _store(self, key: int, at: float, lifetime: float) -> None:
        known = self._touched.get(key)
        if known is None or at - known[0] > known[1]:
            self._touched[key] = (at, lifetime)

    def _find(self, prompt: Prompt, marks: Sequence[int], at: float) -> tuple[int, int]:
        """Longest live entry found from any mark, and longest dead one; every hit is touched."""
        hit = dead = -1
        totals, ends = prompt.totals, self._ends
        for mark in reversed(marks):
            for index in range(mark, max(mark - self._policy.lookback, -1), -1):
                if totals[index] not in ends or index not in ends[totals[index]]:
                    continue
                key = prompt.key(index)
                entry = self._touched.get(key)
                if entry is None:
                    continue
                if at - entry[0] <= entry[1]:
                    self._touched[key] = (at, entry[1])
                    hit = max(hit, index)
                    break
                dead = max(dead, index)
        return hit, dead

    def _missed(
        self, prompt: Prompt, hit: int, dead: int, last: int, at: float
    ) -> tuple[tuple[str, int], ...]:
        missed = []
        if hit < 0 and prompt.sent < self._policy.minimum:
            missed.append(("below_minimum", prompt.sent))
        if dead > hit:
            missed.append(("ttl_expired", prompt.totals[dead]))
        found, walked = max(hit, dead), last - self._policy.lookback
        if found < walked:
            far = self._far(prompt, found, walked, at)
            if far:
                missed.append((far[0], prompt.totals[far[1]]))
        return tuple(sorted(missed, key=lambda pair: pair[1])) if missed else ()

    def _far(self, prompt: Prompt, found: int, start: int, at: float) -> tuple[str, int] | None:
        """The longest entry beyond the look-back, and why it was not read."""
        totals, ends = prompt.totals, self._ends
        for index in range(start, found, -1):
            if totals[index] not in ends or index not in ends[totals[index]]:
                continue
            entry = self._touched.get(prompt.key(index))
            if entry is not None:
                live = at - entry[0] <= entry[1]
                return "lookback_miss" if live else "ttl_expired", index
        return None
