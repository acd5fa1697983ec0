"""Numbers of the originals' configurations, brought to what a field of ours accepts."""

import math
from typing import Any

from compactlab.strategies.mechanisms.text import is_finite


def natural(value: Any, default: int) -> int:
    """The whole part of a number that is not negative; the default for anything else."""
    return math.floor(value) if is_finite(value) and value >= 0 else default


def at_least(least: int, value: Any, default: int = 0) -> int:
    """The whole part of a number, raised to the least; the default where there is no number."""
    return max(least, math.floor(value)) if is_finite(value) else default


def within(low: float, high: float, value: Any, default: float) -> float:
    """A number brought to the nearer end of a range; what is not finite to the lower."""
    if value is None:
        return default
    return min(high, max(low, value)) if is_finite(value) else low
