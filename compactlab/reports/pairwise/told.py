"""What a match says: cells for tables, and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compactlab.reports.advice import COST, FORGOTTEN
from compactlab.reports.columns import marks
from compactlab.reports.difference import bill, forgets, least, signed, signed_points
from compactlab.reports.figures import NONE, show
from compactlab.reports.pairwise.match import Match
from compactlab.reports.scope import Name
from compactlab.reports.statistics.contrast import PRIMARY, Contrast
from compactlab.reports.statistics.discordance import discordance
from compactlab.reports.text import counted, enumerated
from compactlab.sim.metrics import METRICS

HEADS = (
    "strategy",
    "USD",
    "bill",
    "p",
    "needs forgotten",
    "points",
    "p",
    "cheaper / same / dearer",
)

# So many of the other figures are told.
_OTHERS = 8


def cells(match: Match) -> list[str]:
    """The figures of a match, for a row of a table; without the name."""
    cost, lost = match.contrasts.get(COST), match.contrasts.get(FORGOTTEN)
    return [
        show(match.subject.figures[COST], "USD"),
        (signed(cost) if cost else "") or NONE,
        chance(cost),
        show(match.subject.figures[FORGOTTEN], "share"),
        _points(lost),
        chance(lost),
        f"{cost.wins} / {cost.ties} / {cost.losses}" if cost else NONE,
    ]


def reference_cells(match: Match) -> list[str]:
    """The figures of what the others are held against."""
    figures = match.reference.figures
    told = [show(figures[COST], "USD"), NONE, NONE, show(figures[FORGOTTEN], "share")]
    return [*told, NONE, NONE, NONE]


def named(match: Match, *, reference: bool = False) -> str:
    """The strategy's short name with its marks."""
    row = match.reference if reference else match.subject
    return f"{row.label} {marks(row)}".strip()


def chance(contrast: Contrast | None) -> str:
    """An adjusted p as one writes it."""
    if contrast is None or contrast.adjusted is None:
        return NONE
    return _written(contrast.adjusted)


def _written(p: float) -> str:
    return "<0.001" if p < 0.001 else f"{p:.2g}"


def sentences(match: Match, name: Name = str) -> Iterator[str]:
    """Say what a match shows: the bill, the memory, what could have been seen, and the rest."""
    ours, theirs = name(match.subject.label), name(match.reference.label)
    cost, lost = match.contrasts.get(COST), match.contrasts.get(FORGOTTEN)
    if told := bill(cost, theirs):
        yield f"{ours} costs {told}: {_sure(cost, ('cheaper', 'dearer'))}."
    if told := forgets(lost, theirs):
        words = ("forgets less", "forgets more")
        yield f"{ours} has forgotten of what calls need {told}{_of(match)}: {_sure(lost, words)}."
    if told := _facts(match):
        yield told
    if others := _others(match):
        told = enumerated(others, _OTHERS)
        yield f"Also different (exploratory, Benjamini-Hochberg at 5%): {told}."


def seen(matches: Sequence[Match]) -> str:
    """The smallest differences that would have been seen; "" where that cannot be told."""
    found = [c for m in matches for name in (COST, FORGOTTEN) if (c := m.contrasts.get(name))]
    # A bill has a ratio under one match, and only dollars under another: each has its own unit.
    largest: dict[tuple[str, str], tuple[float, Contrast]] = {}
    for c in sorted(found, key=lambda c: PRIMARY[::-1].index(c.metric)):
        size, _ = largest.get((c.metric, c.kind), (0.0, c))
        if c.detectable is not None and c.detectable > size:
            largest[c.metric, c.kind] = c.detectable, c
    told = [least(c, size) for size, c in largest.values()]
    if not told:
        return ""
    return (
        f"A difference of {' or '.join(told)} would have been seen at 80% power in each match, "
        "before Holm."
    )


def _of(match: Match) -> str:
    """Of how many conversations needs are known, where these are not all of them."""
    some, number = match.contrasts[FORGOTTEN].conversations, match.comparison.conversations
    return f" in the {some:,} of {number:,} conversations that have needs" if some < number else ""


def _sure(contrast: Contrast | None, words: tuple[str, str]) -> str:
    """What is sure of a difference."""
    assert contrast is not None
    if contrast.estimate == contrast.same and not contrast.wins and not contrast.losses:
        return "the same in every conversation"
    told = f"not determined (p {chance(contrast)})"
    if contrast.better or contrast.worse:
        told = f"{words[0] if contrast.better else words[1]} (p {chance(contrast)})"
    if contrast.no_worse and not contrast.better:
        margin = contrast.margin or 0.0
        within = f"{margin:.0%}" if contrast.kind == "ratio" else f"{100 * margin:.0f} points"
        told += f", but no worse within {within}"
    return told


def _facts(match: Match) -> str:
    """The same fact by fact, as a check: facts that one of the two alone has forgotten."""
    found = discordance(match.subject, match.reference)
    if found is None or not found.subject + found.reference:
        return ""
    return (
        f"Of {counted(found.facts, 'fact')} that calls need, it alone has forgotten "
        f"{found.subject:,} and the other alone {found.reference:,} (McNemar p "
        f"{_written(found.p)}, as if facts were independent; they go together by "
        f"{found.correlation:.2f})."
    )


def _points(contrast: Contrast | None) -> str:
    if contrast is None or contrast.estimate is None:
        return NONE
    span = signed_points(contrast)
    return f"{100 * contrast.estimate:+.1f}{f' ({span})' if span else ''}"


def _others(match: Match) -> list[str]:
    """Other figures that differ beyond chance, the surest first."""
    found = [
        contrast
        for metric, contrast in match.contrasts.items()
        if metric not in PRIMARY and contrast.determined
    ]
    found.sort(key=lambda contrast: (-abs(contrast.effect), contrast.metric))
    return [_change(match, contrast.metric) for contrast in found]


def _change(match: Match, metric: str) -> str:
    unit = METRICS[metric].unit
    before, after = match.reference.figures[metric], match.subject.figures[metric]
    return f"{metric} {show(before, unit)} to {show(after, unit)}"
