"""Several windows in one store: comparisons that differ in the window alone."""

from __future__ import annotations

from collections.abc import Sequence

from compactlab.reports.analysis.comparison import Comparison, Row
from compactlab.reports.analysis.distance import window_of

Sweep = Sequence[Comparison]
"""Comparisons that differ in the window alone, the smallest window first."""


def sweeps(compared: Sequence[Comparison]) -> list[Sweep]:
    """The comparisons by model and summariser, where there are several windows."""
    groups: dict[tuple[str, str], list[Comparison]] = {}
    for each in compared:
        groups.setdefault((each.model, each.summarizer), []).append(each)
    several = (sorted(group, key=size_of) for group in groups.values())
    return [group for group in several if len(group) > 1 and any(each.rows for each in group)]


def size_of(comparison: Comparison) -> int:
    """The window in tokens; of several models, the largest."""
    used = comparison.models or {comparison.model: 0}
    return max(window_of(each, comparison.window, comparison.catalogue) for each in used)


def short(tokens: int) -> str:
    """A number of tokens as the name of a window.

    Examples
    --------
    >>> short(40_000), short(40_500)
    ('40k', '40,500')
    """
    return f"{tokens // 1000}k" if tokens and tokens % 1000 == 0 else f"{tokens:,}"


def strategies(sweep: Sweep) -> list[Row]:
    """Each strategy once, without bounds; the cheapest under the largest window first."""
    by_spec = {row.spec: row for each in reversed(sweep) for row in reversed(each.strategies)}
    ranked = [row.spec for each in reversed(sweep) for row in each.strategies]
    return [by_spec[spec] for spec in dict.fromkeys(ranked)]
