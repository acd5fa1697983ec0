"""How strategies differ from the reference, and what of it is statistically significant."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from compactlab.reports.analysis.comparison import COLUMNS, MEMORY, Comparison, Row
from compactlab.reports.analysis.contrast import (
    MARGINS,
    PRIMARY,
    Contrast,
    contrasts,
    reference_of,
)
from compactlab.reports.page.grid import Grid, Line, line_of
from compactlab.reports.render.document import Cell, Column
from compactlab.reports.render.text import NONE, exact, plain, show
from compactlab.sim.metrics import METRICS

_MINUS = "\N{MINUS SIGN}"
_NOT_SIGNIFICANT = "not significant"
# The finding where a strategy is significantly better, and where it is worse.
_WORDS = {
    "cost_usd": ("cheaper", "more expensive"),
    "amnesia_need": ("lower", "higher"),
}
_TITLES = {"cost_usd": "Cost", "amnesia_need": "Fact miss rate"}


@dataclass(frozen=True)
class Differences:
    """Differences to the reference, of declared metrics and of others."""

    reference: str
    declared: tuple[tuple[str, Grid], ...]
    explored: Grid


def differences(comparison: Comparison, colours: Mapping[str, str]) -> Differences | None:
    """Set the differences to the reference; None where there are no two strategies."""
    reference = reference_of(comparison)
    if reference is None or len(comparison.rows) < 2:
        return None
    explored = [
        name
        for name in dict.fromkeys(column.key for column in (*COLUMNS, *MEMORY))
        if name in METRICS and name not in PRIMARY and _known(comparison, name)
    ]
    declared = [name for name in _TITLES if _known(comparison, name)]
    estimates = contrasts(comparison, reference, [*declared, *explored])
    rows = [row for row in comparison.rows if row is not reference]
    others = [_head(_title(name), name, METRICS[name].better) for name in explored]
    others_lines = [_line(row, colours, estimates, explored, _brief) for row in rows]
    grids = []
    for name in declared:
        lines = [_line(row, colours, estimates, [name], _cells) for row in rows]
        bounds = any(estimates[row.spec, name].low is not None for row in rows)
        grids.append((_TITLES[name], Grid(tuple(_heads(name, bounds)), tuple(lines))))
    return Differences(reference.label, tuple(grids), Grid(tuple(others), tuple(others_lines)))


def _known(comparison: Comparison, metric: str) -> bool:
    return any(row.figures[metric] is not None for row in comparison.rows)


def _title(metric: str) -> str:
    return next(each.title for each in (*MEMORY, *COLUMNS) if each.key == metric)


def _line(
    row: Row,
    colours: Mapping[str, str],
    estimates: Mapping[tuple[str, str], Contrast],
    metrics: list[str],
    write: Callable[[Contrast], Iterator[Cell]],
) -> Line:
    cells = [cell for name in metrics for cell in write(estimates[row.spec, name])]
    return line_of(row, colours, cells)


def _head(title: str, key: str, better: str = "lower") -> Column:
    return Column(title, key=key, better=better)


def _heads(metric: str, bounds: bool) -> Iterator[Column]:
    margin = f"{100 * MARGINS[metric]:.0f}"
    within = f"{margin}%" if metric == "cost_usd" else f"{margin} points"
    unit = "%" if metric == "cost_usd" else "points"
    yield _head(f"difference, {unit}{' (95% interval)' if bounds else ''}", metric)
    yield _head("p (Holm)", f"{metric}: adjusted p")
    yield _head("conversations better / same / worse", f"{metric}: conversations", "higher")
    yield _head("finding", f"{metric}: finding")
    yield _head(f"non-inferior, margin {within}", f"{metric}: non-inferiority", "higher")
    yield _head(
        f"minimum detectable difference, {unit}", f"{metric}: smallest detectable difference"
    )


def _cells(contrast: Contrast) -> Iterator[Cell]:
    yield _difference(contrast)
    chance = contrast.adjusted
    yield Cell(_probability(chance), exact(chance), plain(chance))
    counts = (contrast.wins, contrast.ties, contrast.losses)
    yield Cell(" / ".join(map(str, counts)), value=contrast.wins - contrast.losses)
    better, worse = _WORDS[contrast.metric]
    direction = better if contrast.better else worse if contrast.worse else _NOT_SIGNIFICANT
    yield Cell("the same" if _same(contrast) else direction, value=_rank(contrast))
    answer = {True: "yes", False: "not shown", None: NONE}[contrast.no_worse]
    yield Cell(answer, value=None if contrast.no_worse is None else int(contrast.no_worse))
    smallest = contrast.detectable
    yield Cell(
        NONE if smallest is None else _detectable(contrast, smallest),
        exact(smallest),
        plain(smallest),
    )


def _detectable(contrast: Contrast, smallest: float) -> str:
    """The smallest difference, in the unit of its column or else with its own."""
    if contrast.kind == "ratio" or METRICS[contrast.metric].unit == "share":
        return f"{100 * smallest:.1f}"
    return _amount(smallest, METRICS[contrast.metric].unit)


def _amount(size: float, unit: str) -> str:
    return f"{show(size, unit)} USD" if unit == "USD" else show(size, unit)


def _difference(contrast: Contrast) -> Cell:
    if contrast.estimate is None:
        return Cell(NONE)
    write = _writer(contrast)
    aside = ""
    if contrast.low is not None and contrast.high is not None:
        aside = f"({write(contrast.low)} to {write(contrast.high)})"
    return Cell(write(contrast.estimate), exact(contrast.estimate), plain(contrast.estimate),
                aside=aside)  # fmt: skip


def _brief(contrast: Contrast) -> Iterator[Cell]:
    """A difference of a metric that was not declared: bold where it is significant."""
    cell = _difference(contrast)
    chance = f"p {_probability(contrast.adjusted)} (Benjamini-Hochberg)"
    text = f"{cell.text} {cell.aside}; {chance}" if cell.aside else f"{cell.text}; {chance}"
    yield Cell(cell.text, text, cell.value, best=contrast.determined)


def _writer(contrast: Contrast) -> Callable[[float], str]:
    unit = METRICS[contrast.metric].unit
    if contrast.kind == "ratio":
        return lambda value: _signed(100 * (value - 1), lambda size: f"{size:.0f}%")
    if unit == "share":
        return lambda value: _signed(100 * value, lambda size: f"{size:.1f}")
    return lambda value: _signed(value, lambda size: _amount(size, unit))


def _signed(value: float, write: Callable[[float], str]) -> str:
    """A difference with its sign; what rounds to nothing has none."""
    text = write(abs(value))
    if not any(digit in text for digit in "123456789"):
        return text
    return f"{_MINUS if value < 0 else '+'}{text}"


def _probability(value: float | None) -> str:
    if value is None:
        return NONE
    return "<0.001" if value < 0.001 else f"{value:.2g}" if value < 0.1 else f"{value:.2f}"


def _same(contrast: Contrast) -> bool:
    return contrast.estimate == contrast.same and not contrast.wins and not contrast.losses


def _rank(contrast: Contrast) -> int:
    return -1 if contrast.better else int(contrast.worse)
