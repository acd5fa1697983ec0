"""A difference between two strategies, as one says it."""

from __future__ import annotations

from collections.abc import Callable

from compactlab.reports.figures import dollars
from compactlab.reports.statistics.contrast import Contrast

# What rounds to nothing is called the same.
_SAME_SHARE, _SAME_POINTS = 0.005, 0.0005


def times(share: float) -> str:
    """A ratio as more or less.

    Examples
    --------
    >>> times(0.69), times(2.2), times(1.001)
    ('31% less than', '120% more than', 'as much as')
    """
    if abs(share - 1) < _SAME_SHARE:
        return "as much as"
    return f"{abs(share - 1):.0%} {'less' if share < 1 else 'more'} than"


def bill(contrast: Contrast | None, than: str) -> str:
    """How a bill compares with another: "31% less than keep_all (24% to 37% less)".

    Parameters
    ----------
    contrast
        Of the two bills; None gives "".
    than
        What the other is called.
    """
    if contrast is None or contrast.estimate is None:
        return ""
    if contrast.kind != "ratio":
        more = "more" if contrast.estimate > 0 else "less"
        return f"{dollars(abs(contrast.estimate))} USD a conversation {more} than {than}"
    told = f"{times(contrast.estimate)} {than}"
    if contrast.low is None or contrast.high is None or contrast.low == contrast.high:
        return told
    low, high = contrast.low - 1, contrast.high - 1
    near = _percent(low) == _percent(high)
    return f"{told} ({_span(low, high, '{:.1%}'.format if near else _percent)})"


def spread(contrast: Contrast) -> str:
    """Between which bounds a bill lies beside another: "3% less to 4% more"."""
    if contrast.estimate is None or contrast.kind != "ratio":
        return "no figure"
    if contrast.low is None or contrast.high is None or contrast.low == contrast.high:
        return f"{abs(contrast.estimate - 1):.1%} {'less' if contrast.estimate < 1 else 'more'}"
    return _span(contrast.low - 1, contrast.high - 1, "{:.1%}".format)


def forgets(contrast: Contrast | None, than: str) -> str:
    """How much more one forgets than another: "4.0 points more than keep_all (2.1 to 6.0 more)".

    Parameters
    ----------
    contrast
        Of the two shares; None gives "".
    than
        What the other is called.
    """
    if contrast is None or contrast.estimate is None:
        return ""
    told = f"as much as {than}"
    if abs(contrast.estimate) >= _SAME_POINTS:
        more = "more" if contrast.estimate > 0 else "less"
        told = f"{_points(abs(contrast.estimate))} points {more} than {than}"
    return f"{told} ({span})" if (span := points(contrast)) else told


def points(contrast: Contrast) -> str:
    """Between which bounds a share lies beside another, in points: "2.1 to 6.0 more"."""
    if contrast.low is None or contrast.high is None or contrast.low == contrast.high:
        return ""
    return _span(contrast.low, contrast.high, _points)


def _span(low: float, high: float, write: Callable[[float], str]) -> str:
    if low >= 0:
        return f"{write(low)} to {write(high)} more"
    if high <= 0:
        return f"{write(-high)} to {write(-low)} less"
    return f"{write(-low)} less to {write(high)} more"


def _percent(share: float) -> str:
    return f"{share:.0%}"


def signed(contrast: Contrast) -> str:
    """A bill beside another with its bounds, for a cell: "-31% (-37 to -24)"."""
    if contrast.estimate is None or contrast.kind != "ratio":
        return ""
    told = f"{contrast.estimate - 1:+.0%}"
    if contrast.low is None or contrast.high is None or contrast.low == contrast.high:
        return told
    return f"{told} ({100 * (contrast.low - 1):+.1f} to {100 * (contrast.high - 1):+.1f})"


def signed_points(contrast: Contrast) -> str:
    """The bounds of a share beside another, for a cell: "+2.1 to +6.0"."""
    if contrast.low is None or contrast.high is None or contrast.low == contrast.high:
        return ""
    return f"{100 * contrast.low:+.1f} to {100 * contrast.high:+.1f}"


def _points(share: float) -> str:
    return f"{100 * share:.1f}"
