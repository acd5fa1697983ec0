"""Charts of the input cost of sessions, and of one session call by call."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from compactlab.reports.audit.causes import READ, by_cause, look, read_cost, shares
from compactlab.reports.audit.ledger import AuditedFile, Ledger
from compactlab.reports.audit.tally import input_costs
from compactlab.reports.charts.drawing import canvas, svg
from compactlab.reports.charts.kit import TOKENS, USD, Piece, Sheet, measure
from compactlab.reports.charts.kit import bars as stacked_bars
from compactlab.reports.charts.palette import cause_colours, light
from compactlab.reports.render.document import Chart, Key, name
from compactlab.reports.render.text import clean, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Input cost by cause: one bar per session, one piece per cause.

# The number of sessions with a bar.
BARS = 20


def bill(entry: AuditedFile) -> dict[str, float]:
    """Dollars of a session's input by cause, reading first."""
    causes = {share.cause: share.dollars or 0.0 for share in by_cause(shares([entry]))}
    return {READ: read_cost([entry]), **causes}


def bars(entries: Sequence[AuditedFile], anchor: str) -> str:
    """SVG of stacked bars in dollars, for sessions with known prices; "" without any."""
    if not entries:
        return ""
    bills = [bill(entry) for entry in entries]
    pieces = [
        Piece("", *look(cause), [each.get(cause, 0.0) for each in bills])
        for cause in _ordered(bills)
    ]
    with canvas():
        names = [shorten(clean(entry.name), 36) for entry in entries]
        drawn = stacked_bars(names, pieces, USD, "dollars of input")
    return svg(drawn, anchor, "dollars of input by cause, one bar per session")


def _ordered(bills: Sequence[Mapping[str, float]]) -> list[str]:
    """The causes in the order of the pieces."""
    known = [READ, *cause_colours()]
    others = sorted({cause for each in bills for cause in each} - {*known})
    return [cause for cause in (*known, *others) if any(each.get(cause) for each in bills)]


# If there are more calls, neighbours share a position.
PLACES = 300
_WIDTH, _LEFT, _RIGHT = 806.4, 54.0, 10.8
_ABOVE, _HIGH, _GAP, _LOW, _BELOW = 18.0, 187.2, 25.2, 108.0, 36.0


def timeline(entry: AuditedFile, anchor: str) -> str:
    """SVG of a session, call by call.

    The upper part shows the size of the prompt as an area, the tokens read as a darker area, and
    the expected reads as a line. The lower part shows the cumulative cost of the input, or
    cache-miss tokens if no price is known.
    """
    with canvas():
        sheet = Sheet(_ABOVE + _HIGH + _GAP + _LOW + _BELOW, width=_WIDTH)
        width = _WIDTH - _LEFT - _RIGHT
        upper = sheet.axes(_LEFT, _BELOW + _LOW + _GAP, width, _HIGH)
        lower = sheet.axes(_LEFT, _BELOW, width, _LOW)
        _sizes(upper, entry)
        _sums(lower, entry)
        for axes in (upper, lower):
            axes.set_xlim(0.5, len(entry.audited.findings) + 0.5)
            axes.set_ylim(bottom=0)
            axes.tick_params(length=0)
        upper.tick_params(labelbottom=False)
        lower.set_xlabel("call number")
    content = "prompt, tokens read and tokens expected to be read per call; cumulative cost"
    return svg(sheet.figure, anchor, content)


def _sizes(axes: Axes, entry: AuditedFile) -> None:
    findings = entry.audited.findings
    prompts = [finding.forecast.exchange.usage.prompt for finding in findings]
    step = -(-len(findings) // PLACES)
    # Of neighbours, show the largest prompt and the smallest read, so that no loss is hidden.
    tall = [max(prompts[at : at + step]) for at in range(0, len(prompts), step)]
    read = _least([finding.read for finding in findings], step)
    expected = _least([finding.forecast.read for finding in findings], step)
    at = _places(len(findings), step)
    axes.fill_between(at, tall, step="mid", color=light("sky"), alpha=0.35, linewidth=0)
    axes.fill_between(at, read, step="mid", color=light("blue"), alpha=0.8, linewidth=0)
    axes.step(at, expected, where="mid", color=light("vermillion"), linewidth=1.2)
    measure(axes, "y", TOKENS, "tokens")
    for number, finding in enumerate(findings, 1):
        if finding.forecast.exchange.compacted is not None:
            axes.axvline(number, color=light("ink"), linewidth=0.8, linestyle=":")


def _least(values: Sequence[int], step: int) -> list[int]:
    return [min(values[at : at + step]) for at in range(0, len(values), step)]


def _places(calls: int, step: int) -> list[float]:
    return [at + (min(step, calls - at) + 1) / 2 for at in range(0, calls, step)]


def _sums(axes: Axes, entry: AuditedFile) -> None:
    findings = entry.audited.findings
    priced = entry.audited.recorded.cost is not None
    if priced:
        costs = [input_costs(finding.forecast) for finding in findings]
    else:
        costs = [(finding.forecast.cache_misses, finding.cache_misses) for finding in findings]
    step = -(-len(findings) // PLACES)
    at = [number for number in range(1, len(findings) + 1) if number % step in (0, 1 % step)]
    for part, colour in ((1, "blue"), (0, "vermillion")):
        sums = list(accumulate(cost[part] for cost in costs))
        line = [sums[number - 1] for number in at]
        axes.plot(at, line, color=light(colour), linewidth=1.4)
    if priced:
        axes.set_ylabel("cumulative dollars")
    else:
        measure(axes, "y", TOKENS, "cumulative cache-miss tokens")


def largest_error(entries: Sequence[AuditedFile]) -> AuditedFile:
    """The session with the largest error of its total, in dollars if known, else in tokens."""

    def off(entry: AuditedFile) -> tuple[float, float]:
        tally = entry.audited.recorded
        dollars = abs(tally.cost.expected - tally.cost.recorded) if tally.cost else -math.inf
        return dollars, abs(tally.written.expected - tally.written.recorded)

    return max(entries, key=off)


# The charts as parts of a page.


def session_chart(ledger: Ledger) -> Chart:
    """The session with the largest error, call by call."""
    off = largest_error(ledger.entries)
    sums = "dollars of input" if off.audited.recorded.cost is not None else "cache-miss tokens"
    caption = (
        "Above: tokens of the prompt, and how many of them were read. In a session with very many "
        "calls, neighbouring calls share a place; it shows the largest prompt and the smallest "
        f"read. Below: cumulative {sums}. Dotted: the agent compacted. File: {name(off.file)}"
    )
    keys = (Key("sky", "pale", "prompt"), Key("blue", "", "recorded"))
    title = f"The session with the largest error: {name(off.name)}"
    expected = Key("vermillion", "line", "expected.")
    return Chart(title, timeline(off, "course"), caption, "course", (*keys, expected))


def bars_chart(ledger: Ledger) -> Iterator[Chart]:
    """The input cost of each session, if any price is known."""
    priced = [entry for entry in ledger.by_cost if entry.audited.recorded.cost is not None]
    if priced:
        caption = "Dollars of input by cause, in the colours of the table above."
        if (more := len(priced) - BARS) > 0:
            caption += f" These are the most expensive sessions; the JSON has {more} more."
        title = "Input cost of each session by cause"
        yield Chart(title, bars(priced[:BARS], "bars"), caption, "bars")
