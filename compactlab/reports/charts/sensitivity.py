"""What depends on the model and on the summariser: the ranks of strategies, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from compactlab.reports.analysis.comparison import Comparison
from compactlab.reports.charts.bars import WIDTH, Entry, draw_key, told_apart
from compactlab.reports.charts.chart import Chart
from compactlab.reports.charts.drawing import canvas, figure, in_points, light, width_of
from compactlab.reports.charts.panel import Sheet
from compactlab.reports.render.text import clean, counted, shorten

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PANELS = {"cost_usd": "rank by cost, USD", "amnesia_need": "rank by needs forgotten, share"}
_ROW, _HEAD, _ABOVE, _BELOW = 15.0, 36.0, 26.0, 14.0
_LETTERS, _SIZE = 30, 8.0
# Points that a letter of a column's name takes.
_LETTER = 4.6
_KEY = (
    Entry("changes rank", "ink", "line", mark="o"),
    Entry("keeps its rank", "grey", "line", mark="."),
)

Ranks = list[dict[str, int]]


def sensitivity(
    comparisons: Sequence[Comparison],
    colours: Mapping[str, str] | None = None,
    name: str = "sensitivity",
) -> Chart | None:
    """Draw the ranks of strategies under every model and summariser.

    Parameters
    ----------
    comparisons
        All there are; those over the same cases are drawn, of several such groups the largest.
    colours
        Names of colours by spec; what is not in it is grey.
    name
        Of the chart.

    Returns
    -------
    Chart or None
        None if no two comparisons with two strategies or more are over the same cases.
    """
    group = comparable(comparisons)
    specs = _common(group)
    if len(group) < 2 or len(specs) < 2:
        return None
    labels = {row.spec: row.label for row in group[0].rows}
    panels = {metric: ranks(group, specs, metric) for metric in _PANELS}
    shown = {metric: found for metric, found in panels.items() if found}
    if not shown:
        return None
    height = _BELOW + _ROW * len(specs) + _HEAD + _ABOVE
    with canvas():
        drawn = figure(WIDTH / 72, height / 72)
        draw_key(drawn, _KEY, 4, height - 2, WIDTH - 8)
        width = WIDTH / len(shown)
        for number, (metric, found) in enumerate(shown.items()):
            places = (width * number, width, height - _ABOVE)
            _panel(drawn, places, found, (_PANELS[metric], _told(group), labels, colours or {}))
    return Chart(
        name, "What depends on model and summariser", _caption(shown), drawn, "sensitivity"
    )


def comparable(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The largest group of comparisons over the same cases; of equals the first."""
    groups: dict[frozenset[object], list[Comparison]] = {}
    for each in comparisons:
        if each.rows:
            groups.setdefault(frozenset(each.cases), []).append(each)
    return max(groups.values(), key=len, default=[])


def ranks(group: Sequence[Comparison], specs: Sequence[str], metric: str) -> Ranks:
    """The rank of each strategy in each comparison, from 1; equals keep the order that they had.

    Returns
    -------
    list of dict
        Rank by spec, for each comparison; empty if a strategy has no figure.
    """
    order = list(specs)
    found: Ranks = []
    for comparison in group:
        figures = {row.spec: row.figures[metric] for row in comparison.rows}
        values = {spec: value for spec in specs if (value := figures[spec]) is not None}
        if len(values) < len(specs):
            return []
        # What decides is rounded: machines may differ in the last digits.
        order.sort(key=lambda spec: round(values[spec], 9))
        found.append({spec: number for number, spec in enumerate(order, 1)})
    return found


def moved(found: Ranks) -> list[str]:
    """The specs whose rank is not the same everywhere, in the order of the first ranks."""
    return [spec for spec in found[0] if len({each[spec] for each in found}) > 1]


def _common(group: Sequence[Comparison]) -> list[str]:
    if not group:
        return []
    held = [{row.spec for row in each.rows} for each in group]
    return [row.spec for row in group[0].rows if all(row.spec in specs for specs in held)]


def _told(group: Sequence[Comparison]) -> list[str]:
    """What each comparison is under, as far as they differ."""
    parts = {
        "model": [clean(each.model) for each in group],
        "window": [f"{each.window:,}" if each.window else "own window" for each in group],
        "summariser": [
            each.written_by or clean(each.summarizer) or "no summariser" for each in group
        ],
    }
    differing = [values for values in parts.values() if len(set(values)) > 1]
    return [", ".join(words) for words in zip(*differing, strict=True)] or [""] * len(group)


def _caption(shown: Mapping[str, Ranks]) -> str:
    said = [
        f"{len(moved(found))} of {counted(len(found[0]), 'strategy')} change their rank by {what}"
        for metric, found in shown.items()
        for what in [_PANELS[metric].removeprefix("rank by ").partition(",")[0]]
    ]
    return (
        "Ranks of the strategies over the same conversations, 1 at the top the best; equals keep "
        "the order that they had. Where two strong lines cross, which strategy is better depends "
        f"on what was assumed, and is not determined. {'; '.join(said)}."
    )


def _panel(
    drawn: Figure,
    place: tuple[float, float, float],
    found: Ranks,
    told: tuple[str, Sequence[str], Mapping[str, str], Mapping[str, str]],
) -> None:
    (start, width, top), (title, columns, labels, colours) = place, told
    sheet = Sheet(drawn)
    order = sorted(found[0], key=found[0].__getitem__)
    names = told_apart([labels[spec] for spec in order], _LETTERS)
    left = start + 32 + 1.03 * max(width_of(name, _SIZE) for name in names)
    step = (start + width - 16 - left) / (len(columns) - 1)
    xs = [left + step * number for number in range(len(columns))]
    sheet.text((start + 4, top - 4), title, "muted", size=8.5)
    aligned: Literal["left", "center", "right"]
    for number, (x, column) in enumerate(zip(xs, columns, strict=True)):
        # Neighbours stand at two heights, so each has the room of two; at an end, of one side.
        aligned = "left" if not number else "right" if number == len(columns) - 1 else "center"
        room = (1.7 if aligned == "center" else 0.95) * step
        text = shorten(column, max(6, int(room / _LETTER)))
        sheet.text((x, top - 18 - 10 * (number % 2)), text, "muted", aligned, 7)
    changed = set(moved(found))
    for spec, name in zip(order, names, strict=True):
        ys = [top - _HEAD - _ROW * (each[spec] - 0.5) for each in found]
        strong, colour = spec in changed, colours.get(spec, "grey")
        sheet.text((left - 24, ys[0]), name, "ink" if strong else "muted", "right", _SIZE)
        sheet.text((left - 8, ys[0]), f"{found[0][spec]}", "muted", "right", 6.5)
        loud = "muted" if colour == "grey" else colour
        _line(drawn, list(zip(xs, ys, strict=True)), loud if strong else "grey", strong=strong)


def _line(
    drawn: Figure, points: Sequence[tuple[float, float]], colour: str, *, strong: bool
) -> None:
    from matplotlib.lines import Line2D

    line = Line2D(*zip(*points, strict=True), transform=in_points(drawn))
    line.set(color=light(colour), linewidth=1.8 if strong else 0.7, marker="o",
             markersize=4.5 if strong else 2.5, zorder=3 if strong else 2)  # fmt: skip
    drawn.add_artist(line)
