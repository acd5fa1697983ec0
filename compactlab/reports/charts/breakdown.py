"""Why tokens were fresh: a bar a strategy, a piece a cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from compactlab.reports.charts.chart import Chart
from compactlab.reports.charts.drawing import canvas, figure, in_tokens
from compactlab.reports.charts.palette import cause_colours, light
from compactlab.reports.text import shorten

_CAPTION = (
    "Fresh tokens are prompt tokens that were not read from the cache, whether billed as a cache "
    "write or as plain input. Every one has exactly one cause. Requests that a strategy caused, "
    "for summaries and extra turns, are among them."
)
_WIDTH, _LEFT = 9.2, 2.55
_ROW = 0.27
HATCHES = {"": None, "striped": "////", "dotted": "...."}


def breakdown(
    labels: Sequence[str], causes: Sequence[Mapping[str, int]], name: str
) -> Chart | None:
    """Draw stacked bars.

    Parameters
    ----------
    labels
        Of the strategies, from top to bottom.
    causes
        Fresh tokens by cause of each.
    name
        Of the drawing, unique in the page.

    Returns
    -------
    Chart or None
        None if nothing was fresh.
    """
    if not any(any(each.values()) for each in causes):
        return None
    height = 0.6 + _ROW * len(labels)
    with canvas():
        drawn = figure(_WIDTH, height)
        axes = drawn.add_axes(
            (
                _LEFT / _WIDTH,
                0.5 / height,
                (_WIDTH - _LEFT - 0.15) / _WIDTH,
                (height - 0.6) / height,
            )
        )
        starts = [0] * len(labels)
        for cause in ordered(causes):
            colour, pattern = cause_colours()[cause]
            axes.barh(
                range(len(labels)),
                [each.get(cause, 0) for each in causes],
                left=starts,
                height=0.7,
                color=light(colour),
                edgecolor=light("paper"),
                linewidth=0.4,
                hatch=HATCHES[pattern],
            )
            starts = [
                start + each.get(cause, 0) for start, each in zip(starts, causes, strict=True)
            ]
        axes.set_yticks(range(len(labels)), [shorten(label, 36) for label in labels])
        axes.tick_params(length=0)
        axes.tick_params(axis="y", labelcolor=light("ink"), labelsize=9)
        axes.grid(visible=False, axis="y")
        axes.set_ylim(len(labels) - 0.5, -0.5)
        in_tokens(axes, "x")
        axes.set_xlabel("fresh tokens, all conversations together")
    return Chart(name, "Why tokens were fresh", _CAPTION, drawn, "causes")


def ordered(causes: Sequence[Mapping[str, int]]) -> list[str]:
    """The causes that occur, in the order of the pieces."""
    found: Counter[str] = Counter()
    for each in causes:
        found.update(each)
    return [cause for cause in cause_colours() if found[cause]]
