"""What the input of each session cost, and the course of one session."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from compactlab.reports.audit.causes import by_cause, read_cost, shares
from compactlab.reports.audit.ledger import Entry
from compactlab.reports.audit.tally import input_costs
from compactlab.reports.charts.bars import in_tokens
from compactlab.reports.charts.drawing import (
    HATCHES,
    PATTERNS,
    canvas,
    cause_colours,
    figure,
    light,
    svg,
)
from compactlab.reports.render.text import clean, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# What the input of each session cost, and for what: a bar a session, a piece a cause.

# Sessions that get a bar.
BARS = 20
READ = "read from the cache"
_BARS_WIDTH, _BARS_LEFT = 9.2, 2.55
_ROW = 0.27


def bill(entry: Entry) -> dict[str, float]:
    """Dollars of a session's input by what they were paid for, reading first."""
    found = {share.cause: share.dollars or 0.0 for share in by_cause(shares([entry]))}
    return {READ: read_cost([entry]), **found}


def look(cause: str) -> tuple[str, str]:
    """Colour of what was paid for, and its pattern."""
    return ("grid", "") if cause == READ else cause_colours().get(cause, ("grey", PATTERNS[-1]))


def bars(entries: Sequence[Entry], name: str) -> str:
    """Draw stacked bars in dollars."""
    if not entries:
        return ""
    bills = [bill(entry) for entry in entries]
    height = 0.6 + _ROW * len(entries)
    with canvas():
        drawn = figure(_BARS_WIDTH, height)
        corner = (_BARS_LEFT / _BARS_WIDTH, 0.5 / height)
        size = ((_BARS_WIDTH - _BARS_LEFT - 0.25) / _BARS_WIDTH, (height - 0.6) / height)
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


# The course of one session: its prompts, what was read of them and what was expected to be.

# More calls than these share a place with their neighbours.
PLACES = 300
_WIDTH = 11.2
_TALL, _LOW = 2.6, 1.5
_LEFT, _RIGHT, _TOP, _GAP, _BOTTOM = 0.75, 0.15, 0.25, 0.35, 0.5


def course(entry: Entry, name: str) -> str:
    """Draw a session call by call.

    Above, the size of the prompt as an area, what was read as a darker one, what was expected to
    be read as a line. Below, what the input has cost so far; fresh tokens, where no price is known.
    """
    height = _TOP + _TALL + _GAP + _LOW + _BOTTOM
    width = (_WIDTH - _LEFT - _RIGHT) / _WIDTH
    with canvas():
        drawn = figure(_WIDTH, height)
        low = (_LEFT / _WIDTH, _BOTTOM / height, width, _LOW / height)
        high = (_LEFT / _WIDTH, (_BOTTOM + _LOW + _GAP) / height, width, _TALL / height)
        upper, lower = drawn.add_axes(high), drawn.add_axes(low)
        _sizes(upper, entry)
        _sums(lower, entry)
        for axes in (upper, lower):
            axes.set_xlim(0.5, len(entry.audited.findings) + 0.5)
            axes.set_ylim(bottom=0)
            axes.tick_params(length=0)
        upper.tick_params(labelbottom=False)
        lower.set_xlabel("call number")
        told = "prompt, tokens read and expected to be read at every call; costs so far"
        return svg(drawn, name, told)


def _sizes(axes: Axes, entry: Entry) -> None:
    findings = entry.audited.findings
    prompts = [finding.forecast.exchange.usage.prompt for finding in findings]
    step = -(-len(findings) // PLACES)
    # Of neighbours the largest prompt and the least that was read: so no loss is hidden.
    tall = [max(prompts[at : at + step]) for at in range(0, len(prompts), step)]
    read = _least([finding.read for finding in findings], step)
    expected = _least([finding.forecast.read for finding in findings], step)
    at = _places(len(findings), step)
    axes.fill_between(at, tall, step="mid", color=light("sky"), alpha=0.35, linewidth=0)
    axes.fill_between(at, read, step="mid", color=light("blue"), alpha=0.8, linewidth=0)
    axes.step(at, expected, where="mid", color=light("vermillion"), linewidth=1.2)
    in_tokens(axes, "y")
    axes.set_ylabel("tokens")
    for number, finding in enumerate(findings, 1):
        if finding.forecast.exchange.compacted is not None:
            axes.axvline(number, color=light("ink"), linewidth=0.8, linestyle=":")


def _least(values: Sequence[int], step: int) -> list[int]:
    return [min(values[at : at + step]) for at in range(0, len(values), step)]


def _places(calls: int, step: int) -> list[float]:
    return [at + (min(step, calls - at) + 1) / 2 for at in range(0, calls, step)]


def _sums(axes: Axes, entry: Entry) -> None:
    findings = entry.audited.findings
    priced = entry.audited.recorded.cost is not None
    if priced:
        costs = [input_costs(finding.forecast) for finding in findings]
    else:
        costs = [(finding.forecast.fresh, finding.fresh) for finding in findings]
    step = -(-len(findings) // PLACES)
    at = [number for number in range(1, len(findings) + 1) if number % step in (0, 1 % step)]
    for part, colour in ((1, "blue"), (0, "vermillion")):
        sums = list(accumulate(cost[part] for cost in costs))
        line = [sums[number - 1] for number in at]
        axes.plot(at, line, color=light(colour), linewidth=1.4)
    axes.set_ylabel("dollars so far" if priced else "fresh tokens so far")
    if not priced:
        in_tokens(axes, "y")


def furthest_off(entries: Sequence[Entry]) -> Entry:
    """The session whose sum is furthest off: in dollars where they are known, else in tokens."""

    def off(entry: Entry) -> tuple[float, float]:
        tally = entry.audited.recorded
        dollars = abs(tally.cost.expected - tally.cost.recorded) if tally.cost else -math.inf
        return dollars, abs(tally.written.expected - tally.written.recorded)

    return max(entries, key=off)
