"""OpenAI's prompt cache before GPT-5.6: the longest common prefix on a grid of 128 tokens.

OpenAI's guide to prompt caching, and the recordings of Codex (2,365 calls of gpt-5.5 and
codex-spark), as of 2026-11: every cached count is a multiple of 128, though the guide gives an
interval of 2,048 for 5.5; prompts below 1,024 tokens are not cached (the guide now says that
this varies by the settings of a request); writing is free.
"""

from __future__ import annotations

from dataclasses import dataclass

from compactlab.sim.cache.automatic import Automatic


@dataclass(frozen=True)
class OpenaiGrid(Automatic):
    """The policy of OpenAI's models before GPT-5.6.

    Parameters
    ----------
    grid
        Tokens; measured, see above.
    minimum
        Tokens; the guide's former figure.
    idle
        Seconds. A retention of ``24h`` keeps a prefix "typically about 30 minutes" after it was
        last used (the guide, 2026-09-23); say 300 to 600 for ``in_memory``, of which it says
        5 to 10 minutes. That it may live longer, up to an hour or a day, is left out.
    loss
        Share of requests that are routed to a server without the prefix. The guide names no
        figure; of the recorded calls 3 % read nothing, for whatever reason, so that is the most.
    """

    grid: int = 128
    minimum: int = 1024
    idle: float = 1800.0
    loss: float = 0.0
