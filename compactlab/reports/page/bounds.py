"""The sentence on the bounds of a comparison, which are not strategies to choose."""

from __future__ import annotations

from collections.abc import Iterator

from compactlab.reports.analysis.comparison import Comparison, Row
from compactlab.reports.page.headlines import price
from compactlab.reports.render.document import name
from compactlab.reports.render.text import counted, listed, show

# What is unknown without each bound.
_NEEDED = {
    "keep_all": "which calls are torn in the log itself, and whether compaction is needed",
    "keep_none": "what forgetting looks like",
    "as_recorded": "what was run, with which the others would be compared",
}


def bounds(comparison: Comparison) -> Iterator[str]:
    """State cost and recall of the bounds, and the findings that missing ones leave unknown."""
    if told := [_told(comparison, row) for row in comparison.beside]:
        yield f"Bounds: {listed(told)}."
    for bound, reason in comparison.unknown.items() if comparison.rows else ():
        yield f"Not known: {_NEEDED[bound]}, because {bound} is not there ({name(reason)})."


def _told(comparison: Comparison, row: Row) -> str:
    facts = [price(row)]
    if row.exceeds_window:
        facts = [f"exceeds {window_on(row)}"]
    if row.recall is not None:
        facts.append(f"recall {show(row.recall, 'share')}")
    if row is comparison.reference:
        facts.append("the reference")
    if row.sees_future:
        facts.append("sees future messages")
    return f"{name(row.label)} ({', '.join(facts)})"


def window_on(row: Row) -> str:
    """On how many calls, over all replays, a strategy exceeds the window."""
    over = sum(run.metrics["overflows"] or 0 for run in row.runs)
    calls = counted(sum(int(run.metrics["calls"] or 0) for run in row.runs), "call")
    return f"the context window on {over:,.0f} of {calls}"
