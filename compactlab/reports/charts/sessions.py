"""The context over a session, a panel a strategy: how large it is, and what was fresh of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from compactlab.reports.analysis.aggregate import binned, column, fresh, sizes
from compactlab.reports.analysis.comparison import windows_of
from compactlab.reports.charts.bars import WIDTH, Entry, draw_key, tokens_tick, told_apart
from compactlab.reports.charts.chart import Chart
from compactlab.reports.charts.drawing import canvas, figure
from compactlab.reports.charts.panel import Frame, Sheet
from compactlab.reports.render.text import counted, show
from compactlab.sim.experiment.run import Run
from compactlab.sim.models.model import Catalogue

# Bars of a panel.
BINS = 120
_COLUMNS = 3
_LEFT, _RIGHT, _BOTTOM, _TOP = 42.0, 6.0, 34.0, 26.0
_HIGH, _ACROSS, _OVER, _UNDER = 62.0, 12.0, 34.0, 10.0
_LETTERS = 40
# A panel is cut off if it goes beyond so many times what this share of the panels stays within.
_SHOWN, _BEYOND = 0.8, 1.5
_KEY = (
    Entry("size of the prompt", "grey", "pale"),
    Entry("fresh of it", "grey"),
    Entry("compaction", "ink", "mark", mark="|"),
    Entry("call over the window", "alarm", "mark", mark="|"),
    Entry("window", "alarm", "line"),
)
_CAPTION = (
    "Pale area: the size of the prompt, in tokens. Solid bars: the fresh tokens of it, written to "
    "the cache or billed as plain input; a high one is a spike. The ticks right above a panel are "
    "compactions, the red ones over those are calls over the window; the dashed red line is the "
    "window, where it lies within the panel. All panels have the same axes; the few that would go "
    "far beyond are cut off, and say up to where they go. Of sessions with more than "
    f"{BINS} calls, neighbours share a bar, which shows the largest of them."
)


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
        Of the chart.
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
    top = _top([max(sizes(panel.run)) for panel in panels])
    longest = max(len(panel.run.calls) for panel in panels)
    lines = math.ceil(len(panels) / _COLUMNS)
    height = _BOTTOM + lines * (_HIGH + _OVER + _UNDER) + _TOP
    wide = (WIDTH - _LEFT - _RIGHT - (_COLUMNS - 1) * _ACROSS) / _COLUMNS
    names = told_apart([panel.label for panel in panels], _LETTERS)
    with canvas():
        drawn = figure(WIDTH / 72, height / 72)
        draw_key(drawn, _KEY, 4, height - 4, WIDTH - 8)
        sheet = Sheet(drawn)
        for number, (panel, label) in enumerate(zip(panels, names, strict=True)):
            line, place = divmod(number, _COLUMNS)
            left = _LEFT + place * (wide + _ACROSS)
            low = height - _TOP - _OVER - _HIGH - line * (_HIGH + _OVER + _UNDER)
            frame = Frame(left, low, wide, _HIGH, longest + 0.5, top, first=0.5)
            _scales(sheet, frame, first=place == 0, last=number + _COLUMNS >= len(panels))
            _draw(sheet, frame, panel)
            _head(sheet, frame, label, panel.run)
        sheet.finish()
    return Chart(name, "The context over the session", _CAPTION, drawn, "session", subject)


def _top(peaks: Sequence[int]) -> float:
    """Where the axis of sizes ends: a few panels that go far beyond all others are cut off."""
    usual = sorted(peaks)[math.ceil(_SHOWN * len(peaks)) - 1]
    peak = max(peaks)
    return max(1.0, 1.05 * (peak if peak <= _BEYOND * usual else _BEYOND * usual))


def _scales(sheet: Sheet, frame: Frame, *, first: bool, last: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    ticks = MaxNLocator(3, steps=[1, 2, 5, 10]).tick_values(0, frame.top)
    for tick in (tick for tick in ticks if 0 <= tick <= frame.top):
        sheet.line("grid", frame.across(tick))
        if first:
            sheet.text((frame.left - 4, frame.y(tick)), tokens_tick(tick), "muted", "right")
    calls = MaxNLocator(4, integer=True, steps=[1, 2, 5, 10]).tick_values(1, frame.last)
    for tick in (tick for tick in calls if 1 <= tick <= frame.last and last):
        sheet.text((frame.x(tick), frame.low - 9), f"{tick:,.0f}", "muted", "center")
    if first:
        sheet.text((frame.left - 4, frame.low + frame.height + 6), "tokens", "muted", "right")
    if last:
        sheet.text((frame.left + frame.width / 2, frame.low - 22), "call number", "muted", "center")


def _draw(sheet: Sheet, frame: Frame, panel: Panel) -> None:
    run = panel.run
    size, new = ([min(n, frame.top) for n in binned(f(run), BINS)] for f in (sizes, fresh))
    # The last bar may stand for fewer calls.
    step = -(-len(run.calls) // BINS) or 1
    edges = [min(n * step, len(run.calls)) + 0.5 for n in range(len(size) + 1)]
    sheet.area(panel.colour, frame.steps(edges, size), pale=True)
    sheet.area(panel.colour, frame.boxes(edges, new))
    held = windows_of(run, panel.catalogue)
    stops = [*(start for start, _ in held[1:]), len(run.calls) + 1]
    for (start, window), stop in zip(held, stops, strict=True):
        if 0 < window <= frame.top:
            points = [(start - 0.5, window), (stop - 0.5, window)]
            sheet.line("alarm", [(frame.x(x), frame.y(y)) for x, y in points], dashed=True)
    for what, colour, over in (("compaction", "ink", 2.0), ("overflow", "alarm", 7.0)):
        low = frame.low + frame.height + over
        marked = binned(column(run, what), BINS)
        for n in (n for n, hit in enumerate(marked) if hit):
            x = frame.x((edges[n] + edges[n + 1]) / 2)
            sheet.line(colour, [(x, low), (x, low + 4)])


def _head(sheet: Sheet, frame: Frame, label: str, run: Run) -> None:
    cost = show(run.metrics.get("cost_usd"), "USD")
    told = f"{cost} USD, {counted(sum(column(run, 'compaction')), 'compaction')}"
    if (peak := max(sizes(run))) > frame.top:
        told += f", up to {show(peak, 'tokens')}"
    above = frame.low + frame.height
    sheet.text((frame.left, above + 27), label, "ink", size=8.0)
    sheet.text((frame.left, above + 17), told, "muted")
