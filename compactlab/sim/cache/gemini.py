"""Gemini's implicit cache: on by default, free to write, and promised to nobody.

Google's pages on context caching, as of 2026-11 (Gemini API 2026-10-13, Agent Platform): hits are
discounted and not guaranteed; a minimum by model; two stores, one in memory from which prefixes
go as room is needed, then a durable one; every prefix goes within 24 hours, most much earlier.

Google does not document how long a prefix lives, in what steps it is read, when it can first be
read, or how often a prefix that is held is not found. Third parties find hits far rarer than with
others: on gemini-3.8-flash 1 request in 138 that only added to the last one (rig-core 0.43, 2026).
"""

from __future__ import annotations

from dataclasses import dataclass

from compactlab.sim.cache.automatic import Automatic


@dataclass(frozen=True)
class Gemini(Automatic):
    """The policy of Google's Gemini models, without explicit caches.

    Parameters
    ----------
    grid
        Tokens; none is documented, so 1.
    minimum
        Tokens. Google's table of 2026-10-13: 4,096 for 3.1 Pro and all of 3.6 to 4, 2,048 for 2.5
        Flash and Pro (earlier copies: 1,024 for Flash, 4,096 for Pro).
    idle
        Seconds; an assumption, an hour: Google says only "within 24 hours", and "requests with a
        similar prefix in a short amount of time".
    loss
        Share of requests that do not find what is held. Google gives none, third parties
        anything; 0 is the best case, so give one's own.
    """

    grid: int = 1
    minimum: int = 4096
    idle: float = 3600.0
    loss: float = 0.0
