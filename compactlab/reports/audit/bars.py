"""What the input of each session cost, and for what: a bar a session, a piece a cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compactlab.reports.audit.causes import by_cause, read_cost, shares
from compactlab.reports.audit.ledger import Entry
from compactlab.reports.charts.drawing import canvas, figure, svg
from compactlab.reports.charts.palette import HATCHES, PATTERNS, cause_colours, light
from compactlab.reports.text import clean, shorten

# Sessions that get a bar.
BARS = 20
READ = "read from the cache"
_WIDTH, _LEFT = 9.2, 2.55
_ROW = 0.27


def bill(entry: Entry) -> dict[str, float]:
    """Dollars of a session's input by what they were paid for, reading first."""
    found = {share.cause: share.dollars or 0.0 for share in by_cause(shares([entry]))}
    return {READ: read_cost([entry]), **found}


def look(cause: str) -> tuple[str, str]:
    """Colour of what was paid for, and its pattern."""
    return ("grid", "") if cause == READ else cause_colours().get(cause, ("grey", PATTERNS[-1]))


def bars(entries: Sequence[Entry], name: str) -> str:
    """Draw stacked bars in dollars.

    Parameters
    ----------
    entries
        Sessions whose prices are known, from top to bottom.
    name
        Of the drawing, unique in the page.

    Returns
    -------
    str
        SVG markup; "" without sessions.
    """
    if not entries:
        return ""
    bills = [bill(entry) for entry in entries]
    height = 0.6 + _ROW * len(entries)
    with canvas():
        drawn = figure(_WIDTH, height)
        corner = (_LEFT / _WIDTH, 0.5 / height)
        size = ((_WIDTH - _LEFT - 0.25) / _WIDTH, (height - 0.6) / height)
        axes = drawn.add_axes((*corner, *size))
        starts = [0.0] * len(entries)
        for cause in _ordered(bills):
            colour, pattern = look(cause)
            pieces = [each.get(cause, 0.0) for each in bills]
            axes.barh(
                range(len(entries)),
                pieces,
                left=starts,
                height=0.7,
                color=light(colour),
                edgecolor=light("paper"),
                linewidth=0.4,
                hatch=HATCHES[pattern],
            )
            starts = [start + piece for start, piece in zip(starts, pieces, strict=True)]
        labels = [shorten(clean(entry.name), 36) for entry in entries]
        axes.set_yticks(range(len(entries)), labels)
        axes.tick_params(length=0)
        axes.tick_params(axis="y", labelcolor=light("ink"), labelsize=9)
        axes.grid(visible=False, axis="y")
        axes.set_ylim(len(entries) - 0.5, -0.5)
        axes.set_xlabel("dollars of input")
        return svg(drawn, name, "dollars of input by cause, a bar a session")


def _ordered(bills: Sequence[Mapping[str, float]]) -> list[str]:
    """What was paid for, in the order of the pieces."""
    known = [READ, *cause_colours()]
    others = sorted({cause for each in bills for cause in each} - {*known})
    return [cause for cause in (*known, *others) if any(each.get(cause) for each in bills)]
