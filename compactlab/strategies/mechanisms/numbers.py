"""Numbers as JavaScript has them: of any kind in a configuration, and not always numbers."""

from __future__ import annotations

import math
from typing import TypeGuard


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a number, NaN and infinity among them."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_finite(value: object) -> TypeGuard[float]:
    """Whether a value is a number, and neither NaN nor infinite."""
    return is_number(value) and math.isfinite(value)


def floored(number: float | None, least: float) -> float:
    """``Math.max(least, Math.floor(number))``: null counts as 0, and NaN wins."""
    value = 0.0 if number is None else number
    whole = math.floor(value) if math.isfinite(value) else value
    return whole if math.isnan(whole) or whole > least else least
