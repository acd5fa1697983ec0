"""A difference between two strategies, as one says it."""

from __future__ import annotations

from collections.abc import Iterator

from compactlab.reports.analysis.advice import Advice
from compactlab.reports.analysis.bootstrap import FEWEST
from compactlab.reports.analysis.contrast import ALPHA, Contrast
from compactlab.reports.analysis.tests import EXACT, FLIPS, conversations_needed
from compactlab.reports.render.document import name
from compactlab.reports.render.text import counted, dollars
from compactlab.sim.metrics import METRICS

# What rounds to nothing is called the same.
_SAME_SHARE, _SAME_POINTS = 0.005, 0.0005
_TENTH = 0.1


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
    """How a bill compares with another: "31% less than keep_all (24% to 37% less)"."""
    if contrast is None or contrast.estimate is None:
        return ""
    if contrast.kind != "ratio":
        if contrast.estimate == contrast.same:
            return f"{times(1.0)} {than}"
        more = "more" if contrast.estimate > 0 else "less"
        return f"{dollars(abs(contrast.estimate))} USD a conversation {more} than {than}"
    text = f"{times(contrast.estimate)} {than}"
    if (ends := _ends(contrast)) is None:
        return text
    near = len({f"{end:.0%}" for end in ends}) == 1
    return f"{text} ({_span(ends, '{:.1%}' if near else '{:.0%}')})"


def spread(contrast: Contrast) -> str:
    """Between which bounds a bill lies beside another: "3% less to 4% more"."""
    if contrast.estimate is None or contrast.kind != "ratio":
        return "no figure"
    if (ends := _ends(contrast)) is None:
        return f"{abs(contrast.estimate - 1):.1%} {'less' if contrast.estimate < 1 else 'more'}"
    return _span(ends, "{:.1%}")


def forgets(contrast: Contrast | None, than: str) -> str:
    """How much more one forgets than another: "4.0 points more than keep_all (2.1 to 6.0 more)"."""
    if contrast is None or contrast.estimate is None:
        return ""
    text = f"as much as {than}"
    if abs(contrast.estimate) >= _SAME_POINTS:
        more = "more" if contrast.estimate > 0 else "less"
        text = f"{100 * abs(contrast.estimate):.1f} points {more} than {than}"
    return f"{text} ({span})" if (span := points(contrast)) else text


def points(contrast: Contrast) -> str:
    """Between which bounds a share lies beside another, in points: "2.1 to 6.0 more"."""
    return _span(ends, "{:.1f}") if (ends := _ends(contrast, 100)) else ""


def signed(contrast: Contrast) -> str:
    """A bill beside another with its bounds, for a cell: "-31% (-37.0 to -24.1)"."""
    if contrast.estimate is None or contrast.kind != "ratio":
        return ""
    text = f"{contrast.estimate - 1:+z.0%}"
    return f"{text} ({_cell(ends)})" if (ends := _ends(contrast, 100)) else text


def signed_points(contrast: Contrast) -> str:
    """The bounds of a share beside another, for a cell: "+2.1 to +6.0"."""
    return _cell(ends) if (ends := _ends(contrast, 100)) else ""


def least(contrast: Contrast, size: float) -> str:
    """The size of a difference in the unit of a contrast, as of the smallest detectable one."""
    if contrast.kind == "ratio":
        return f"{_tenths(100 * size)}% of the bill"
    if METRICS[contrast.metric].unit == "USD":
        return f"{dollars(size)} USD a conversation"
    return f"{_tenths(100 * size)} points of needs"


def _tenths(size: float) -> str:
    return f"{size:.1f}" if size >= _TENTH / 2 else f"<{_TENTH}"


def _ends(contrast: Contrast, scale: float = 1) -> tuple[float, float] | None:
    """How far the interval's ends lie from no difference; None without one, or where it is none."""
    low, high = contrast.low, contrast.high
    if low is None or high is None or low == high:
        return None
    return scale * (low - contrast.same), scale * (high - contrast.same)


def _span(ends: tuple[float, float], how: str) -> str:
    low, high = ends
    least, most = (how.format(abs(end)) for end in ends)
    if low >= 0:
        return f"{least} to {most} more"
    return f"{most} to {least} less" if high <= 0 else f"{least} less to {most} more"


def _cell(ends: tuple[float, float]) -> str:
    return " to ".join(f"{end:+z.1f}" for end in ends)


# How far the figures of a comparison carry: intervals, tests, and what could have been seen.

# From so many conversations on, "no worse" is about as seldom wrong as is promised, also where
# losses are rare: measured in ``docs/statistics.md``.
ENOUGH = 30


def strength(advice: Advice, these: str) -> Iterator[str]:
    """Say what the figures tell of other conversations."""
    number = advice.comparison.conversations
    others = [row for row in advice.comparison.rows if row is not advice.reference]
    if advice.reference is None or not others or number == 1:
        yield f"These are figures of {these}: they tell nothing of others."
        return
    few = f"These are figures of {these}, too few for intervals."
    text = _told(advice, number) if number >= FEWEST else few
    text += _needs(advice, number) + _shown(advice, number)
    yield f"{text}{_floor(len(others), number)}{_detectable(advice)}"


def _shown(advice: Advice, number: int) -> str:
    """What "shown" is worth, where it is less than is promised."""
    if number >= ENOUGH or not (advice.advised and advice.shown):
        return ""
    return (
        f" What fewer than {ENOUGH} conversations show holds for others only where losses are "
        "much alike."
    )


def _told(advice: Advice, number: int) -> str:
    spent = [c for row in advice.comparison.rows if (c := advice.cost(row))]
    lost = [c for row in advice.comparison.rows if (c := advice.forgotten(row)) and c.conversations]
    reference = advice.reference
    assert reference is not None
    method = next((c.method for c in spent if c.method), "")
    words = (
        f"In brackets are 95% intervals (bootstrap over {number:,} conversations, {method}). Held "
        f"against {name(reference.label)}, {_share(spent)} bills"
    )
    if lost:
        words += f" and {_share(lost)} shares of forgotten needs"
    return f"{words} are told from chance (sign-flip tests, Holm over strategies, 5%)."


def _needs(advice: Advice, number: int) -> str:
    """In how many conversations anything is needed, where these are not all of them."""
    known = [c.conversations for row in advice.comparison.rows if (c := advice.forgotten(row))]
    some = max(known)
    if some == number:
        return ""
    return f" Needs are known of {some:,} of them." if some else " No needs of them are known."


def _floor(strategies: int, number: int) -> str:
    """Whether so many strategies on so few conversations can be told apart at all."""
    smallest = strategies * (2.0 / 2**number if number <= EXACT else 1 / (FLIPS + 1))
    hopeless = smallest >= ALPHA
    if not hopeless and number >= FEWEST:
        return ""
    can = "cannot" if hopeless else "can"
    sentence = (
        f" A sign-flip test of {counted(strategies, 'strategy')} on {number} conversations "
        f"{can} tell a difference from chance: no p is below {min(1.0, smallest):.2g} (Holm)"
    )
    needed = conversations_needed(strategies)
    if needed is not None and needed > number:
        sentence += f"; it takes at least {needed} conversations, or fewer strategies"
    return f"{sentence}."


def _share(found: list[Contrast]) -> str:
    return f"{sum(c.determined for c in found):,} of {len(found):,}"


def _detectable(advice: Advice) -> str:
    """The smallest differences that would have been seen, for the strategy that is advised."""
    best = advice.advised or advice.cheapest
    if best is None:
        return ""
    contrasts = [c for c in (advice.cost(best), advice.forgotten(best)) if c]
    sizes = [least(c, c.detectable) for c in contrasts if c.detectable is not None]
    if not sizes:
        return ""
    return f" The smallest difference to be seen at 80% power, before Holm: {', '.join(sizes)}."
