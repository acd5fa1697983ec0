"""How well a provider keeps what it promises: as documented, or worse.

The pessimistic arm is that of a third party's replay of traces (cacheeconomics 0.2, 2026):
lifetimes a fifth shorter, every twentieth hit lost, 5 seconds until what was written can be read.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Arm:
    """What a provider's cache falls short of its documentation.

    Parameters
    ----------
    lifetimes
        Share of the documented lifetimes; of capacities, where nothing expires.
    lose_every
        Every so manieth request finds nothing; 0 for none.
    latency
        Seconds until the answer to a side call begins: the call after it starts so much later, and
        until then nobody can read what it wrote.
    """

    lifetimes: float = 1.0
    lose_every: int = 0
    latency: float = 0.0


NEUTRAL = Arm()
ARMS = {"neutral": NEUTRAL, "pessimistic": Arm(0.8, 20, 5.0)}
