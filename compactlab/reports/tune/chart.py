"""The curve of a strategy: cost and misses, by the size at which it compacts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from compactlab.reports.charts.drawing import canvas, svg
from compactlab.reports.charts.kit import (
    PERCENT,
    TOKENS,
    USD,
    WIDTH,
    KeyEntry,
    Sheet,
    mark,
    measure,
    measure_powers,
)
from compactlab.reports.charts.palette import LINES, light
from compactlab.reports.render.document import Chart, name
from compactlab.reports.tune.tuned import TRIGGER, Tried, Tuned

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COSTS, _MISSED, _GAP, _BELOW = 210.0, 110.0, 20.0, 36.0
_LEFT, _RIGHT = 56.0, 18.0
_KEY = (
    KeyEntry("cost with recovery", "blue", "line"),
    KeyEntry("cost", "sky", "line"),
    KeyEntry("missed facts", "vermillion", "line"),
    KeyEntry("as it was given", "muted", "mark", mark="D"),
    KeyEntry("may be the cheapest", "grey", "pale"),
)
_CAPTION = (
    "Above: dollars of all sessions together by the size at which it compacts, in tokens; the mark "
    "is the setting to take, the band its 95 % interval paired with the strategy as it was given. "
    "Below: the share of needed facts at a distance of {lag:,} tokens or more that the prompt does "
    "not hold, with its 95 % interval. Intervals need ten sessions."
)
# The band of possibly cheapest settings extends beyond them by this factor.
_AROUND = 1.03


def chart(tuned: Tuned, anchor: str) -> Chart | None:
    """Draw the settings that differ only in the trigger; None if there are fewer than two."""
    shown = [
        index
        for index, each in enumerate(tuned.tried)
        if each.size and set(each.values) <= {TRIGGER}
    ]
    if len(shown) < 2:
        return None
    points = [tuned.tried[index] for index in shown]
    with canvas():
        sheet = Sheet(_BELOW + _MISSED + _GAP + _COSTS, _KEY)
        width = WIDTH - _LEFT - _RIGHT
        upper = sheet.axes(_LEFT, _BELOW + _MISSED + _GAP, width, _COSTS)
        lower = sheet.axes(_LEFT, _BELOW, width, _MISSED)
        _costs(upper, tuned, points)
        _memory(lower, points)
        for axes in (upper, lower):
            _sizes(axes, points)
            _maybe(axes, tuned, shown)
        upper.set_xlabel("")
        upper.tick_params(labelbottom=False)
    title = f"{name(tuned.label)}: what it costs by the size at which it compacts"
    caption = _CAPTION.format(lag=tuned.lag)
    described = "cost, cost with recovery and missed facts by trigger"
    return Chart(title, svg(sheet.figure, anchor, described), caption, "tune")


def _sizes(axes: Axes, points: Sequence[Tried]) -> None:
    from matplotlib.ticker import LogLocator

    sizes = [point.size or 0.0 for point in points]
    ticks = LogLocator(10, subs=(1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0), numticks=20)
    measure_powers(axes, TOKENS, ticks, "trigger, tokens (logarithmic)")
    axes.set_xlim(min(sizes) / 1.06, max(sizes) * 1.06)


def _costs(axes: Axes, tuned: Tuned, points: Sequence[Tried]) -> None:
    sizes = [point.size or 0.0 for point in points]
    own = tuned.tried[tuned.own].recovery
    known = [p for p in points if p.of_own.low is not None and p.of_own.high is not None]
    if known:
        low, high = (
            [(getattr(p.of_own, end) or 0.0) * own for p in known] for end in ("low", "high")
        )
        across = [p.size or 0.0 for p in known]
        axes.fill_between(across, low, high, color=light("blue"), alpha=0.14, linewidth=0)
    for colour, values in (
        ("sky", [p.cost for p in points]),
        ("blue", [p.recovery for p in points]),
    ):
        look = LINES[colour]
        axes.plot(
            sizes, values, color=light(colour), linewidth=look.width, linestyle=look.dashes,
            marker=look.marker, markersize=4,
        )  # fmt: skip
    for point in points:
        if point.own:
            mark(axes, [(point.size or 0.0, point.recovery)], "D", "muted", 7)
    if tuned.advised is not None and (taken := tuned.tried[tuned.advised]) in points:
        around = [(taken.size or 0.0, taken.recovery)]
        mark(axes, around, "o", "ink", 12, markerfacecolor="none", markeredgewidth=1.8)
    measure(axes, "y", USD, "cost of all sessions, USD")


def _memory(axes: Axes, points: Sequence[Tried]) -> None:
    known = [point for point in points if point.missed is not None]
    sizes = [point.size or 0.0 for point in known]
    shares = [point.missed.value for point in known if point.missed is not None]
    look = LINES["vermillion"]
    axes.plot(
        sizes, shares, color=light("vermillion"), linewidth=look.width, linestyle=look.dashes,
        marker=look.marker, markersize=4,
    )  # fmt: skip
    for point in known:
        missed = point.missed
        if missed and missed.low is not None and missed.high is not None:
            ends = [missed.low, missed.high]
            axes.plot(
                [point.size or 0.0] * 2, ends, color=light("vermillion"), linewidth=0.9, alpha=0.6
            )
    axes.set_ylim(bottom=0)
    measure(axes, "y", PERCENT, "missed, %")


def _maybe(axes: Axes, tuned: Tuned, shown: Sequence[int]) -> None:
    sizes = [tuned.tried[at].size or 0.0 for at in tuned.interval or () if at in shown]
    if sizes:
        ends = min(sizes) / _AROUND, max(sizes) * _AROUND
        axes.axvspan(*ends, color=light("grey"), alpha=0.16, linewidth=0, zorder=0)
