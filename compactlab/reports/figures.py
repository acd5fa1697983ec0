"""How numbers are written for people: by their unit, as short as one can still compare them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

NONE = "\N{EN DASH}"

# What is counted one by one; anything else that is no share has tenths.
_COUNTS = ("calls", "compactions", "summaries")


def show(value: float | None, unit: str) -> str:
    """Write a figure.

    Parameters
    ----------
    value
        The figure; None and what is no number become a dash.
    unit
        As in the table of metrics.

    Examples
    --------
    >>> show(1234.5, "USD"), show(0.00123, "USD"), show(44_725, "tokens"), show(0.98106, "share")
    ('1,234.50', '0.0012', '44.7k', '98.1%')
    >>> show(0.99999, "share"), show(17.0, "calls"), show(0.333, "ratio")
    ('>99.9%', '17', '0.33')
    >>> show(0.0597, "seconds"), show(12.5, "seconds"), show(3.25, "per 100 calls")
    ('0.06', '12.50', '3.2')
    """
    if value is None or not math.isfinite(value):
        return NONE
    if unit.startswith("USD"):
        return dollars(value)
    if unit in _HOW:
        return _HOW[unit](value)
    return f"{value:,.0f}" if unit in _COUNTS else f"{value:,.1f}"


def dollars(value: float) -> str:
    """Dollars to the cent; of less than a dollar, two digits that say something."""
    if value == 0:
        return "0"
    digits = max(2, 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{digits}f}"


def percent(value: float) -> str:
    """A share in whole percent, without the sign, where 0 is nothing and 100 all of it.

    Examples
    --------
    >>> percent(0.25), percent(0.001), percent(0.999), percent(1.0)
    ('25', '<1', '>99', '100')
    """
    if 0 < value < 0.005:
        return "<1"
    return ">99" if 0.995 <= value < 1 else f"{100 * value:.0f}"


def exact(value: float | None) -> str:
    """A figure in full, for where one points at it."""
    if value is None or not math.isfinite(value):
        return ""
    return f"{value:,.0f}" if float(value).is_integer() else repr(float(value))


def plain(value: float | None) -> int | float | None:
    """A figure for machines: whole numbers whole, and nothing that is no number.

    A count is an int when it has just been measured and a float when it comes from a store; in a
    file it must look the same.

    Examples
    --------
    >>> plain(497.0), plain(0.25), plain(float("nan"))
    (497, 0.25, None)
    """
    if value is None or not math.isfinite(value):
        return None
    return int(value) if float(value).is_integer() else float(value)


def _percent(value: float) -> str:
    """A share in percent; 100% is everything and 0% nothing, not nearly so."""
    if value in (0, 1):
        return f"{value:.0%}"
    if 0 < value < 0.0005:
        return "<0.1%"
    return ">99.9%" if 0.9995 <= value < 1 else f"{value:.1%}"


def _compact(value: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        scaled = value / size
        # 999,960 is 1.00M and not 1000.0k.
        if abs(scaled) >= 0.9995:
            return f"{scaled:.{_digits(abs(scaled))}f}{letter}"
    return f"{value:,.0f}"


def _digits(scaled: float) -> int:
    """Digits behind the point that make three in all."""
    return 2 if scaled < 9.995 else 1 if scaled < 99.95 else 0


def _ratio(value: float) -> str:
    return f"{value:,.2f}" if abs(value) < 100 else f"{value:,.0f}"


_HOW: Mapping[str, Callable[[float], str]] = {
    "share": _percent,
    "ratio": _ratio,
    "seconds": "{:,.2f}".format,
    "tokens": _compact,
}
