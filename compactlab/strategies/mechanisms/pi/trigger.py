"""When it is time to compact."""

from __future__ import annotations

import math

# The floor that OpenClaw puts under pi's reserve (2026.1.29).
RESERVE_FLOOR = 20_000


def should_compact(tokens: float, window: float, reserve: float, enabled: bool = True) -> bool:
    """Whether the context has grown into the reserve: pi's ``shouldCompact`` (0.49.3 to 0.73.1).

    Strictly; never if the tokens are not a number.

    Examples
    --------
    >>> should_compact(180_000, 200_000, 20_000), should_compact(180_001, 200_000, 20_000)
    (False, True)
    """
    return enabled and tokens > window - reserve


def reserve_floor(floor: float | None) -> int:
    """The floor that is meant: as OpenClaw's ``resolveCompactionReserveTokensFloor`` (2026.1.29).

    Examples
    --------
    >>> reserve_floor(None), reserve_floor(-1), reserve_floor(0), reserve_floor(16384.5)
    (20000, 20000, 0, 16384)
    """
    if not isinstance(floor, int | float) or not math.isfinite(floor) or floor < 0:
        return RESERVE_FLOOR
    return math.floor(floor)


def raised_reserve(reserve: float, floor: float | None) -> float:
    """The reserve, raised to the floor: ``ensurePiCompactionReserveTokens`` (2026.1.29)."""
    least = reserve_floor(floor)
    return reserve if reserve >= least else least
