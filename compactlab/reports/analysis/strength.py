"""Differences between two strategies in words, and their statistical strength."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from compactlab.reports.analysis.advice import COST, Advice
from compactlab.reports.analysis.bootstrap import FEWEST
from compactlab.reports.analysis.contrast import ALPHA, Contrast
from compactlab.reports.analysis.significance import EXACT, FLIPS, conversations_needed
from compactlab.reports.render.document import name
from compactlab.reports.render.text import counted, dollars
from compactlab.sim.metrics import METRICS

# Ratios that round to 0 % count as the same.
_SAME_SHARE = 0.005
_TENTH = 0.1


def times(share: float, counted: str = "") -> str:
    """A ratio in words: more or less; with a noun, more or fewer.

    Examples
    --------
    >>> times(0.69), times(2.2), times(1.001), times(0.5, "calls")
    ('31% less than', '120% more than', 'as much as', '50% fewer calls than')
    """
    if abs(share - 1) < _SAME_SHARE:
        return f"as many {counted} as" if counted else "as much as"
    more = "more" if share > 1 else "fewer" if counted else "less"
    return " ".join(filter(None, (f"{abs(share - 1):.0%}", more, counted, "than")))


def bill(contrast: Contrast | None, than: str) -> str:
    """How a bill compares with another: "31% less than keep_all (24% to 37% less)"."""
    if contrast is None or contrast.estimate is None:
        return ""
    if contrast.kind != "ratio":
        if contrast.estimate == contrast.same:
            return f"{times(1.0)} {than}"
        more = "more" if contrast.estimate > 0 else "less"
        return f"{dollars(abs(contrast.estimate))} USD a conversation {more} than {than}"
    if contrast.within:
        off = f"{contrast.deviation:.1%}"
        return f"no more than {off} from {than}, which is within the replay's deviation"
    text = f"{times(contrast.estimate)} {than}"
    if (ends := _ends(contrast)) is None:
        return text
    near = len({f"{end:.0%}" for end in ends}) == 1
    return f"{text} ({_span(ends, '{:.1%}' if near else '{:.0%}')})"


def spread(contrast: Contrast) -> str:
    """The interval of a contrast of bills: "3% less to 4% more"."""
    if contrast.estimate is None or contrast.kind != "ratio":
        return "no figure"
    if (ends := _ends(contrast)) is None:
        return f"{abs(contrast.estimate - 1):.1%} {'less' if contrast.estimate < 1 else 'more'}"
    return _span(ends, "{:.1%}")


def signed(contrast: Contrast) -> str:
    """A contrast of bills with its interval, for a cell: "-31% (-37.0 to -24.1)"."""
    if contrast.estimate is None or contrast.kind != "ratio":
        return ""
    if contrast.within:
        return f"within {contrast.deviation:.1%}"
    text = f"{contrast.estimate - 1:+z.0%}".replace("+0%", "0%")
    return f"{text} ({_cell(ends)})" if (ends := _ends(contrast, 100)) else text


def signed_points(contrast: Contrast) -> str:
    """The interval of a contrast of shares, for a cell: "+2.1 to +6.0"."""
    return _cell(ends) if (ends := _ends(contrast, 100)) else ""


def points(contrast: Contrast | None) -> str:
    """A contrast of shares in points, with its interval, for a cell: "+4.1 (+2.1 to +6.0)"."""
    if contrast is None or contrast.estimate is None:
        return ""
    span = signed_points(contrast)
    return f"{100 * contrast.estimate:+z.1f}{f' ({span})' if span else ''}"


def least(contrast: Contrast, size: float) -> str:
    """The size of a difference in a contrast's unit, such as the smallest detectable one."""
    if contrast.kind == "ratio":
        return f"{_tenths(100 * size)}% of the cost"
    if METRICS[contrast.metric].unit == "USD":
        return f"{dollars(size)} USD a conversation"
    return f"{_tenths(100 * size)} points of recall"


def _tenths(size: float) -> str:
    return f"{size:.1f}" if size >= _TENTH / 2 else f"<{_TENTH}"


def _ends(contrast: Contrast, scale: float = 1) -> tuple[float, float] | None:
    """The interval's distances from no difference; None without an interval or a width."""
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


# The statistical strength of a comparison: intervals, tests and detectable differences.


def sure(advice: Advice) -> Iterator[str]:
    """Say how many differences from the reference are significant, in cost and in recall."""
    reference = advice.reference
    if reference is None or cost_needs(advice):
        return
    rows = [row for row in advice.choices if row is not reference]
    parts = []
    for noun, contrast in (("cost", advice.cost), ("recall", advice.recalled)):
        known = [c for row in rows if (c := contrast(row)) and c.estimate is not None]
        if known:
            parts.append(f"{_share(known)} in {noun}")
    if parts:
        yield f"Sure: of the differences from {name(reference.label)}, {' and '.join(parts)}."


def cost_needs(advice: Advice) -> int:
    """The number of conversations from which on costs can differ significantly; 0 if there."""
    comparison, reference = advice.comparison, advice.reference
    # The test corrects for all rows, bounds included.
    others = sum(row is not reference for row in comparison.rows)
    if reference is None or not others or advice.choices == [reference]:
        return 0
    needed = conversations_needed(others) or 0
    return needed if comparison.conversations < needed else 0


def strength(advice: Advice, these: str) -> Iterator[str]:
    """Say what the figures show about other conversations."""
    number = advice.comparison.conversations
    others = [row for row in advice.comparison.rows if row is not advice.reference]
    if advice.reference is None or not others or number == 1:
        yield f"These figures describe {these} only; they do not generalise."
        return
    few = f"These figures describe {these}, too few for confidence intervals."
    text = _significance(advice, number) if number >= FEWEST else few
    text += _facts(advice, number)
    # Detectable differences come from intervals: without intervals they are left out.
    seen = _detectable(advice) if number >= FEWEST else ""
    yield f"{text}{_smallest_p(len(others), number)}{seen}"


def _significance(advice: Advice, number: int) -> str:
    spent = [c for row in advice.comparison.rows if (c := advice.cost(row))]
    lost = [c for row in advice.comparison.rows if (c := advice.recalled(row)) and c.conversations]
    reference = advice.reference
    assert reference is not None
    words = (
        "Brackets show 95% confidence intervals (costs: bootstrap, recall: Student's t) over "
        f"{number:,} conversations. "
        f"Compared with {name(reference.label)}, the differences in {_share(spent)} "
        "costs"
    )
    if lost:
        words += f" and {_share(lost)} recalls"
    return f"{words} are statistically significant (sign-flip tests, at 5%, after Holm)."


def _facts(advice: Advice, number: int) -> str:
    """The number of conversations with needs at the distance, unless it is all."""
    known = [c.conversations for row in advice.comparison.rows if (c := advice.recalled(row))]
    some = max(known)
    if some == number:
        return ""
    late = f"facts that calls need at least {advice.comparison.lag:,} tokens later"
    if not some:
        return f" No conversation has {late}."
    return f" Of these conversations, {some:,} {'has' if some == 1 else 'have'} {late}."


def _smallest_p(strategies: int, number: int) -> str:
    """Whether this number of strategies and conversations can reach significance at all."""
    smallest = strategies * (2.0 / 2**number if number <= EXACT else 1 / (FLIPS + 1))
    if smallest < ALPHA and number >= FEWEST:
        return ""
    compared = counted(strategies, "strategy")
    floor = f"The least p is {min(1.0, smallest):.2g} (sign-flip test, after Holm)."
    if smallest < ALPHA:
        return f" Significance is possible for {compared} on {number} conversations. {floor}"
    needed = conversations_needed(strategies)
    if needed is None:
        return f" Too many strategies for significance: {strategies:,}. {floor}"
    return (
        f" Too few conversations for significance: at least {needed} are needed for {compared}. "
        f"{floor}"
    )


def _share(contrasts: list[Contrast]) -> str:
    return f"{sum(c.determined for c in contrasts):,} of {len(contrasts):,}"


def _detectable(advice: Advice) -> str:
    """The smallest detectable differences over all strategies."""
    every = [(advice.cost(row), advice.recalled(row)) for row in advice.comparison.strategies]
    sizes = detected(each for pair in every for each in pair if each)
    if not sizes:
        return ""
    return (
        " Minimum detectable difference at 80% power, before Holm, the largest of all: "
        f"{', '.join(sizes)}."
    )


def detected(contrasts: Iterable[Contrast]) -> list[str]:
    """The smallest differences that all contrasts could have shown: a ratio and dollars."""
    largest: dict[tuple[str, str], tuple[float, Contrast]] = {}
    for each in sorted(contrasts, key=lambda contrast: contrast.metric != COST):
        size, _ = largest.get((each.metric, each.kind), (0.0, each))
        if each.detectable is not None and each.detectable > size:
            largest[each.metric, each.kind] = each.detectable, each
    return [least(contrast, size) for size, contrast in largest.values()]
