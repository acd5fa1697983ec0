"""What stands on axes: round numbers with their unit."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from compactlab.reports.figures import dollars, show

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Which = Literal["x", "y"]
_STEPS = [1, 2, 5, 10]


def in_tokens(axes: Axes, which: Which) -> None:
    """Write the ticks of an axis in tokens."""
    _set(axes, which, tokens_tick, 4 if which == "y" else 6)


def in_dollars(axes: Axes, which: Which) -> None:
    """Write the ticks of an axis in dollars, whose sign is in the axis's name."""
    _set(axes, which, dollars_tick, 6 if which == "y" else 7)


def in_percent(axes: Axes, which: Which) -> None:
    """Write the ticks of an axis of shares in percent; there is none above 100."""
    _set(axes, which, percent_tick, 6)


def in_calls(axes: Axes, which: Which) -> None:
    """Write the ticks of an axis of whole numbers."""
    from matplotlib.ticker import MaxNLocator

    _set(axes, which, "{:,.0f}".format, 6)
    chosen = axes.xaxis if which == "x" else axes.yaxis
    chosen.set_major_locator(MaxNLocator(6, integer=True, steps=_STEPS))


def in_powers(axes: Axes, written: Callable[[float], str]) -> None:
    """Make the axis from left to right one of powers, as many ticks as fit once it is limited."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(10, subs=(1.0, 2.0, 5.0), numticks=20))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: written(value)))


def tokens_tick(value: float) -> str:
    """A round number of tokens.

    Examples
    --------
    >>> tokens_tick(20_000), tokens_tick(1_500_000), tokens_tick(0)
    ('20k', '1.5M', '0')
    """
    return re.sub(r"\.0+(?=\D)|(?<=\.\d)0+(?=\D)", "", show(value, "tokens"))


def dollars_tick(value: float) -> str:
    """A round number of dollars.

    Examples
    --------
    >>> dollars_tick(1200.0), dollars_tick(0.05), dollars_tick(0.125), dollars_tick(2.5)
    ('1,200', '0.05', '0.12', '2.50')
    """
    if float(value).is_integer():
        return f"{value:,.0f}"
    return re.sub(r"(?<=\.\d\d)(\d*?)0+$", r"\1", dollars(round(value, 9)))


def percent_tick(value: float) -> str:
    """A share in percent, without the sign.

    Examples
    --------
    >>> percent_tick(0.25), percent_tick(1.2)
    ('25', '')
    """
    return f"{100 * value:.4g}" if value <= 1 + 1e-9 else ""


def _set(axes: Axes, which: Which, written: Callable[[float], str], ticks: int) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    chosen = axes.xaxis if which == "x" else axes.yaxis
    chosen.set_major_locator(MaxNLocator(ticks, steps=_STEPS))
    chosen.set_major_formatter(FuncFormatter(lambda value, _: written(value)))
