"""Differences of strategies from the reference, and their significance."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from compactlab.reports.analysis.columns import COLUMNS, MEMORY
from compactlab.reports.analysis.comparison import Comparison
from compactlab.reports.analysis.contrast import (
    MARGINS,
    Contrast,
    contrasts,
)
from compactlab.reports.analysis.significance import conversations_needed
from compactlab.reports.page.figures import STRATEGY, row_of
from compactlab.reports.render.document import (
    Block,
    Cell,
    Column,
    Folded,
    Heading,
    Table,
    name,
    sentences,
)
from compactlab.reports.render.text import MINUS, NONE, counted, exact, plain, show
from compactlab.sim.metrics import METRICS

Write = Callable[[Contrast], Iterator[Cell]]
"""Writes a difference into one cell or several."""

_NOT_SIGNIFICANT = "not significant"
# The words for significantly better and worse.
_WORDS, _COST_WORDS = ("better", "worse"), ("cheaper", "more expensive")


_READING = (
    "Pairs are conversations: each strategy is compared with the reference on the same "
    "conversations. The difference in cost is a ratio of sums, in percent; that in recall is in "
    "points. Intervals of 95% need at least 10 conversations: of cost by a bootstrap over "
    "conversations, of recall one that holds for any distribution, also if a conversation like "
    "none of these comes.",
    "p is that of a sign-flip test, after Holm for the number of strategies. A finding is "
    "statistically significant if p is below 0.05 and the interval of cost excludes no difference. "
    "Better, same and worse count conversations.",
    "“Non-inferior” means that the strategy is not worse by more than the margin: in cost "
    "the interval ends within the margin, in recall a test for any distribution shows it, for each "
    "strategy by itself. “Not shown” does not mean that it is "
    "worse.",
    "The minimum detectable difference is the smallest difference that 80 of 100 such experiments "
    "would detect, before Holm; the verdict states it for the strategy that it advises, or else "
    "for the cheapest usable strategy.",
)
_NOTHING_ELSE = "No other figure differs significantly (5%, after Benjamini and Hochberg)."
_EXPLORED = (
    "Shown are the figures with a significant difference, of the strategies that charts show. "
    "These figures were not declared beforehand, so they are exploratory. Bold: statistically "
    "significant at 5%, after Benjamini and Hochberg over all figures of these strategies. "
    "Costs are in percent, shares in points, all other figures in their own unit for one "
    "conversation: the mean, and of cache-write spikes the median."
)


# With fewer conversations no difference can be significant.
LEAST = 6


def few(comparison: Comparison) -> str:
    """Why there are no differences to show; "" if there are some."""
    number = comparison.conversations
    others = sum(row is not comparison.reference for row in comparison.rows)
    if number >= LEAST or others < 1 or comparison.reference is None:
        return ""
    needed = conversations_needed(others)
    takes = f"; for {counted(others, 'strategy')} it takes at least {needed}" if needed else ""
    return (
        f"Differences are not tested: with {counted(number, 'conversation')} none can be "
        f"statistically significant{takes}."
    )


def differences(
    comparison: Comparison, colours: Mapping[str, str], among: Collection[str] = ()
) -> Iterator[Block]:
    """Render the differences from the reference; nothing if they are uninformative.

    Differences in secondary metrics are shown for the strategies in ``among``, or for all.
    """
    reference = comparison.reference
    if reference is None or len(comparison.rows) < 2 or few(comparison):
        return
    keys = dict.fromkeys(column.key for column in (*COLUMNS, *MEMORY))
    titles = {"cost_usd": "Cost", comparison.headline: f"Recall from {comparison.lag:,} tokens on"}
    known = [name for name in (*titles, *keys) if name in METRICS and _known(comparison, name)]
    explored = [name for name in known if name not in titles]
    declared = [name for name in titles if name in known]
    estimates = contrasts(comparison, reference, declared)
    rows = [row for row in comparison.rows if row is not reference]

    def table(heads: Iterable[Column], metrics: list[str], write: Write) -> Table:
        return Table(
            (STRATEGY, *heads),
            tuple(
                row_of(row, colours, [c for m in metrics for c in write(estimates[row.spec, m])])
                for row in rows
            ),
        )

    for metric in declared:
        yield Heading(f"{titles[metric]}, compared with {name(reference.label)}", 4)
        bounds = any(estimates[row.spec, metric].low is not None for row in rows)
        yield from _informative(table(_heads(metric, bounds), [metric], _cells))
    yield sentences(_READING, "quiet", bullets=False)
    # Of the other rows, only significant ones: a hundred rows of chance are uninformative.
    some = [row for row in comparison.rows if not among or row.spec in among or row is reference]
    estimates = contrasts(replace(comparison, rows=tuple(some)), reference, explored)
    rows = [row for row in some if row is not reference]
    explored = [m for m in explored if any(estimates[row.spec, m].determined for row in rows)]
    rows = [row for row in rows if any(estimates[row.spec, m].determined for m in explored)]
    if explored:
        heads = (
            _head(METRICS[metric].label, metric, METRICS[metric].better) for metric in explored
        )
        about = sentences([_EXPLORED], "quiet", bullets=False)
        blocks = (about, table(heads, explored, _brief))
        yield Folded("Differences in other figures: exploratory", blocks)
    else:
        yield sentences([_NOTHING_ELSE], "quiet", bullets=False)


def _informative(table: Table) -> Iterator[Block]:
    """A table without columns that are equal in every row, and a sentence with their values."""
    columns = list(zip(*(row.cells for row in table.rows), strict=True))
    texts = [{cell.text for cell in cells if isinstance(cell, Cell)} for cells in columns]
    alike = [n for n, own in enumerate(texts) if n > 1 and len(own) == 1 and len(table.rows) > 1]
    kept = [n for n in range(len(texts)) if n not in alike]
    rows = (replace(row, cells=tuple(row.cells[n] for n in kept)) for row in table.rows)
    yield replace(table, columns=tuple(table.columns[n] for n in kept), rows=tuple(rows))
    same = [f"{table.columns[n].title}: {texts[n].pop()}" for n in alike]
    if same:
        yield sentences([f"The same in every row: {'; '.join(same)}."], "quiet", bullets=False)


def _known(comparison: Comparison, metric: str) -> bool:
    return any(row.figures[metric] is not None for row in comparison.rows)


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
    better, worse = _COST_WORDS if contrast.metric == "cost_usd" else _WORDS
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
    """The smallest detectable difference, in the column's unit or with its own."""
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
    """A difference in a secondary metric: bold and with its p if significant."""
    cell = _difference(contrast)
    if not contrast.determined:
        yield Cell(cell.text, value=cell.value)
        return
    chance = f"p {_probability(contrast.adjusted)}"
    text = f"{cell.text} {cell.aside}; {chance}" if cell.aside else f"{cell.text}; {chance}"
    yield Cell(cell.text, text, cell.value, best=True)


def _writer(contrast: Contrast) -> Callable[[float], str]:
    unit = METRICS[contrast.metric].unit
    if contrast.kind == "ratio":
        return lambda value: _signed(100 * (value - 1), lambda size: f"{size:.0f}%")
    if unit == "share":
        return lambda value: _signed(100 * value, lambda size: f"{size:.1f}")
    return lambda value: _signed(value, lambda size: _amount(size, unit))


def _signed(value: float, write: Callable[[float], str]) -> str:
    """A difference with its sign; without one if it rounds to 0."""
    text = write(abs(value))
    if not any(digit in text for digit in "123456789"):
        return text
    return f"{MINUS if value < 0 else '+'}{text}"


def _probability(value: float | None) -> str:
    if value is None:
        return NONE
    return "<0.001" if value < 0.001 else f"{value:.2g}" if value < 0.1 else f"{value:.2f}"


def _same(contrast: Contrast) -> bool:
    return contrast.estimate == contrast.same and not contrast.wins and not contrast.losses


def _rank(contrast: Contrast) -> int:
    return -1 if contrast.better else int(contrast.worse)
