"""The context over a session, a panel a strategy: how large it is, and what was fresh of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compactlab.reports.calls import binned, column, fresh, sizes
from compactlab.reports.charts.chart import Chart
from compactlab.reports.charts.drawing import canvas, figure, in_tokens
from compactlab.reports.charts.palette import light
from compactlab.reports.figures import show
from compactlab.reports.notes import window_of
from compactlab.reports.text import counted, shorten
from compactlab.sim.model import Catalogue
from compactlab.sim.run import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 240
_CAPTION = (
    "Pale area: the size of the prompt, in tokens. Solid bars: the fresh tokens of it, written to "
    "the cache or billed as plain input. The ticks right above a panel are compactions, the red "
    "ones over those are calls over the window; the dashed red line is the window, where it lies "
    "within the panel. All panels have the same axes. Of sessions with more than "
    f"{BINS} calls, neighbours share a bar, which shows the largest of them."
)
_COLUMNS = 3
_WIDTH, _HEIGHT = 3.5, 1.5
_LEFT, _BOTTOM, _TOP, _GAP = 0.55, 0.5, 0.7, 0.9


@dataclass(frozen=True)
class Panel:
    """A run, and how it is drawn.

    Parameters
    ----------
    label, colour
        Of its strategy.
    run
        The run.
    catalogue
        The models that it names.
    """

    label: str
    colour: str
    run: Run
    catalogue: Catalogue


def session(panels: Sequence[Panel], name: str, subject: str) -> Chart | None:
    """Draw small multiples that share their axes.

    Parameters
    ----------
    panels
        What is drawn, in order.
    name
        Of the drawing, unique in the page.
    subject
        The conversation, as it is told to readers.

    Returns
    -------
    Chart or None
        None if no run has calls.
    """
    panels = [panel for panel in panels if panel.run.calls]
    if not panels:
        return None
    peak = max(max(sizes(panel.run)) for panel in panels)
    longest = max(len(panel.run.calls) for panel in panels)
    rows = math.ceil(len(panels) / _COLUMNS)
    width = _LEFT + _COLUMNS * _WIDTH + 0.1
    height = _BOTTOM + rows * _HEIGHT + (rows - 1) * _GAP + _TOP
    with canvas():
        drawn = figure(width, height)
        for number, panel in enumerate(panels):
            row, place = divmod(number, _COLUMNS)
            bottom = height - _TOP - _HEIGHT - row * (_HEIGHT + _GAP)
            corner = ((_LEFT + place * _WIDTH) / width, bottom / height)
            axes = drawn.add_axes((*corner, (_WIDTH - 0.22) / width, _HEIGHT / height))
            axes.set_xlim(0.5, longest + 0.5)
            axes.set_ylim(0, peak * 1.05)
            _draw(axes, panel, longest)
            _label(axes, first=place == 0, last=number + _COLUMNS >= len(panels))
    return Chart(name, "The context over the session", _CAPTION, drawn, "session", subject)


def _draw(axes: Axes, panel: Panel, longest: int) -> None:
    run, colour = panel.run, light(panel.colour)
    size, new = binned(sizes(run), BINS), binned(fresh(run), BINS)
    width = len(run.calls) / len(size)
    at = [(number + 0.5) * width + 0.5 for number in range(len(size))]
    edges = [at[0] - width / 2, *at, at[-1] + width / 2]
    axes.fill_between(
        edges, [size[0], *size, size[-1]], step="mid", color=colour, alpha=0.28, linewidth=0
    )
    bar = 72 * (_WIDTH - 0.22) * width / longest * 0.85
    axes.plot(*_sticks(at, new), color=colour, linewidth=max(bar, 0.5), solid_capstyle="butt")
    _window(axes, panel)
    _rug(axes, run, "compaction", light("ink"), 1.015)
    _rug(axes, run, "overflow", light("alarm"), 1.09)
    above: dict[str, Any] = {"transform": axes.transAxes, "va": "center"}
    axes.text(0, 1.38, shorten(panel.label, 44), fontsize=9.5, **above)
    axes.text(0, 1.24, _told(run), fontsize=7.5, color=light("muted"), **above)


def _told(run: Run) -> str:
    cost = show(run.metrics.get("cost_usd"), "USD")
    return f"{cost} USD, {counted(sum(column(run, 'compaction')), 'compaction')}"


def _sticks(at: Sequence[float], heights: Sequence[float]) -> tuple[list[float], list[float]]:
    """Bars as one broken line: a drawing of a tenth of the size."""
    xs: list[float] = []
    ys: list[float] = []
    for x, height in zip(at, heights, strict=True):
        if height:
            xs += (x, x, math.nan)
            ys += (0, height, math.nan)
    return xs, ys


def _window(axes: Axes, panel: Panel) -> None:
    """The window of the model of each call, where it lies within the panel."""
    run = panel.run
    models = set(column(run, "model"))
    known = {model: window_of(model, run.window, panel.catalogue) for model in models}
    windows = [known[model] or math.nan for model in column(run, "model")]
    if min(windows) != max(windows) or math.isnan(windows[0]):
        at = range(1, len(windows) + 1)
        axes.step(at, windows, where="mid", color=light("alarm"), linewidth=0.8, linestyle="--")
    else:
        axes.axhline(windows[0], color=light("alarm"), linewidth=0.8, linestyle="--")


def _rug(axes: Axes, run: Run, what: str, colour: str, low: float) -> None:
    """A tick above the panel for every call of a kind."""
    marked = binned(column(run, what), BINS)
    width = len(run.calls) / len(marked)
    xs = [(number + 0.5) * width + 0.5 for number, hit in enumerate(marked) if hit]
    axes.plot(
        [x for at in xs for x in (at, at, math.nan)],
        [low, low + 0.06, math.nan] * len(xs),
        transform=axes.get_xaxis_transform(),
        color=colour,
        linewidth=0.9,
        solid_capstyle="butt",
        clip_on=False,
    )


def _label(axes: Axes, *, first: bool, last: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    in_tokens(axes, "y")
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True, steps=[1, 2, 5, 10]))
    axes.tick_params(length=0, labelleft=first, labelbottom=last)
    axes.set_ylabel("tokens" if first else "")
    axes.set_xlabel("call number" if last else "")
