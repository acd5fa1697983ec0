"""The context over a session: its size and its cache misses, one panel per strategy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from compactlab.reports.analysis.calls import binned, cache_misses, column, sizes
from compactlab.reports.analysis.scope import windows_of
from compactlab.reports.charts.chart import Chart
from compactlab.reports.charts.drawing import Point, canvas, in_points, tip, width_of
from compactlab.reports.charts.kit import PALE, STEPS, WIDTH, KeyEntry, Sheet, tokens_tick
from compactlab.reports.charts.names import distinct_labels
from compactlab.reports.charts.palette import LINES, light
from compactlab.reports.render.text import counted, show
from compactlab.sim.models.model import Catalogue
from compactlab.sim.store.run import Run

# The number of bars of a panel.
BINS = 120
_COLUMNS = 3
_LEFT, _RIGHT, _BOTTOM = 42.0, 6.0, 34.0
_HIGH, _ACROSS, _OVER, _UNDER = 62.0, 12.0, 34.0, 10.0
# The least width of a panel, and that of a letter of its name.
_PANEL, _LETTER = 140.0, 4.9
# A panel is cut off beyond this many times the height that this share of the panels stays within.
_SHOWN, _BEYOND = 0.8, 1.5
_KEY = (
    KeyEntry("size of the prompt", "grey", "pale"),
    KeyEntry("cache misses", "grey"),
    KeyEntry("compaction", "ink", "mark", mark="|"),
    KeyEntry("call that exceeds the window", "alarm", "mark", mark="|"),
    KeyEntry("window", "alarm", "line"),
)
_CAPTION = (
    "Pale area: the size of the prompt, in tokens. Solid bars: its cache-miss tokens, written to "
    "the cache or billed as plain input; a high bar is a spike. The ticks above a panel are "
    "compactions; the red ticks above them are calls that exceed the context window. The dashed "
    "red line is the window, where it lies within the panel. All panels have the same axes; the "
    "few that go far beyond are cut off and show their maximum. In sessions with more than "
    f"{BINS} calls, neighbouring calls share a bar, which shows the largest of them."
)


class Panel(NamedTuple):
    """A run with the label and the colour of its strategy, and its models' names."""

    label: str
    colour: str
    run: Run
    catalogue: Catalogue


class _Frame(NamedTuple):
    """The position of a panel in points, and the ends of its axes: calls and tokens."""

    left: float
    low: float
    width: float
    last: float
    top: float

    @property
    def high(self) -> float:
        return self.low + _HIGH

    def at(self, call: float, tokens: float) -> Point:
        """The position of a number of tokens at a call."""
        share = (call - 0.5) / (self.last - 0.5)
        return self.left + self.width * share, self.low + _HIGH * tokens / self.top

    def steps(self, edges: Sequence[float], heights: Sequence[float]) -> list[Point]:
        """The outline of adjacent bars."""
        points = [self.at(edges[0], 0)]
        for n, height in enumerate(heights):
            points += [self.at(edges[n], height), self.at(edges[n + 1], height)]
        return [*points, self.at(edges[len(heights)], 0)]

    def boxes(self, edges: Sequence[float], heights: Sequence[float]) -> list[Point]:
        """The outline of bars with gaps, connected along the axis."""
        points: list[Point] = []
        for n, height in enumerate(heights):
            if height:
                (left, top), (right, _) = self.at(edges[n], height), self.at(edges[n + 1], 0)
                room = 0.12 * (right - left)
                points += [(left + room, self.low), (left + room, top),
                           (right - room, top), (right - room, self.low)]  # fmt: skip
        return points


@dataclass
class _Drawing:
    """A sheet of panels; all lines of a style are one path above all areas."""

    sheet: Sheet
    _lines: dict[tuple[str, bool], list[Sequence[Point]]] = field(default_factory=dict)

    def area(self, colour: str, outline: Sequence[Point], alpha: float | None = None) -> None:
        from matplotlib.patches import Polygon

        if outline:
            shape = Polygon(outline, closed=True, transform=in_points(self.sheet.figure))
            shape.set(facecolor=light(colour), linewidth=0, alpha=alpha)
            self.sheet.figure.add_artist(shape)

    def line(self, colour: str, points: Sequence[Point], *, dashed: bool = False) -> None:
        self._lines.setdefault((colour, dashed), []).append(points)

    def finish(self) -> None:
        """Add the lines to the sheet, the grid lowest."""
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        for (colour, dashed), lines in self._lines.items():
            path = Path.make_compound_path(*map(Path, lines))
            shape = PathPatch(path, fill=False, transform=in_points(self.sheet.figure))
            shape.set(
                edgecolor=light(colour), linewidth=0.6 if colour == "grid" else 0.9,
                linestyle=LINES[colour].dashes if dashed else "-",
                zorder=0.5 if colour == "grid" else 3, capstyle="butt",
            )  # fmt: skip
            self.sheet.figure.add_artist(shape)


def session(panels: Sequence[Panel], name: str, subject: str, width: float = WIDTH) -> Chart | None:
    """Draw small multiples with shared axes, for one conversation; None if no run has calls."""
    panels = [panel for panel in panels if panel.run.calls]
    if not panels:
        return None
    top = _top([max(sizes(panel.run)) for panel in panels])
    last = max(len(panel.run.calls) for panel in panels) + 0.5
    columns = max(1, min(_COLUMNS, int(width / _PANEL)))
    body = _BOTTOM + math.ceil(len(panels) / columns) * (_HIGH + _OVER + _UNDER)
    wide = (width - _LEFT - _RIGHT - (columns - 1) * _ACROSS) / columns
    labels = distinct_labels([panel.label for panel in panels], int(wide / _LETTER))
    with canvas():
        drawing = _Drawing(Sheet(body, _KEY, below=7, width=width))
        for number, (panel, label) in enumerate(zip(panels, labels, strict=True)):
            line, place = divmod(number, columns)
            left = _LEFT + place * (wide + _ACROSS)
            low = body - _OVER - _HIGH - line * (_HIGH + _OVER + _UNDER)
            frame = _Frame(left, low, wide, last, top)
            _scales(drawing, frame, first=place == 0, last=number + columns >= len(panels))
            _draw(drawing, frame, panel)
            _head(drawing.sheet, frame, label, panel.run)
            box = (left, low - _UNDER, left + wide, low + _HIGH + _OVER)
            tip(drawing.sheet.figure, box, panel.label, *_told(panel.run))
        drawing.finish()
    figure = drawing.sheet.figure
    title = "Context size by call"
    return Chart(name, title, _CAPTION, figure, "session", "conversation", subject)


def _top(peaks: Sequence[int]) -> float:
    """The end of the size axis: a few panels that far exceed all others are cut off."""
    usual = sorted(peaks)[math.ceil(_SHOWN * len(peaks)) - 1]
    peak = max(peaks)
    return max(1.0, 1.05 * (peak if peak <= _BEYOND * usual else _BEYOND * usual))


def _scales(drawing: _Drawing, frame: _Frame, *, first: bool, last: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    text = drawing.sheet.text
    ticks = MaxNLocator(3, steps=STEPS).tick_values(0, frame.top)
    for tick in (tick for tick in ticks if 0 <= tick <= frame.top):
        y = frame.at(0, tick)[1]
        drawing.line("grid", [(frame.left, y), (frame.left + frame.width, y)])
        if first:
            text((frame.left - 4, y), tokens_tick(tick), "muted", "right")
    calls = MaxNLocator(4, integer=True, steps=STEPS).tick_values(1, frame.last)
    for tick in (tick for tick in calls if 1 <= tick <= frame.last and last):
        text((frame.at(tick, 0)[0], frame.low - 9), f"{tick:,.0f}", "muted", "center")
    if first:
        text((frame.left - 4, frame.high + 6), "tokens", "muted", "right")
    if last:
        text((frame.left + frame.width / 2, frame.low - 22), "call number", "muted", "center")


def _draw(drawing: _Drawing, frame: _Frame, panel: Panel) -> None:
    run = panel.run
    size, new = ([min(n, frame.top) for n in binned(f(run), BINS)] for f in (sizes, cache_misses))
    # The last bar may cover fewer calls.
    step = -(-len(run.calls) // BINS) or 1
    edges = [min(n * step, len(run.calls)) + 0.5 for n in range(len(size) + 1)]
    drawing.area(panel.colour, frame.steps(edges, size), PALE)
    drawing.area(panel.colour, frame.boxes(edges, new))
    windows = windows_of(run, panel.catalogue)
    stops = [*(start for start, _ in windows[1:]), len(run.calls) + 1]
    for (start, window), stop in zip(windows, stops, strict=True):
        if 0 < window <= frame.top:
            ends = [frame.at(start - 0.5, window), frame.at(stop - 0.5, window)]
            drawing.line("alarm", ends, dashed=True)
    for event, colour, over in (("compaction", "ink", 2.0), ("overflow", "alarm", 7.0)):
        low = frame.high + over
        for n in (n for n, hit in enumerate(binned(column(run, event), BINS)) if hit):
            x, _ = frame.at((edges[n] + edges[n + 1]) / 2, 0)
            drawing.line(colour, [(x, low), (x, low + 4)])


def _told(run: Run) -> list[str]:
    """The tooltip of a panel."""
    return [
        f"{show(run.metrics.get('cost_usd'), 'USD')} USD",
        counted(len(run.calls), "call"),
        counted(sum(column(run, "compaction")), "compaction"),
        f"prompts of at most {show(max(sizes(run)), 'tokens')} tokens",
    ]


def _head(sheet: Sheet, frame: _Frame, label: str, run: Run) -> None:
    cost = show(run.metrics.get("cost_usd"), "USD")
    text = f"{cost} USD, {counted(sum(column(run, 'compaction')), 'compaction')}"
    if (peak := max(sizes(run))) > frame.top:
        text += f", up to {show(peak, 'tokens')}"
    sheet.text((frame.left, frame.high + 27), label)
    size = 8.5 * min(1.0, frame.width / width_of(text, 8.5))
    sheet.text((frame.left, frame.high + 17), text, "muted", size=size)
