"""The conversations of a comparison, which the reader can select, and their data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from compactlab.reports.analysis.calls import bills, binned, cache_misses, column, models, sizes
from compactlab.reports.analysis.columns import COLUMNS
from compactlab.reports.analysis.comparison import (
    Case,
    Comparison,
    case_of,
    compare,
    kind_of,
    label,
)
from compactlab.reports.analysis.scope import named_by_id, title_of, window_of_models, windows_of
from compactlab.reports.page.figures import STRATEGY, best_of, cells_of, head_of, row_of
from compactlab.reports.render.document import Block, Cell, Key, Table, TableRow
from compactlab.reports.render.html import in_script
from compactlab.reports.render.text import NONE, clean, counted, listed, show
from compactlab.sim.core.errors import UsageError, unknown
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import Run

# A single conversation may have another reference.
_COLUMNS = tuple(column for column in COLUMNS if column.key != "of_reference")
_HEADS = tuple(map(head_of, _COLUMNS))

# Up to this many ids are suggested if the requested one does not exist.
_NAMED = 20


@dataclass(frozen=True)
class Conversation:
    """One conversation, in one replay, under all strategies."""

    comparison: Comparison
    case: Case
    runs: tuple[Run, ...]  # one per strategy, including failed ones

    @cached_property
    def peak(self) -> float:
        """Tokens of the largest prompt of all its runs."""
        return max((run.metrics.get("prompt_tokens_peak") or 0 for run in self.runs), default=0)

    alike: bool = False  # whether another conversation has the same title

    @property
    def title(self) -> str:
        """Its first prompt, with its id if that is ambiguous."""
        run = self.runs[0]
        return f"{title_of(run)} · {named_by_id(run)}" if self.alike else title_of(run)

    @property
    def about(self) -> str:
        """Its length, and the conditions of its replay."""
        longest = self._longest
        used = list(models([longest])) or [self.comparison.model]
        names = listed([clean(name) for name in used])
        peak = show(self.peak, "tokens")
        size = f"{counted(len(longest.calls), 'call')}, prompts of at most {peak} tokens"
        text = f"{size}; {names}; {window_of_models(used, self.comparison)}"
        own = named_by_id(longest)
        return text if own in self.title else f"{own}; {text}"

    @property
    def windows(self) -> list[tuple[int, int]]:
        """Its windows: first call and tokens of each; 0 tokens if unknown."""
        return windows_of(self._longest, self.comparison.catalogue)

    @property
    def _longest(self) -> Run:
        return max(self.runs, key=lambda run: len(run.calls))


def conversations(
    results: Results, comparison: Comparison, wanted: str | None = None
) -> list[Conversation]:
    """The conversations with a successful run: the requested one first, then by size."""
    by_case: dict[Case, list[Run]] = {}
    for run in results.runs:
        if run.status != "unreadable" and kind_of(run) == comparison.kind:
            by_case.setdefault(case_of(run), []).append(run)
    listing = [
        Conversation(comparison, case, tuple(runs))
        for case, runs in by_case.items()
        if any(run.status == "ok" for run in runs)
    ]
    times = Counter(each.title for each in listing)
    listing = [replace(each, alike=times[each.title] > 1) for each in listing]
    return sorted(listing, key=lambda each: (each.case[1] != wanted, -each.peak, each.case))


def figures_of(
    results: Results, each: Conversation, colours: Mapping[str, str]
) -> list[tuple[Run, TableRow]]:
    """The runs of a conversation with their figures: the cheapest first, failed ones last."""
    rows = {row.spec: row for row in _compared(results, each).rows}
    best = best_of(_COLUMNS, list(rows.values()))
    pairs = []
    for run in sorted(each.runs, key=_by_cost):
        row = rows.get(run.strategy) if run.status == "ok" else None
        if row is None:
            name = Cell(label(results, run.strategy), aside="failed")
            key = Key(colours[run.strategy], meaning=clean(run.strategy))
            line = TableRow((name, *[Cell(NONE)] * len(_COLUMNS)), "quiet", key)
        else:
            line = row_of(row, colours, cells_of(_COLUMNS, row, best))
        pairs.append((run, line))
    return pairs


def _compared(results: Results, each: Conversation) -> Comparison:
    """A comparison of the conversation's runs, at the distance of all results."""
    return compare(results, each.comparison.kind, each.runs, each.comparison.lag)


def table_of(
    results: Results, each: Conversation, colours: Mapping[str, str], chief: Collection[str]
) -> Table:
    """The figures of a conversation under the strategies that are drawn initially."""
    runs = figures_of(results, each, colours)
    rows = tuple(row for run, row in runs if run.strategy in chief)
    return Table((STRATEGY, *_HEADS), rows, ordered="cost_usd")


def _by_cost(run: Run) -> tuple[bool, float, str]:
    return run.status != "ok", run.metrics.get("cost_usd") or 0.0, run.strategy


def must_be_there(results: Results, wanted: str | None) -> None:
    """Refuse the id of a conversation that was not replayed."""
    names = list(dict.fromkeys(run.conversation for run in results.runs if run.status == "ok"))
    if wanted is None or wanted in names:
        return
    if any(run.conversation == wanted for run in results.runs):
        raise UsageError(f"no run of the conversation {clean(wanted)!r} went well")
    like = [name for name in names if wanted in name] or names
    raise UsageError(unknown("conversation", clean(wanted), map(clean, like[:_NAMED])))


# The data that the page's script draws from: many conversations in little space.

BINS = 48
# Characters of all blocks of a page: with its charts it shall stay under 1 MB.
BUDGET = 220_000

_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_MOST = 4_095
_PAIRS = np.array([a + b for a in _DIGITS for b in _DIGITS], dtype="S2")


@dataclass(frozen=True)
class Pane:
    """The visible blocks of one conversation, and the data of all that can be selected."""

    name: str  # prefix of the ids of its parts
    title: str
    about: str
    blocks: tuple[Block, ...]  # shown without a script
    text: str  # JSON that is safe in a script element
    shown: int  # conversations in it
    left_out: int  # conversations that did not fit


def pane(
    results: Results,
    listing: Sequence[Conversation],
    colours: Mapping[str, str],
    chief: Collection[str],
    budget: int = BUDGET,
    *,
    name: str = "",
    blocks: Sequence[Block] = (),
) -> Pane:
    """Serialise the conversations of a comparison, in order, until the budget is used up."""
    specs = _specs(listing)
    # Of a single conversation, the table of all strategies has the same figures.
    alone = len(listing) == 1
    texts: list[str] = []
    for each in listing:
        text = in_script(_conversation(results, each, colours, specs, alone=alone))
        budget -= len(text)
        if texts and budget < 0:
            break
        texts.append(text)
    strategies = [
        {"label": label(results, spec), "colour": colours[spec], "chief": spec in chief}
        for spec in specs
    ]
    heads = [] if alone else [[h.title, h.key, h.better, h.meaning] for h in _HEADS]
    head = f'{{"strategies":{in_script(strategies)},"heads":{in_script(heads)},"conversations":['
    text = f"{head}{','.join(texts)}]}}"
    left_out = len(listing) - len(texts)
    first = listing[0]
    return Pane(name, first.title, first.about, tuple(blocks), text, len(texts), left_out)


def _specs(listing: Sequence[Conversation]) -> dict[str, int]:
    """The number of each strategy: first those of the comparison, then those that it leaves out."""
    compared = [row.spec for row in listing[0].comparison.rows]
    run = [run.strategy for each in listing for run in each.runs]
    return {spec: number for number, spec in enumerate(dict.fromkeys([*compared, *run]))}


def _conversation(
    results: Results,
    each: Conversation,
    colours: Mapping[str, str],
    specs: Mapping[str, int],
    *,
    alone: bool,
) -> dict[str, Any]:
    runs = [
        [specs[run.strategy], *_look(row), *_run(run),
         *map(_written_cell, () if alone else row.cells[1:])]
        for run, row in figures_of(results, each, colours)
    ]  # fmt: skip
    return {"title": each.title, "about": each.about, "windows": each.windows, "runs": runs}


def _run(run: Run) -> list[Any]:
    drawn: list[list[Any]] = [sizes(run), cache_misses(run), bills(run)]
    hits = [column(run, name) for name in ("compaction", "overflow")]
    return [
        sum(map(bool, hits[0])),
        len(run.calls),
        -(-len(run.calls) // BINS) or 1,
        *(part for values in drawn for part in series(binned(values, BINS))),
        *(flags(binned(each, BINS)) for each in hits),
    ]


def _look(row: TableRow) -> tuple[str, int]:
    """The marks of a strategy, and whether its row is muted."""
    name = row.cells[0]
    return name.aside if isinstance(name, Cell) else "", int(row.tone == "quiet")


def _written_cell(cell: Cell | str) -> list[Any]:
    """Text and value of a cell, followed by 1 if it is the best."""
    if isinstance(cell, str):
        return [cell, None]
    value = None if cell.value is None else _short(cell.value)
    return [cell.text, value, *([1] if cell.best else [])]


def _short(value: float) -> float:
    """A value as precise as sorting needs."""
    return int(value) if float(value).is_integer() else float(f"{value:.4g}")


def series(values: Sequence[float]) -> tuple[float, str]:
    """The maximum, and the values as encoded shares of it.

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
    """Booleans, six per character; "" if all are false.

    Examples
    --------
    >>> flags([True, False, False, False, False, False, True]), flags([False])
    ('BB', '')
    """
    if not any(hits):
        return ""
    sixes = (hits[at : at + 6] for at in range(0, len(hits), 6))
    return "".join(_DIGITS[sum(bool(hit) << n for n, hit in enumerate(six))] for six in sixes)
