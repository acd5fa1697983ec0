"""The ranks of strategies under each model and summariser, next to each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from compactlab.reports.analysis.comparison import Comparison
from compactlab.reports.charts.chart import Chart
from compactlab.reports.charts.drawing import Point, canvas, tip, width_of
from compactlab.reports.charts.kit import WIDTH, Align, Colours, KeyEntry, Sheet, Values
from compactlab.reports.charts.names import distinct_labels
from compactlab.reports.render.text import clean, counted, listed, shorten

_PANELS = {"cost_usd": "rank by cost, USD", "recall": "rank by recall, share"}
_ROW, _HEAD, _BELOW = 15.0, 36.0, 14.0
_LETTERS, _SIZE, _STACKED = 28, 8.5, 480.0
# The width of a letter of a column's name, in points.
_LETTER = 5.4
_KEY = (
    KeyEntry("changes rank", "ink", "line", mark="o"),
    KeyEntry("keeps its rank", "grey", "line", mark="."),
)

Ranks = list[dict[str, int]]


class _Shared(NamedTuple):
    """What all panels share: labels by spec, columns, and colours by spec."""

    labels: Mapping[str, str]
    columns: Sequence[str]
    colours: Colours


def sensitivity(
    compared: Sequence[Comparison], colours: Colours | None = None, width: float = WIDTH
) -> Chart | None:
    """Draw the ranks of strategies under every model and summariser.

    It uses the largest group of comparisons over the same cases. None if no two of them share two
    strategies or more. Specs without a colour are grey.
    """
    group = comparable(compared)
    specs = _common(group)
    if len(group) < 2 or len(specs) < 2:
        return None
    by_metric = {metric: ranks(group, specs, metric) for metric in _PANELS}
    shown = {metric: own for metric, own in by_metric.items() if own}
    if not shown:
        return None
    # Panels stand next to each other, on narrow sheets below each other.
    across = len(shown) if width > _STACKED else 1
    each, height = width / across, _BELOW + _ROW * len(specs) + _HEAD
    shared = _Shared({row.spec: row.label for row in group[0].rows}, _columns(group), colours or {})
    with canvas():
        sheet = Sheet(height * len(shown) / across, _KEY, above=2, below=9, width=width)
        for number, (metric, own) in enumerate(shown.items()):
            start = each * (number % across)
            top = height * (len(shown) / across - number // across)
            sheet.text((start + 4, top - 4), _PANELS[metric], "muted", size=8.5)
            _panel(sheet, (start, each, top), own, shared)
    title = f"Ranks by {listed(list(_varied(group)))}"
    ranked = [(f"{_PANELS[m]}: {c}", own) for m, every in shown.items()
              for c, own in zip(shared.columns, every, strict=True)]  # fmt: skip
    heads = ["strategy", *(head for head, _ in ranked)]
    values: Values = [[shared.labels[spec], *(own[spec] for _, own in ranked)] for spec in specs]
    caption = _caption(group, shown)
    return Chart(
        "sensitivity", title, caption, sheet.figure, "sensitivity", values=[heads, *values]
    )


def comparable(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The largest group of comparisons over the same cases; of equal ones the first."""
    groups: dict[frozenset[object], list[Comparison]] = {}
    for each in comparisons:
        if each.rows:
            groups.setdefault(frozenset(each.cases), []).append(each)
    return max(groups.values(), key=len, default=[])


def ranks(group: Sequence[Comparison], specs: Sequence[str], metric: str) -> Ranks:
    """Rank by spec, from 1, in each comparison; empty if a strategy has no figure.

    Ties keep their order.
    """
    order = list(specs)
    by_comparison: Ranks = []
    for comparison in group:
        figures = {row.spec: row.figures[metric] for row in comparison.rows}
        values = {spec: value for spec in specs if (value := figures[spec]) is not None}
        if len(values) < len(specs):
            return []
        # Rounded, because last digits differ between machines. More recall is better.
        sign = -1 if metric == "recall" else 1
        order.sort(key=lambda spec: sign * round(values[spec], 9))
        by_comparison.append({spec: number for number, spec in enumerate(order, 1)})
    return by_comparison


def moved(by_comparison: Ranks) -> list[str]:
    """The specs whose rank differs between comparisons, in the order of the first ranks."""
    first, *others = by_comparison
    return [spec for spec in first if any(each[spec] != first[spec] for each in others)]


def _common(group: Sequence[Comparison]) -> list[str]:
    """The specs of all comparisons, in the order of the first."""
    everywhere = [{row.spec for row in each.rows} for each in group]
    first = group[0].rows if group else ()
    return [row.spec for row in first if all(row.spec in specs for specs in everywhere)]


def _varied(group: Sequence[Comparison]) -> dict[str, list[str]]:
    """What differs between the comparisons, with the values of each."""
    parts = {
        "model": [clean(each.model) for each in group],
        "window": [f"{each.window:,}" if each.window else "own window" for each in group],
        "summariser": [
            each.written_by or clean(each.summarizer) or "no summariser" for each in group
        ],
    }
    return {part: values for part, values in parts.items() if len(set(values)) > 1}


def _columns(group: Sequence[Comparison]) -> list[str]:
    return [", ".join(words) for words in zip(*_varied(group).values(), strict=True)]


def _caption(group: Sequence[Comparison], shown: Mapping[str, Ranks]) -> str:
    changes = [
        f"{len(moved(own))} of {counted(len(own[0]), 'strategy')} change their rank by {what}"
        for metric, own in shown.items()
        for what in [_PANELS[metric].removeprefix("rank by ").partition(",")[0]]
    ]
    ranked = next(iter(shown.values()))[0]
    rows = (row for each in group for row in each.rows if row.spec in ranked)
    bad = dict.fromkeys(row.label for row in rows if row.exceeds_window or row.faulty)
    return (
        "Ranks of the strategies over the same conversations; rank 1 at the top is the best. Ties "
        "keep their order. Where two strong lines cross, which strategy is better depends on the "
        f"{' or the '.join(_varied(group))}. {'; '.join(changes)}."
        f"{f' Ranked, but not usable everywhere: {listed(list(bad))}.' if bad else ''}"
    )


def _panel(
    sheet: Sheet, place: tuple[float, float, float], by_comparison: Ranks, shared: _Shared
) -> None:
    """Draw one line per strategy through its ranks; ``place``: start, width and top."""
    start, width, top = place
    order = sorted(by_comparison[0], key=by_comparison[0].__getitem__)
    names = distinct_labels([shared.labels[spec] for spec in order], _LETTERS)
    left = start + 32 + 1.03 * max(width_of(name, _SIZE) for name in names)
    step = (start + width - 16 - left) / (len(shared.columns) - 1)
    _heads(sheet, (left, top), step, shared.columns)
    changed = moved(by_comparison)
    for spec, name in zip(order, names, strict=True):
        points = [
            (left + step * number, top - _HEAD - _ROW * (own[spec] - 0.5))
            for number, own in enumerate(by_comparison)
        ]
        y, strong, colour = points[0][1], spec in changed, shared.colours.get(spec, "grey")
        sheet.text((left - 24, y), name, "ink" if strong else "muted", "right", size=_SIZE)
        sheet.text((left - 8, y), f"{by_comparison[0][spec]}", "muted", "right")
        ranked = zip(shared.columns, by_comparison, strict=True)
        told = (f"{column or 'rank'}: {own[spec]}" for column, own in ranked)
        box = (start, y - _ROW / 2, start + width, y + _ROW / 2)
        tip(sheet.figure, box, shared.labels[spec], *told)
        if strong:
            colour = "muted" if colour == "grey" else colour
            sheet.line(points, colour, 1.8, marker="o", markersize=4.5, zorder=3)
        else:
            sheet.line(points, "grey", 0.7, marker="o", markersize=2.5, zorder=2)


def _heads(sheet: Sheet, corner: Point, step: float, columns: Sequence[str]) -> None:
    """Headings alternate in height, so each has the width of two columns; at an end, of one."""
    align: Align
    for number, column in enumerate(columns):
        align = "left" if not number else "right" if number == len(columns) - 1 else "center"
        room = (1.7 if align == "center" else 0.95) * step
        text = shorten(column, max(6, int(room / _LETTER)))
        at = (corner[0] + step * number, corner[1] - 18 - 10 * (number % 2))
        sheet.text(at, text, "muted", align)
