"""The data that the page's script draws from: many conversations in little room.

A block is JSON::

    strategies      [{label, colour, chief}, ...], chief for those that are drawn at first
    heads           [[title, key, better], ...] of the table of figures
    conversations   [{title, told, windows: [[from call, tokens], ...], runs: [run, ...]}, ...]

A run is a list: the strategy's number, its marks, whether it is no choice (1 or 0), its
compactions, its calls, how many calls share a place; then three series, of prompt tokens, of
fresh tokens and of dollars so far, each as its scale and its text; which places hold a compaction
and which a call over the window; and then its cells, ``[text, value]`` or ``[text, value, 1]``,
the last of these for the best of a column.

A series has at most :data:`BINS` places. A place shows the largest of its calls; of dollars, the
last. It is written in two digits to the base of 64, as a share of the scale in 4,095ths, so that
counts below that are exact. What is true or false has six places a digit, the first one lowest.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compactlab.reports.analysis.aggregate import bills, binned, column, fresh, sizes
from compactlab.reports.analysis.comparison import label
from compactlab.reports.page.conversations import HEADS, Conversation, lines_of
from compactlab.reports.page.grid import Line
from compactlab.sim.experiment.results import Results
from compactlab.sim.experiment.run import Run

BINS = 80
# Characters of all blocks of a page together: it shall stay under 5 MB with its charts.
BUDGET = 2_500_000

_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_MOST = 4_095
_PAIRS = np.array([a + b for a in _DIGITS for b in _DIGITS], dtype="S2")
# What could end the script element, begin another, or is a line break in JavaScript alone.
_ESCAPED = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


@dataclass(frozen=True)
class Block:
    """Data of a comparison.

    Parameters
    ----------
    text
        JSON that can stand in a script element.
    shown, left_out
        How many conversations are in it, and how many had no room.
    """

    text: str
    shown: int
    left_out: int


def block(
    results: Results,
    listing: Sequence[Conversation],
    colours: Mapping[str, str],
    chief: Collection[str],
    budget: int = BUDGET,
) -> Block:
    """Write down the conversations of a comparison, in their order, as far as there is room."""
    specs = _specs(listing)
    texts: list[str] = []
    for each in listing:
        text = written(_conversation(results, each, colours, specs))
        budget -= len(text)
        if texts and budget < 0:
            break
        texts.append(text)
    strategies = [
        {"label": label(results, spec), "colour": colours[spec], "chief": spec in chief}
        for spec in specs
    ]
    heads = [[head.title, head.key, head.better] for head in HEADS]
    head = f'{{"strategies":{written(strategies)},"heads":{written(heads)},"conversations":['
    return Block(f"{head}{','.join(texts)}]}}", len(texts), len(listing) - len(texts))


def _specs(listing: Sequence[Conversation]) -> dict[str, int]:
    """A number for every strategy: as the comparison has them, then those that it leaves out."""
    compared = [row.spec for row in listing[0].comparison.rows]
    run = [run.strategy for each in listing for run in each.runs]
    return {spec: number for number, spec in enumerate(dict.fromkeys([*compared, *run]))}


def _conversation(
    results: Results, each: Conversation, colours: Mapping[str, str], specs: Mapping[str, int]
) -> dict[str, Any]:
    runs = [
        [specs[run.strategy], line.marks, int(line.quiet), *_run(run), *_cells(line)]
        for run, line in lines_of(results, each, colours)
    ]
    return {"title": each.title, "told": each.told, "windows": each.windows, "runs": runs}


def _run(run: Run) -> list[Any]:
    drawn: list[list[Any]] = [sizes(run), fresh(run), bills(run)]
    hits = [column(run, name) for name in ("compaction", "overflow")]
    return [
        sum(map(bool, hits[0])),
        len(run.calls),
        -(-len(run.calls) // BINS) or 1,
        *(part for values in drawn for part in series(binned(values, BINS))),
        *(flags(binned(each, BINS)) for each in hits),
    ]


def _cells(line: Line) -> list[list[Any]]:
    """Text and value of each cell, and 1 behind those of the best."""
    return [
        [cell.text, None if cell.value is None else _short(cell.value), *([1] if cell.best else [])]
        for cell in line.cells
    ]


def _short(value: float) -> float:
    """A value as exact as sorting needs it."""
    return int(value) if float(value).is_integer() else float(f"{value:.7g}")


def written(data: Any) -> str:
    r"""Write JSON that an HTML parser takes for nothing else.

    Examples
    --------
    >>> written(["</script>", "\u2028"])
    '["\\u003c/script\\u003e","\\u2028"]'
    """
    return json.dumps(data, separators=(",", ":"), allow_nan=False).translate(_ESCAPED)


def series(values: Sequence[float]) -> tuple[float, str]:
    """A scale, and the values as shares of it.

    Examples
    --------
    >>> series([0, 1, 4095])
    (4095, 'AAAB__')
    """
    most = max(values, default=0)
    whole = all(float(value).is_integer() for value in values)
    scale = max(most, _MOST) if whole else float(f"{most:.7g}")
    if not scale:
        return 0, "AA" * len(values)
    levels = np.floor(np.asarray(values, np.float64) / scale * _MOST + 0.5).astype(np.int64)
    return scale, _PAIRS[np.clip(levels, 0, _MOST)].tobytes().decode()


def flags(hits: Sequence[Any]) -> str:
    """True and false, six a digit; "" if all are false.

    Examples
    --------
    >>> flags([True, False, False, False, False, False, True]), flags([False])
    ('BB', '')
    """
    if not any(hits):
        return ""
    sixes = (hits[at : at + 6] for at in range(0, len(hits), 6))
    return "".join(_DIGITS[sum(bool(hit) << n for n, hit in enumerate(six))] for six in sixes)
