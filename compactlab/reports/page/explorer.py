"""The explorer: what strategies cost at other prices, and with entries that live longer or shorter.

Prices need no replay: a bill is linear in the tokens of each class, and the store has these. The
lifetime needs none as far as the prompts stay what they are. Of each call the store has the time,
what it read, and what it missed because entries had expired. So a call that read is one that
misses if its gap exceeds the lifetime, and a call that missed is one that reads if it does not.

That is an approximation. It leaves out that an entry may be older than the last request (a rewind)
or younger (a request that is not in the log), that a walk back from a mark may end before it finds
what still lives, and that neighbours may keep a part of a prompt warm. Strategies that decide by
prices or lifetimes are not computed at all. ``examples/validate_explorer.py`` measures the error.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compactlab.reports.analysis.aggregate import replays, sizes, total
from compactlab.reports.analysis.comparison import Comparison, Row
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
from compactlab.sim.experiment.run import Run
from compactlab.sim.models.model import Catalogue, Model
from compactlab.sim.models.pricing import prices_of
from compactlab.sim.models.rates import MILLION, Bill

TITLE = "Cost at other prices, and with another cache lifetime"
CLASSES = ("plain input", "cache read", "cache write", "output")
_COLOURS = ("orange", "sky", "vermillion", "grey")
_DOLLARS = ("cost_input_usd", "cost_read_usd", "cost_write_usd", "cost_output_usd")
_TOKENS = ("tokens_uncached", "tokens_cache_read", "tokens_cache_write", "tokens_output")
_COLUMNS = (("uncached",), ("cache_read",), ("cache_write_5m", "cache_write_1h"), ("output",))
# Who decides by prices and lifetimes would decide otherwise, so only a replay can tell.
BY_PRICE = frozenset({"exec", "idle_compaction"})
_EXPIRED = "cache_miss_ttl_expired"
# Lifetimes that can be chosen, as shares of the replayed one. Five minutes become 25 seconds to
# eight hours, an hour becomes five minutes to four days; the last one never ends.
LIFETIMES = (1 / 12, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 24.0, 48.0, 96.0,
             math.inf)  # fmt: skip
AS_REPLAYED = LIFETIMES.index(1.0)
# An entry that had expired had outlived its lifetime, if by ever so little.
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
    """What a strategy costs by class, and how that changes with the lifetime.

    Parameters
    ----------
    bill
        Dollars by class (:data:`CLASSES`), side calls included.
    tokens
        Tokens by class, the same.
    shifts
        For each of :data:`LIFETIMES` the dollars by class that are added to the bill.
    """

    bill: Dollars
    tokens: Dollars
    shifts: NDArray[np.float64]

    def cost(self, lifetime: int = AS_REPLAYED, prices: Sequence[float] = (1, 1, 1, 1)) -> float:
        """Dollars with one of the lifetimes, and at so many times the price of each class."""
        return float((self.bill + self.shifts[lifetime]) @ np.asarray(prices))


def priced(row: Row | Sequence[Run], catalogue: Catalogue) -> Priced | None:
    """Divide the bill of a strategy; None if the store lacks a figure, or a price is unknown."""
    bill, tokens = np.zeros(4), np.zeros(4)
    shifts = np.zeros((len(LIFETIMES), 4))
    for group in replays(row.runs if isinstance(row, Row) else row):
        for run in group:
            if any(run.metrics.get(name) is None for name in (*_DOLLARS, *_TOKENS)):
                return None
            try:
                models = _models(run, catalogue)
                own = _bill(run, models), _shifts(run, models)
            except ModelError:
                return None
            bill += own[0] / len(group)
            shifts += own[1] / len(group)
            tokens += np.array([run.metrics[name] for name in _TOKENS], float) / len(group)
    return Priced(bill, tokens, shifts)


def by_price(spec: str) -> bool:
    """Whether a strategy, or a part of a pipeline, decides by prices or lifetimes."""
    return not BY_PRICE.isdisjoint(part.partition("(")[0] for part in spec.split(" + "))


def _bill(run: Run, models: Models) -> Dollars:
    """Dollars by class; those of side calls are divided by their tokens and list prices."""
    bill = np.array([run.metrics[name] for name in _DOLLARS], float)
    side = float(run.metrics.get("side_cost_usd") or 0.0)
    if not side or not len(run.calls):
        return bill
    uncached, read, wrote, output = _side_tokens(run)
    hour = total(run, "cache_write_1h") > total(run, "cache_write_5m")
    usage = Usage(uncached, read, 0 if hour else wrote, wrote if hour else 0, output)
    listed = np.array(_bill_of(models[run.calls["model"][-1]], run.calls["time"][-1], 0, usage))
    if not listed.sum():
        listed = np.array([1.0, 0.0, 0.0, 0.0])
    shared: Dollars = bill + side * listed / listed.sum()
    return shared


def _side_tokens(run: Run) -> list[int]:
    """Tokens of the side calls by class: those of all requests less those of the calls."""
    both = zip(_TOKENS, _COLUMNS, strict=True)
    return [max(0, round(run.metrics[name] or 0) - total(run, *columns)) for name, columns in both]


def _bill_of(model: Model, time: float, prompt: int, usage: Usage) -> Bill:
    return prices_of(model).rates(time, prompt).bill(usage)


def _models(run: Run, catalogue: Catalogue) -> Models:
    """The models that a run called, each found once."""
    return {name: catalogue.find(name) for name in set(run.calls["model"] if run.calls else ())}


def _shifts(run: Run, models: Models) -> NDArray[np.float64]:
    """For each lifetime the dollars by class that move, because calls then miss or read."""
    shifts = np.zeros((len(LIFETIMES), 4))
    if len(run.calls) < 2:
        return shifts
    ages, expired, read = _ages(run, models), run.calls.array(_EXPIRED), _at_risk(run)
    names, times, prompts = run.calls["model"], run.calls["time"], sizes(run)
    for place in map(int, np.flatnonzero((expired > 0) | ((ages > LIFETIMES[0]) & (read > 0)))):
        gone = int(expired[place])
        moved = gone or int(read[place])
        age = max(ages[place], _BEYOND) if gone else min(ages[place], 1.0)
        kept, missed = (
            np.array(_bill_of(models[names[place]], times[place], prompts[place], usage))
            for usage in (Usage(cache_read=moved), _missed(run, place, moved))
        )
        reads = np.array([age <= lifetime for lifetime in LIFETIMES])
        if gone:
            shifts[reads] += kept - missed
        else:
            shifts[~reads] += missed - kept
    return shifts


def _missed(run: Run, place: int, tokens: int) -> Usage:
    """Tokens as a call pays for what it misses: written, where it writes, or as plain input."""
    five, hour = (int(run.calls.array(name)[place]) for name in _COLUMNS[2])
    if not five and not hour:
        return Usage(uncached=tokens)
    return Usage(cache_write_1h=tokens) if hour > five else Usage(cache_write_5m=tokens)


def _ages(run: Run, models: Models) -> NDArray[np.float64]:
    """The gap before each call since the last one of its model, as a share of the lifetime."""
    ages = np.zeros(len(run.calls))
    last: dict[str, tuple[float, str]] = {}
    columns = (run.calls[name] for name in ("model", "time", "cache_write_5m", "cache_write_1h"))
    for place, (model, time, five, hour) in enumerate(zip(*columns, strict=True)):
        before, ttl = last.get(model, (time, ""))
        ages[place] = (time - before) / (_lifetime(models[model], ttl) or math.inf)
        last[model] = time, "1h" if hour else "5m" if five else ttl
    return ages


def _lifetime(model: Model, ttl: str) -> float:
    """Seconds that an entry lives; infinite where none expires."""
    return model.policy.lifetime(ttl) if model.policy else math.inf


def _at_risk(run: Run) -> NDArray[np.int64]:
    """Tokens that each call read, or its side calls, which come first: the larger of the two.

    What side calls read is what their prompts and answers are less what they missed; of their
    answers only the sum over the run is stored.
    """
    missed = sum(run.calls.array(f"cache_miss_{cause}") for cause in CAUSES)
    own = sum(run.calls.array(name) for name in (*_COLUMNS[0], *_COLUMNS[2]))
    calls = run.calls.array("side_calls")
    answers = _side_tokens(run)[3] / max(1, calls.sum())
    side = run.calls.array("side_tokens") - (missed - own) - calls * answers
    read: NDArray[np.int64] = np.maximum(run.calls.array("cache_read"), side).astype(np.int64)
    return read


# What a reader sees: the bill as it was replayed; with the page's script, controls above it.


@dataclass(frozen=True)
class Explorer:
    """The bill of each strategy as a table, and the data that the page's script computes from."""

    name: str  # what the ids of its parts begin with
    still: tuple[Block, ...]  # what is there without a script
    text: str  # JSON that can stand in a script element


def explorer(
    comparison: Comparison, colours: Mapping[str, str], catalogue: Catalogue, name: str
) -> Iterator[Block]:
    """The bill by class, to be seen at other prices and lifetimes; nothing where it is unknown."""
    bills = [(row, priced(row, catalogue)) for row in comparison.rows]
    known = [(row, each) for row, each in bills if each is not None and each.bill.sum() > 0]
    if len(known) < len(bills) or not known:
        return
    shown = [place for place in range(4) if any(each.bill[place] for _, each in known)]
    lives = sorted({life for row in comparison.rows for life in _lifetimes(row, catalogue)})
    data = {
        "classes": [[CLASSES[place], _COLOURS[place], _mean(known, place)] for place in shown],
        "lifetimes": [None if math.isinf(life) else life for life in LIFETIMES] if lives else [],
        "replayed": AS_REPLAYED,
        "seconds": lives,
        "strategies": [_written(row, each, colours, shown) for row, each in known],
    }
    # A replay under entries that never expire anyway has no lifetime that could be set.
    text = [*_INTRODUCTION, *([_LIFETIME] if lives else [])]
    view = Explorer(name, (_table(known, colours, shown),), in_script(data))
    explained = sentences(text, "quiet", bullets=False)
    yield Folded(TITLE, (explained, Custom("explorer.html.j2", view)), f"{name}-explorer", _ABOUT)


def _lifetimes(row: Row, catalogue: Catalogue) -> set[float]:
    """The seconds for which entries lived that the calls of a strategy left."""
    lives = set()
    for run in row.runs:
        models, hours = run.calls["model"], run.calls.array("cache_write_1h") > 0
        for model, hour in set(zip(models, hours.tolist(), strict=True)):
            five = hour or run.calls.array("cache_write_5m").any()
            lives.add(_lifetime(catalogue.find(model), "1h" if hour else "5m" if five else ""))
    return {life for life in lives if life and math.isfinite(life)}


def _mean(known: Sequence[tuple[Row, Priced]], place: int) -> float | None:
    """Dollars per million tokens of a class, the mean over all calls; None without tokens."""
    tokens = sum(each.tokens[place] for _, each in known)
    return float(sum(each.bill[place] for _, each in known) / tokens * MILLION) if tokens else None


def _written(row: Row, each: Priced, colours: Mapping[str, str], shown: Sequence[int]) -> list[Any]:
    """A strategy: its name, colour, whether it is a choice, its bill, and what moves in it."""
    shifts = [[_short(line[place]) for place in shown] for line in each.shifts]
    bill = [_short(each.bill[place]) for place in shown]
    fixed = int(by_price(row.spec))
    return [clean(row.label), colours[row.spec], int(row.choice), bill, shifts, fixed]


def _short(value: float) -> float:
    """As exact as a reader can see it."""
    return float(f"{value:.6g}") or 0


def _table(
    known: Sequence[tuple[Row, Priced]], colours: Mapping[str, str], shown: Sequence[int]
) -> Table:
    """The bill as it was replayed, the cheapest first."""
    heads = (Column("strategy"), Column("cost, USD", key="cost_usd"),
             *(Column(CLASSES[place], key=_DOLLARS[place]) for place in shown))  # fmt: skip
    rows = []
    for row, each in known:
        values = [each.cost(), *(float(each.bill[place]) for place in shown)]
        cells = [Cell(dollars(value), exact(value), plain(value)) for value in values]
        key = Key(colours[row.spec], meaning=clean(row.spec))
        rows.append(TableRow((Cell(row.label), *cells), "" if row.choice else "quiet", key))
    return Table(heads, tuple(rows), ordered="cost_usd")
