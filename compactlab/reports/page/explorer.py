"""The explorer: costs at other prices, and with other lifetimes of cache entries.

Prices need no replay: a bill is linear in the tokens of each class, which the store holds.
Lifetimes need none as long as prompts do not change. The store holds the time of each call, what it
read, and what it missed because entries had expired. So a call that read becomes a miss if its gap
exceeds the lifetime, and a call that missed becomes a read if it does not.

That is an approximation. It ignores that an entry may be older than the last request (after a
rewind) or younger (an unlogged request), that a lookup back from a cache breakpoint may end before
it finds a live entry, and that neighbours may keep a part of a prompt warm. Strategies that decide
by prices or lifetimes are excluded. ``examples/validate_explorer.py`` measures the error.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import chain
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compactlab.reports.analysis.aggregate import replays, values_of
from compactlab.reports.analysis.calls import MISSED, Calls, Counts, total
from compactlab.reports.analysis.columns import usd_head
from compactlab.reports.analysis.comparison import Case, Comparison, Row, case_of, label
from compactlab.reports.analysis.scope import title_of
from compactlab.reports.explain.compaction import Piece, View, said_in, view_of
from compactlab.reports.render.document import (
    Block,
    Cell,
    Column,
    Custom,
    Folded,
    Key,
    Table,
    TableRow,
    sentences,
)
from compactlab.reports.render.html import in_script
from compactlab.reports.render.text import clean, dollars, exact, plain
from compactlab.sim.cache.causes import CAUSES
from compactlab.sim.core.errors import ModelError
from compactlab.sim.core.message import Usage
from compactlab.sim.metrics import METRICS
from compactlab.sim.models.model import Catalogue, Model
from compactlab.sim.models.pricing import Charge, prices_of
from compactlab.sim.models.rates import MILLION, Rates
from compactlab.sim.store.parquet import NO_ROWS
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import Run

TITLE = "Cost at other prices, and with another cache lifetime"
CLASSES = ("plain input", "cache read", "cache write", "output")
_COLOURS = ("orange", "sky", "vermillion", "grey")
_DOLLARS = ("cost_input_usd", "cost_read_usd", "cost_write_usd", "cost_output_usd")
_TOKENS = ("tokens_uncached", "tokens_cache_read", "tokens_cache_write", "tokens_output")
_PAID_AS = ("uncached", "cache_write_5m", "cache_write_1h")
_COLUMNS = (("uncached",), ("cache_read",), ("cache_write_5m", "cache_write_1h"), ("output",))
_EXPIRED = "cache_miss_ttl_expired"
# Selectable lifetimes, as multiples of the replayed one. Five minutes become 25 seconds to eight
# hours, an hour becomes five minutes to four days; the last one never ends.
LIFETIMES = (1 / 12, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 24.0, 48.0, 96.0,
             math.inf)  # fmt: skip
AS_REPLAYED = LIFETIMES.index(1.0)
# An expired entry was at least slightly older than its lifetime.
_BEYOND = 1.0 + 1e-9

_ABOUT = "sliders for the price of each class of tokens, and for the lifetime of entries"
_INTRODUCTION = (
    "Prices: the bill is linear in the tokens of each class, so these figures are exact. Requests "
    "for summaries are included; their bill is divided among the classes by their tokens. "
    "Strategies that decide by prices or by the cache lifetime need a replay.",
)
_LIFETIME = (
    "Cache lifetime: an approximation. Calls whose gap since the last request exceeds the lifetime "
    "miss what they read, and calls within it read what had expired. Strategies act when they did "
    "in the replay, and prices stay as they are set. A model file with "
    "`cache = { share = ... }` replays another lifetime (docs/reports.md has the error)."
)

Dollars = NDArray[np.float64]
Models = Mapping[str, Model]


@dataclass(frozen=True)
class Priced:
    """The cost of a strategy by class, and its changes with the lifetime.

    Parameters
    ----------
    bill
        Dollars by class (:data:`CLASSES`), summary calls included.
    tokens
        Tokens by class, likewise.
    shifts
        For each of :data:`LIFETIMES`, dollars by class to add to the bill.
    """

    bill: Dollars
    tokens: Dollars
    shifts: NDArray[np.float64]

    def cost(self, lifetime: int = AS_REPLAYED, prices: Sequence[float] = (1, 1, 1, 1)) -> float:
        """Dollars at a lifetime and at multiples of the prices of the classes."""
        return float((self.bill + self.shifts[lifetime]) @ np.asarray(prices))

    def each(self, conversations: int) -> Priced:
        """The mean over conversations, as people read it."""
        return Priced(*(part / conversations for part in (self.bill, self.tokens, self.shifts)))


def priced(row: Row | Sequence[Run], catalogue: Catalogue) -> Priced | None:
    """Split a strategy's bill by class; None if a figure or a price is missing."""
    groups = replays(row.runs if isinstance(row, Row) else row)
    runs = list(chain.from_iterable(groups))
    bills, tokens = values_of(runs, _DOLLARS), values_of(runs, _TOKENS)
    if np.isnan(bills).any() or np.isnan(tokens).any():
        return None
    calls = Calls(runs)
    sides = np.maximum(
        0.0, np.rint(tokens) - np.stack([calls.totals(*n) for n in _COLUMNS], axis=1)
    )
    # Replays of a conversation are averaged.
    parts = np.array([len(group) for group in groups for _ in group], float)
    try:
        models = _models(calls, catalogue)
        for index in np.flatnonzero(calls.counts):
            if side := runs[index].metrics.get("side_cost_usd"):
                bills[index] += _divided(side, runs[index], sides[index], models)
        shifts = _shifts(calls, sides[:, 3], parts, models)
    except ModelError:
        return None
    return Priced(_added(bills / parts[:, None]), _added(tokens / parts[:, None]), shifts)


def _added(values: Dollars) -> Dollars:
    """The sum over the first axis, in order: the order of additions affects the last digit."""
    return np.cumsum(values, axis=0)[-1] if len(values) else np.zeros(values.shape[1:])


def _divided(side: float, run: Run, tokens: Dollars, models: Models) -> Dollars:
    """Dollars of summary calls by class, in proportion to their tokens at list prices."""
    uncached, read, wrote, output = map(int, tokens)
    hour = total(run, "cache_write_1h") > total(run, "cache_write_5m")
    usage = Usage(uncached, read, 0 if hour else wrote, wrote if hour else 0, output)
    rates = prices_of(models[run.calls["model"][-1]]).rates(run.calls["time"][-1], 0)
    listed = np.array(rates.bill(usage))
    if not listed.sum():
        listed = np.array([1.0, 0.0, 0.0, 0.0])
    divided: Dollars = side * listed / listed.sum()
    return divided


def _models(calls: Calls, catalogue: Catalogue) -> Models:
    return {name: catalogue.find(name) for name in set(calls.array("model").tolist())}


def _shifts(calls: Calls, answers: Dollars, parts: Dollars, models: Models) -> Dollars:
    """For each lifetime, the change of the dollars by class because calls then miss or read.

    ``answers`` are output tokens of summary calls by run, and ``parts`` the numbers of replays
    of each run's conversation, for the mean.
    """
    ages, expired, read = _ages(calls, models), calls.array(_EXPIRED), _at_risk(calls, answers)
    moving = np.flatnonzero((expired > 0) | ((ages > LIFETIMES[0]) & (read > 0)))
    if not len(moving):
        return np.zeros((len(LIFETIMES), 4))
    gone, moved = expired[moving] > 0, np.where(expired > 0, expired, read)[moving]
    ages = np.where(gone, np.maximum(ages[moving], _BEYOND), np.minimum(ages[moving], 1.0))
    about = (calls.array(name)[moving].tolist() for name in ("model", "time"))
    sheets = {name: prices_of(model) for name, model in models.items()}
    charges = [
        sheets[name].rates(time, prompt)
        for name, time, prompt in zip(*about, calls.sizes[moving].tolist(), strict=True)
    ]
    five, hour = (calls.array(name)[moving] for name in _COLUMNS[2])
    more = _dearer(charges, moved, np.where(five >= hour, five > 0, 2))
    within = ages[:, None] <= LIFETIMES
    changes = np.where(gone[:, None], -1.0 * within, ~within)
    shifts = np.zeros((len(LIFETIMES), 4))
    for lifetime, change in enumerate(changes.T):
        of_runs = np.zeros((len(parts), 4))
        np.add.at(of_runs, calls.runs[moving], more * change[:, None])
        shifts[lifetime] = _added(of_runs / parts[:, None])
    return shifts


def _dearer(charges: Sequence[Charge], tokens: Counts, classes: Counts) -> Dollars:
    """Additional dollars by class if calls miss tokens instead of reading them.

    Calls that write to the cache pay for misses as writes, other calls as uncached input.
    """
    more = np.empty((len(charges), 4))
    kinds: dict[tuple[int, int], list[int]] = {}
    for index, kind in enumerate(zip(map(id, charges), classes.tolist(), strict=True)):
        kinds.setdefault(kind, []).append(index)
    for (_, paid), places in kinds.items():
        charge, name = charges[places[0]], _PAID_AS[paid]
        # Rates are linear, so one token gives the price of all.
        linear = isinstance(charge, Rates)
        counts = [1] if linear else tokens[places].tolist()
        missed, read = (
            np.array([tuple(charge.bill(Usage(**{what: count}))) for count in counts])
            for what in (name, "cache_read")
        )
        times = tokens[places][:, None] if linear else 1
        more[places] = missed * times - read * times
    return more


def _ages(calls: Calls, models: Models) -> Dollars:
    """The gap of each call since the last one of its model, as a share of the lifetime."""
    names, model = np.unique(calls.array("model"), return_inverse=True)
    order = np.lexsort((model, calls.runs))  # calls of a run to one model follow each other
    run, model, time = calls.runs[order], model[order], calls.array("time")[order]
    five, hour = (calls.array(name)[order] > 0 for name in _COLUMNS[2])
    first = np.ones(len(order), bool)
    first[1:] = (run[1:] != run[:-1]) | (model[1:] != model[:-1])
    # The last write decides the lifetime of an entry.
    places = np.arange(len(order))
    wrote = np.maximum.accumulate(np.where(five | hour, places, -1))
    begins = np.maximum.accumulate(np.where(first, places, 0))
    before, last = places - 1, np.roll(wrote, 1)
    ttl = np.where(last >= begins, np.where(hour[last], 2, 1), 0)
    lives = np.array([
        [_lifetime(models[name], ttl) or math.inf for ttl in ("", "5m", "1h")] for name in names
    ]).reshape(-1, 3)  # fmt: skip
    ages = np.zeros(len(order))
    ages[order] = np.where(first, 0.0, (time - time[before]) / lives[model, ttl])
    return ages


def _lifetime(model: Model, ttl: str) -> float:
    """The lifetime of an entry in seconds; infinite if entries never expire."""
    return model.policy.lifetime(ttl) if model.policy else math.inf


def _at_risk(calls: Calls, answers: Dollars) -> NDArray[np.int64]:
    """Tokens read by each call or by the summary calls before it: the larger of the two.

    Summary calls read their prompts and answers less what they missed. The store holds only the sum
    of their answers by run.
    """
    missed = calls.sum(f"cache_miss_{cause}" for cause in CAUSES) - calls.sum(MISSED)
    asked = calls.array("side_calls")
    each = answers / np.maximum(1, calls.of_runs(asked))
    side = calls.array("side_tokens") - missed - asked * each[calls.runs]
    read: NDArray[np.int64] = np.maximum(calls.array("cache_read"), side).astype(np.int64)
    return read


# The visible part: the replayed bill, and controls above it if the page's script runs.


@dataclass(frozen=True)
class Explorer:
    """The bill of each strategy as a table, and the data for the page's script."""

    name: str  # prefix of the ids of its parts
    still: tuple[Block, ...]  # shown without a script
    text: str  # JSON that is safe in a script element


def explorer(
    comparison: Comparison, colours: Mapping[str, str], catalogue: Catalogue, name: str
) -> Iterator[Block]:
    """The bill by class, at selectable prices and lifetimes; nothing if it is unknown."""
    bills = [(row, priced(row, catalogue)) for row in comparison.rows]
    number = comparison.conversations
    known = [
        (row, each.each(number)) for row, each in bills if each is not None and each.bill.sum() > 0
    ]
    if len(known) < len(bills) or not known:
        return
    shown = [index for index in range(4) if any(each.bill[index] for _, each in known)]
    lives = sorted({life for row in comparison.rows for life in _lifetimes(row, catalogue)})
    data = {
        "classes": [[CLASSES[index], _COLOURS[index], _mean(known, index)] for index in shown],
        "lifetimes": [None if math.isinf(life) else life for life in LIFETIMES] if lives else [],
        "replayed": AS_REPLAYED,
        "seconds": lives,
        "head": usd_head(comparison),
        "each": " a conversation" if number > 1 else "",
        "strategies": [_written(row, each, colours, shown) for row, each in known],
    }
    # If entries never expire, there is no lifetime to select.
    text = [*_INTRODUCTION, *([_LIFETIME] if lives else [])]
    view = Explorer(name, (_table(comparison, known, colours, shown),), in_script(data))
    explained = sentences(text, "quiet", bullets=False)
    yield Folded(TITLE, (explained, Custom("explorer.html.j2", view)), f"{name}-explorer", _ABOUT)


def _lifetimes(row: Row, catalogue: Catalogue) -> set[float]:
    """The lifetimes, in seconds, of the entries that a strategy's calls wrote."""
    calls = Calls(row.runs)
    models, hours = _models(calls, catalogue), calls.array("cache_write_1h") > 0
    fives = (calls.totals("cache_write_5m") > 0)[calls.runs]
    kinds = zip(calls.array("model").tolist(), hours.tolist(), fives.tolist(), strict=True)
    lives = {
        _lifetime(models[model], "1h" if hour else "5m" if five else "")
        for model, hour, five in set(kinds)
    }
    return {life for life in lives if life and math.isfinite(life)}


def _mean(known: Sequence[tuple[Row, Priced]], place: int) -> float | None:
    """Dollars per million tokens of a class, the mean over all calls; None without tokens."""
    tokens = sum(each.tokens[place] for _, each in known)
    return float(sum(each.bill[place] for _, each in known) / tokens * MILLION) if tokens else None


def _written(row: Row, each: Priced, colours: Mapping[str, str], shown: Sequence[int]) -> list[Any]:
    """A strategy as JSON: name, colour, whether it is a choice, its bill, and its shifts."""
    shifts = [[_short(line[index]) for index in shown] for line in each.shifts]
    bill = [_short(each.bill[index]) for index in shown]
    return [clean(row.label), colours[row.spec], int(row.choice), bill, shifts, int(row.by_price)]


def _short(value: float) -> float:
    """As precise as a reader can see."""
    return float(f"{value:.6g}") or 0


def _table(
    comparison: Comparison,
    known: Sequence[tuple[Row, Priced]],
    colours: Mapping[str, str],
    shown: Sequence[int],
) -> Table:
    """The replayed bill, the cheapest first."""
    head = usd_head(comparison)
    titles = {"cost_usd": head, **{_DOLLARS[index]: CLASSES[index] for index in shown}}
    keyed = (Column(title, key=key, meaning=METRICS[key].meaning) for key, title in titles.items())
    heads = (Column("strategy"), *keyed)
    rows = []
    for row, each in known:
        values = [each.cost(), *(float(each.bill[index]) for index in shown)]
        cells = [Cell(dollars(value), exact(value), plain(value)) for value in values]
        key = Key(colours[row.spec], meaning=clean(row.spec))
        rows.append(TableRow((Cell(row.label), *cells), "" if row.choice else "quiet", key))
    return Table(heads, tuple(rows), ordered="cost_usd")


# Characters of all views of a page: it shall stay under 1 MB.
BUDGET = 200_000
# Characters of markup around a message, and around a view.
_AROUND, _OWN_SIZE = 220, 800


@dataclass(frozen=True)
class Compaction:
    """The view of a compaction, and its run."""

    conversation: str
    strategy: str  # the strategy's label
    spec: str
    compactions: int  # how many the run has; 0 if unknown
    inferred: bool  # whether its facts are inferred from actions instead of declared
    view: View


@dataclass(frozen=True)
class Compactions:
    """The compactions of a page: of the first conversation, then others by facts missed."""

    title: str = ""  # of the first conversation
    own: tuple[Compaction, ...] = ()
    others: tuple[Compaction, ...] = ()
    idle: tuple[str, ...] = ()  # labels of strategies that never compacted the first conversation
    left_out: int = 0  # runs whose compaction did not fit
    name: str = "part-1"  # prefix of the ids of its parts

    @property
    def shown(self) -> tuple[Compaction, ...]:
        return self.own + self.others


def views(
    results: Results,
    runs: Iterable[Run],
    first: Case | None = None,
    budget: int = BUDGET,
    titles: Mapping[Case, str] = MappingProxyType({}),
) -> Compactions:
    """Choose the compactions of a page; ``titles`` may replace the conversations' own."""
    done = [run for run in runs if run.status == "ok"]
    if not done:
        return Compactions()
    first = first or case_of(done[0])
    held = [run for run in done if len(run.rows.get("views", NO_ROWS))]
    own = [run for run in held if case_of(run) == first]
    others = sorted((run for run in held if case_of(run) != first), key=_missed_most)
    shown: list[Compaction] = []
    for run in [*own, *others]:
        each = _compaction(results, run, titles.get(case_of(run)) or title_of(run))
        budget -= size_of(each.view)
        if shown and budget < 0:
            break
        shown.append(each)
    acted = {run.strategy for run in own}
    idle = (run for run in done if case_of(run) == first and run.strategy not in acted)
    return Compactions(
        titles.get(first) or title_of(next(run for run in done if case_of(run) == first)),
        tuple(shown[: len(own)]),
        tuple(shown[len(own) :]),
        tuple(label(results, run.strategy) for run in idle) if held else (),
        len(held) - len(shown),
    )


def _missed_most(run: Run) -> tuple[int, int, int, Case, str]:
    rows = run.rows["views"]
    missed, lost, was, left = (
        int(rows.array(name).sum())
        for name in ("facts_missed", "facts_lost", "tokens_before", "tokens_after")
    )
    return -missed, -lost, left - was, case_of(run), run.strategy


def _compaction(results: Results, run: Run, title: str) -> Compaction:
    view = view_of(run.rows["views"], said_in(run))
    assert view is not None
    return Compaction(
        title,
        label(results, run.strategy),
        clean(run.strategy),
        len(run.rows.get("compactions", NO_ROWS)),
        run.labels == "inferred",
        view,
    )


def size_of(view: View) -> int:
    """The approximate size of a view in characters of HTML."""
    return _OWN_SIZE + sum(_AROUND + sum(map(len, _texts(piece))) for piece in _pieces(view))


def _pieces(view: View) -> Iterator[Piece]:
    for pair in view.pairs:
        yield from pair.left + pair.right


def _texts(piece: Piece) -> Sequence[str]:
    facts = (fact.statement + fact.told for fact in piece.facts)
    return [escape(text) for text in (piece.title, piece.text, *facts)]
