"""xAI's prompt cache: automatic, on one server each, gone at any time.

xAI's pages on prompt caching, as of 2026-11: no write price, the longest common prefix, entries
on the server that a request went to, which a conversation's id pins; an entry can go at any time,
by load or restart, so that no lifetime is promised. Steps of 128 tokens are what third parties
measured (a gateway's 124 calls of grok-4.6, 2026-08); xAI says nothing of steps or a minimum.
"""

from __future__ import annotations

from dataclasses import dataclass

from compactlab.sim.cache.prefixes import Automatic


@dataclass(frozen=True)
class Xai(Automatic):
    """The policy of xAI's models.

    Parameters
    ----------
    grid
        Tokens; as measured by third parties.
    minimum
        Tokens; none is documented.
    idle
        Seconds; an assumption, as none is documented: the longer of the 5 to 10 minutes that
        OpenAI gives for entries held in memory.
    loss
        Share of requests that find nothing: other servers, restarts, load. No figure is known; 0
        is that of a client that pins its server, and of a quiet one.
    """

    grid: int = 128
    minimum: int = 0
    idle: float = 600.0
    loss: float = 0.0
