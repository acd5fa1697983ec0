"""Curves: a line a strategy, of which those that matter stand out from the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compactlab.reports.charts.bars import WIDTH
from compactlab.reports.charts.drawing import figure
from compactlab.reports.charts.key import Entry, draw_key, height_of
from compactlab.reports.charts.labels import told_apart
from compactlab.reports.charts.palette import LINES, light
from compactlab.reports.text import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HEIGHT = 240.0
_LEFT, _RIGHT, _BELOW = 52.0, 16.0, 36.0
_LETTERS = 44


@dataclass(frozen=True)
class Curve:
    """A line.

    Parameters
    ----------
    label, colour
        Of its strategy.
    xs, ys
        Its points; what is no number is left out, and so is the line beside it.
    band
        The lower and the upper end of the interval at every point; empty for none.
    """

    label: str
    colour: str
    xs: Sequence[float]
    ys: Sequence[float]
    band: Sequence[tuple[float, float]] = ()


def curves(given: Sequence[Curve], *, marks: bool) -> tuple[Figure, Axes]:
    """Draw lines with a key above them; grey ones lie below and share an entry of it.

    Parameters
    ----------
    given
        The lines.
    marks
        Whether every point has the mark of its colour; else some of them.
    """
    loud = [curve for curve in given if curve.colour != "grey"]
    names = told_apart([curve.label for curve in loud], _LETTERS)
    entries = [Entry(name, curve.colour, "line") for name, curve in zip(names, loud, strict=True)]
    if len(loud) < len(given):
        others = counted(len(given) - len(loud), "other strategy" if loud else "strategy")
        entries.append(Entry(others, "grey", "line"))
    above = height_of(entries, WIDTH - 24) + 10
    height = _BELOW + _HEIGHT + above
    drawn = figure(WIDTH / 72, height / 72)
    draw_key(drawn, entries, 4, height - 4, WIDTH - 24)
    axes = drawn.add_axes(
        (_LEFT / WIDTH, _BELOW / height, (WIDTH - _LEFT - _RIGHT) / WIDTH, _HEIGHT / height)
    )
    for number, curve in enumerate(given):
        _draw(axes, curve, number, marks)
    return drawn, axes


def _draw(axes: Axes, curve: Curve, number: int, marks: bool) -> None:
    line, quiet = LINES[curve.colour], curve.colour == "grey"
    few: dict[str, Any] = {} if marks else {"markevery": (0.02 * (1 + number % 5), 0.12)}
    axes.plot(
        curve.xs,
        curve.ys,
        color=light(curve.colour),
        linewidth=line.width,
        linestyle=line.dashes,
        marker=line.marker or ("." if marks else None),
        markersize=3 if quiet else 5.5,
        alpha=0.7 if quiet else None,
        zorder=2 if quiet else 3,
        clip_on=not marks,
        label=curve.label,
        **few,
    )
    if curve.band:
        low, high = zip(*curve.band, strict=True)
        axes.fill_between(curve.xs, low, high, color=light(curve.colour), alpha=0.12, linewidth=0)
