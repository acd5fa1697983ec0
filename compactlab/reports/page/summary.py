"""The results in ten columns: a frame for Python, a table for notebooks, and LaTeX."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from compactlab.reports.analysis.advice import Advice
from compactlab.reports.analysis.comparison import Comparison, Row, comparisons, refused
from compactlab.reports.analysis.scope import scope, told_apart
from compactlab.reports.render.text import MINUS, NONE, capitalised, clean
from compactlab.sim.store.results import Results

if TYPE_CHECKING:
    import pandas as pd

# Columns with their units and, for tables, their heads and digits.
COLUMNS = {
    "strategy": ("the short name", "strategy", ""),
    "cost_usd": ("USD for a conversation, mean over conversations", "cost, USD", ".2f"),
    "cost_change_percent": ("difference from the reference", "change, %", "+.1f"),
    "cost_change_low": ("lower end of its 95 % interval, percent", "from", "+.1f"),
    "cost_change_high": ("upper end of its 95 % interval, percent", "to", "+.1f"),
    "recall_percent": ("share of needed facts that the prompt holds", "recall, %", ".1f"),
    "distance_tokens": ("recall of facts last stated so long ago or earlier", "distance", ",.0f"),
    "recall_change_points": ("difference from the reference", "change, points", "+.1f"),
    "unusable_calls_percent": (
        "calls that exceed the window, or that the API would reject; the larger share",
        "unusable calls, %",
        ".1f",
    ),
    "compactions": ("for a conversation, mean over conversations", "compactions", ".1f"),
}
_MANY = 100


def frame(results: Results, *, bounds: bool = False) -> pd.DataFrame:
    """One row per strategy in the columns of :data:`COLUMNS`; see ``Results.summary``."""
    import pandas as pd

    compared = comparisons(results)
    held = [list(_rows(each, bounds=bounds)) for each in compared]
    rows = [row for own in held for row in own]
    index = None
    if len(compared) > 1:
        names = [told_apart(each, compared) for each in compared]
        labels = [name for name, own in zip(names, held, strict=True) for _ in own]
        index = pd.Index(labels, name="comparison")
    made = pd.DataFrame(rows, columns=[*COLUMNS], index=index)
    kinds = {name: "float64" for name, (*_, digits) in COLUMNS.items() if digits}
    made = made.astype({**kinds, "distance_tokens": "int64"})
    made.attrs["reference"] = [each.reference.label if each.reference else "" for each in compared]
    made.attrs["scope"] = [capitalised(scope(each)) for each in compared]
    return made


def _rows(comparison: Comparison, *, bounds: bool) -> Iterator[list[Any]]:
    """The cells of each strategy, the cheapest first."""
    advice = Advice(comparison)
    whole = comparison.row("keep_all")
    torn = refused(whole.figures) if whole else 0.0
    for row in (*comparison.rows, *(comparison.bounds if bounds else ())):
        recall = math.nan if row.recall is None else 100 * row.recall
        rejected = 0.0 if row.as_recorded else max(0.0, refused(row.figures) - torn)
        unusable = max(row.value("over_window"), rejected)
        yield [
            row.label,
            row.mean(),
            *_cost(advice, row),
            recall,
            comparison.lag,
            _recall(advice, row),
            100 * unusable,
            row.mean("compactions"),
        ]


def _cost(advice: Advice, row: Row) -> list[float]:
    """The difference in cost from the reference in percent, and the ends of its interval."""
    if row is advice.reference:
        return [0.0, math.nan, math.nan]
    cost = advice.cost(row)
    if cost is None or cost.kind != "ratio":
        return [math.nan] * 3
    ends = (cost.estimate, cost.low, cost.high)
    return [math.nan if end is None else 100 * (end - 1) for end in ends]


def _recall(advice: Advice, row: Row) -> float:
    """The difference in recall from the reference in points."""
    if row is advice.reference:
        return 0.0
    recalled = advice.recalled(row)
    estimate = recalled.estimate if recalled else None
    return math.nan if estimate is None else 100 * estimate


def _cells(made: pd.DataFrame) -> list[list[str]]:
    """The texts of its rows."""
    digits = [digits for *_, digits in COLUMNS.values()]
    return [
        [_text(value, each) for value, each in zip(row, digits, strict=True)]
        for row in made.itertuples(index=False)
    ]


def _text(value: Any, digits: str) -> str:
    if not digits:
        return str(value)
    return NONE if math.isnan(value) else f"{value:{digits}}".replace("-", MINUS)


# In a notebook.


def as_html(results: Results) -> str:
    """A table for a notebook; external text is escaped, and of many rows the first are shown."""
    made = frame(results)
    heads = "".join(f"<th>{html.escape(head)}</th>" for _, head, _ in COLUMNS.values())
    lines = [
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>"
        for cells in _cells(made.head(_MANY))
    ]
    about = [
        f"{each}{f'; reference {name}' if name else ''}"
        for each, name in zip(made.attrs["scope"], made.attrs["reference"], strict=True)
    ]
    if len(made) > _MANY:
        about.append(f"{len(made) - _MANY:,} more rows are in results.summary()")
    remarks = "".join(f"<p>{html.escape(clean(each))}</p>" for each in about)
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    return f"<div>{table}{remarks}</div>"


# In a paper.

_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}",
    "…": r"\ldots{}", "\N{EN DASH}": "--", MINUS: "$-$", "≥": r"$\geq$",
}  # fmt: skip
_IN_LATEX = re.compile("|".join(map(re.escape, _SPECIAL)))


def escaped(text: str) -> str:
    r"""A text in LaTeX.

    Examples
    --------
    >>> escaped("a_b & 50%")
    'a\\_b \\& 50\\%'
    """
    return _IN_LATEX.sub(lambda found: _SPECIAL[found[0]], clean(text))


def as_latex(results: Results) -> str:
    """A table for the package booktabs, one part for each comparison."""
    made = frame(results)
    lag = int(made["distance_tokens"].iloc[0]) // 1000 if len(made) else 0
    heads = [
        "Strategy", "Cost, USD", r"Change, \% [95\,\% CI]", rf"Recall $\geq${lag}k, \%",
        "Change, points", r"Unusable calls, \%", "Compactions",
    ]  # fmt: skip
    lines = [
        r"% needs \usepackage{booktabs}; cost and compactions of a conversation",
        rf"\begin{{tabular}}{{l{'r' * (len(heads) - 1)}}}",
        r"\toprule",
        f"{' & '.join(heads)} \\\\",
    ]
    parts = list(made.groupby(level=0, sort=False)) if made.index.name else [("", made)]
    for (title, part), reference in zip(parts, made.attrs["reference"], strict=False):
        lines.append(r"\midrule")
        if title:
            lines.append(rf"\multicolumn{{{len(heads)}}}{{l}}{{\emph{{{escaped(str(title))}}}}} \\")
        lines += [f"{' & '.join(_line(cells, reference))} \\\\" for cells in _cells(part)]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _line(cells: Sequence[str], reference: str) -> list[str]:
    """The cells of a row in LaTeX; the reference has no differences."""
    texts = ["" if cell == NONE else escaped(cell) for cell in cells]
    strategy, cost, change, low, high, recall, _, points, unusable, compactions = texts
    if cells[0] == reference:
        return [strategy, cost, "reference", recall, "", unusable, compactions]
    interval = f" [{low}, {high}]" if low and high else ""
    return [strategy, cost, f"{change}{interval}", recall, points, unusable, compactions]
