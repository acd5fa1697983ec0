"""xAI's prompt cache: automatic, separate per server, without a guaranteed lifetime.

xAI's pages on prompt caching, as of 2026-11: no write price; the longest common prefix; entries are
on the server of the request, to which a conversation's id is pinned. Load or a restart may remove
an entry at any time, so no lifetime is guaranteed. Third parties measured steps of 128 tokens (a
gateway's 124 calls of grok-4.6, 2026-08); xAI documents no steps and no minimum.
"""

from __future__ import annotations

from dataclasses import dataclass

from compactlab.sim.cache.prefixes import Automatic


@dataclass(frozen=True)
class Xai(Automatic):
    """xAI's models: any common prefix, in steps of a grid.

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
        fits a client that pins a server without load.
    """

    grid: int = 128
    minimum: int = 0
    idle: float = 600.0
    loss: float = 0.0
