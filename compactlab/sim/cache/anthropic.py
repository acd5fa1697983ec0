"""Anthropic's prompt cache: entries at marked blocks, found by walking back from the marks.

Rules as documented on Anthropic's platform pages (copy of 2026-08-21): a prompt is tools, then
system, then messages; a write happens only at a marked block, of which there are at most four; a
read starts at each mark and steps back over at most 20 positions, the mark itself being the
first; an entry lives 5 minutes or 1 hour from the *start* of the last request that wrote or read
it, and can be read as soon as the answer to the request that wrote it begins; prefixes shorter
than the model's minimum are not stored.

The page does not say what becomes of a 5-minute entry that is found under a mark of one hour. It
bills as one-hour write only what lies between the longest hit and the last mark of one hour, so
nothing is paid for what was found; here the entry therefore keeps the lifetime that was paid for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from compactlab.sim.cache.entries import LIFETIMES, Entries, Rules, check_marks
from compactlab.sim.cache.policy import Cache, CachePolicy


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
        system blocks, so that they survive a compaction), ``context`` (the end of what the client
        adds behind them), ``last`` (the last block that can be marked, which moves), or ``auto``
        for the mark that the provider sets there by itself. A lifetime of its own is written
        behind a colon, ``system:1h``. A place that a prompt lacks has no mark.
    lookback
        Positions that a read walks, the mark included.
    runs_are_one
        Whether a run of tool calls, or of results, is one position. Said of the Claude API by a
        course text of 2026-10, not by the documentation; a recorded call that had added 22 blocks
        in such runs (ten parallel calls, 2026-07) read all that was there before.
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
    runs_are_one: bool = True
    share: float = 1.0

    def __post_init__(self) -> None:
        check_marks(self.marks, self.ttl)

    def open(self) -> Cache:
        """Start an empty cache."""
        lives = {ttl: self.lifetime(ttl) for ttl in LIFETIMES}
        rules = (self.minimum, self.ttl, self.marks, self.lookback, self.runs_are_one, lives)
        return Entries(Rules(*rules))

    def lifetime(self, ttl: str = "") -> float:
        """Seconds that an entry lives unread."""
        return LIFETIMES[ttl or self.ttl] * self.share

    def shortened(self, share: float) -> Anthropic:
        """The same rules with lifetimes of such a share."""
        return replace(self, share=self.share * share)
