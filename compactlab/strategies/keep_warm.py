"""Keep-warm pings: the last prompt is sent again before its cache entries expire."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from compactlab.sim.core.limits import above, at_least, between
from compactlab.sim.core.view import Phase, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Strategy
from compactlab.strategies.mechanisms.cut import open_call
from compactlab.strategies.mechanisms.estimate import is_stale
from compactlab.strategies.mechanisms.price import Price, price_of

# Rules and figures are those of pi 1.6.0 (`@earendil-works/pi-ai`, `dist/cache-warming.js`;
# `@earendil-works/pi-coding-agent`, `dist/core/cache-warmer.js`), read 2026-11-27.
_SHARE, _MARGIN = 0.9, 10.0  # of the lifetime, and seconds before its end
_OLDEST = 3600.0  # seconds after the request, while the agent works


def delay(lifetime: float) -> float:
    """Return the seconds after which entries are refreshed; below 0: never.

    As ``getCacheWarmingDelayMs``.

    Examples
    --------
    >>> delay(300), delay(3600), delay(50), delay(10)
    (270.0, 3240.0, 40.0, -1.0)
    """
    return min(lifetime * _SHARE, lifetime - _MARGIN) if lifetime > _MARGIN else -1.0


def expected_saving(prompt: int, probability: float, price: Price) -> float:
    """Return what a refresh is expected to save in dollars: as ``evaluateCacheWarming``.

    Examples
    --------
    >>> price = lambda read, missed, output: (0.3 * read + 3.75 * missed + 15 * output) / 1e6
    >>> [round(expected_saving(size, 0.15, price), 3) for size in (100_000, 300_000)]
    [0.022, 0.065]
    """
    missed = max(0.0, price(0, prompt, 0) - price(prompt, 0, 0))
    return probability * missed - price(prompt, 0, 1)


@dataclass(frozen=True)
class KeepWarm(Strategy):
    """Send the last prompt again before its cache entries expire, if a saving is expected.

    pi's cache warming (since 0.86.0, 2026-09-19; while idle by default since 1.5.1, 2026-11-09;
    entries of kind ``cache_warm`` in its logs). The answer is limited to one token. It changes no
    prompt, only the bill: each ping reads the whole prompt. pi assumes a probability of 0.15 that a
    silence ends in time (1 while a tool runs), and pings if it expects to save at least 0.05
    dollars. It stops 30 minutes after the last request in a silence, an hour after it within a
    turn, and after a compaction.

    The rule follows the package's source. Simplified: pi does not ping Claude models with a
    thinking budget, nor models whose lifetime it does not know.

    Parameters
    ----------
    mode
        ``idle``: also in silences; ``streaming``: only within a turn.
    probability
        Probability that the session continues before the entry expires.
    min_saving
        Minimum expected saving of a ping in dollars.
    priced
        Whether a saving must be expected; if not, it always pings.
    max_idle
        Seconds after the last request after which it stops in a silence.
    """

    by_price = True
    does = (Act.REQUEST,)
    waits = "the cache to expire"

    mode: Literal["idle", "streaming"] = "idle"
    probability: Annotated[float, between(0, 1)] = 0.15
    min_saving: Annotated[float, at_least(0)] = 0.05
    priced: bool = True
    max_idle: Annotated[float, above(0)] = 1800.0
    phases = frozenset({Phase.ON_IDLE})

    def silence(self, host: Host) -> float:
        """Seconds until the entries reach nine tenths of their lifetime since their last read."""
        if host.requested is None or host.notes.get("stopped") == host.requested:
            return -1.0
        read: float = max(host.requested, host.notes.get("pinged", 0.0))
        return read + delay(host.cache_lifetime) - host.now

    def again(self, host: Host) -> float:
        """Seconds to the next ping, unless this was the last."""
        return self.silence(host)

    def compact(self, view: View, host: Host) -> View:
        if not self._pays(host) or host.sent is None:
            host.notes["stopped"] = host.requested
            return view
        host.notes["pinged"] = host.now
        host.send(host.sent, 1, "warm")
        return view

    def _pays(self, host: Host) -> bool:
        log = host.log
        idle = log[-1].role == "assistant" and open_call(log) == len(log)
        if host.idle > (self.max_idle if idle else _OLDEST) or is_stale(host):
            return False
        if idle and self.mode == "streaming":
            return False
        if not self.priced or host.reported is None:
            return True
        probability = self.probability if idle else 1.0
        saving = expected_saving(host.reported.prompt, probability, price_of(host))
        return saving >= self.min_saving
