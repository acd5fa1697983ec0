"""The settings of a strategy: a table, JSON, and a slider."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from compactlab.reports.render.document import Custom, Table, TableRow, name, with_names
from compactlab.reports.render.fields import (
    Field,
    as_data,
    cells_of,
    data_of,
    heads_of,
    hidden,
)
from compactlab.reports.render.html import in_script
from compactlab.reports.render.text import dollars, with_interval
from compactlab.reports.tune.choice import Ratio
from compactlab.reports.tune.tuned import Tried, Tuned
from compactlab.reports.tune.verdict import called

TIMES = "\N{MULTIPLICATION SIGN}"
_TAKE, _BEST, _MAYBE, _NEAR, _KNEE, _OUT = ">", "*", "~", "=", "k", "!"
MARKS = {
    _TAKE: "to take",
    _BEST: "cheapest with recovery",
    _MAYBE: "may be the cheapest (95 %)",
    _NEAR: "within the margin of the cheapest",
    _KNEE: "knee between cost and recall",
    _OUT: "not allowed: below the limit of recall, or more prompts exceed the window than by its "
    "own rule",
}


@dataclass(frozen=True)
class _Row:
    """A setting of a strategy."""

    tuned: Tuned
    index: int
    tried: Tried
    allowed: bool
    shown: bool

    @property
    def marks(self) -> dict[str, bool]:
        """Each mark, and whether the setting has it."""
        tuned, index = self.tuned, self.index
        return {
            _TAKE: index == tuned.advised,
            _BEST: index == tuned.best,
            _MAYBE: index in (tuned.interval or ()),
            _NEAR: index in tuned.flat,
            _KNEE: index == tuned.knee,
            _OUT: not self.allowed,
        }

    @property
    def limited(self) -> bool:
        """Whether there is a limit on memory."""
        return self.tuned.choice.limit is not None

    @property
    def carried(self) -> list[str]:
        """The marks that it has."""
        return [mark for mark, has in self.marks.items() if has]


def _rows(tuned: Tuned) -> Iterator[_Row]:
    allowed, shown = tuned.choice.allowed(), tuned.choice.shown()
    for index, tried in enumerate(tuned.tried):
        yield _Row(tuned, index, tried, bool(allowed[index]), bool(shown[index]))


def _ratio(value: Ratio) -> str:
    if value.low is None or value.high is None or value.low == value.high:
        return f"{value.value:.3f}"
    return f"{value.value:.3f} [{value.low:.2f}, {value.high:.2f}]"


_SETTING = (
    *hidden("strategy", "window", of="tuned"),
    Field("setting", "tried.spec", text=lambda row: called(row.tuned, row.index), words=True),
    *hidden("size", of="tried"),
    Field("cost_usd", "tried.cost", "cost USD", "USD", rank=3),
    Field("cost_with_recovery_usd", "tried.recovery", "with recovery USD", "USD"),
    Field("of_own", "tried.of_own", f"{TIMES}own", write=_ratio),
    Field("missed", "tried.missed", write=with_interval),
    Field("compactions", "tried.compactions", write="{:,.0f}".format, rank=2),
    Field("over_window", "tried.over", "exceeds window", "share", rank=4),
    *hidden(
        within_limit=lambda row: row.allowed if row.limited else None,
        shown_within_limit=lambda row: row.shown if row.limited else None,
        may_be_cheapest=lambda row: row.tuned.interval and row.marks[_MAYBE],
        within_margin=lambda row: row.marks[_NEAR],
        best=lambda row: row.marks[_BEST],
        advised=lambda row: row.marks[_TAKE],
        knee=lambda row: row.marks[_KNEE],
    ),
    Field("", "carried", "marks", write="".join, words=True),
)


def settings_table(tuned: Tuned) -> Table:
    """The settings as a table, with the cost of ``keep_all``."""
    columns = heads_of(_SETTING)
    rows = [
        TableRow(cells_of(_SETTING, row), "important" if row.index == tuned.advised else "")
        for row in _rows(tuned)
    ]
    if tuned.keep_all is not None:
        # It misses nothing, so it has no cost of recovery.
        whole = (f"{name('keep_all')}, for comparison", *[dollars(tuned.keep_all)] * 2)
        rows.append(TableRow((*whole, *[""] * (len(columns) - len(whole))), "quiet"))
    return Table(columns, tuple(rows), stacked=True)


def figures_of(tuned: Tuned) -> list[dict[str, Any]]:
    """The figures of each setting, by name."""
    return [
        data_of(_SETTING, row) | {name: as_data(row.tried.values.get(name)) for name in tuned.over}
        for row in _rows(tuned)
    ]


def strategy_data(tuned: Tuned) -> dict[str, Any]:
    """All data of a strategy, for JSON."""

    def specs(indices: int | Sequence[int] | None) -> str | list[str] | None:
        if indices is None or isinstance(indices, int):
            return None if indices is None else tuned.tried[indices].spec
        return [tuned.tried[index].spec for index in indices]

    held = tuned.held_out
    return {
        "strategy": tuned.strategy,
        "window": tuned.window,
        "model": tuned.model.name,
        "lag": tuned.lag,
        "inferred": tuned.inferred,
        "sessions": list(tuned.conversations),
        "keep_all_usd": tuned.keep_all,
        "settings": figures_of(tuned),
        "best": specs(tuned.best),
        "may_be_cheapest": specs(tuned.interval),
        "within_margin": specs(tuned.flat),
        "candidate": specs(tuned.candidate),
        "advised": specs(tuned.advised),
        "knee": specs(tuned.knee),
        "held_out": held
        and {**as_data(held), "chosen": specs(held.chosen), "best": specs(held.best)},
        "of_own_left_out": as_data(tuned.saving),
        "summaries": [{**as_data(each), "apart": each.apart} for each in tuned.summaries],
        "paste": None if tuned.advised is None else as_data(tuned.pasted(tuned.advised)),
    }


# A slider whose positions are replays, without interpolation.


@dataclass(frozen=True)
class Grid:
    """All settings of all strategies and windows, as JSON that is safe in a script element."""

    text: str
    settings: int


def grid(tuned: Sequence[Tuned]) -> Custom:
    """Serialise the selectable settings."""
    data = {
        # The page renders the name and the marks differently.
        "heads": [column.title for column in heads_of(_SETTING)[1:-1]],
        "strategies": [
            {
                "label": with_names(each.label),
                "window": each.window,
                "sessions": len(each.conversations),
                "keep_all": None if each.keep_all is None else dollars(each.keep_all),
                "first": each.own if each.advised is None else each.advised,
                "settings": [*map(_choice, _rows(each))],
            }
            for each in tuned
        ],
    }
    settings = sum(len(each.tried) for each in tuned)
    return Custom("settings.html.j2", Grid(in_script(data), settings))


def _choice(row: _Row) -> dict[str, Any]:
    pasted = row.tuned.pasted(row.index)
    first, *cells, _ = cells_of(_SETTING, row)
    return {
        "name": with_names(first),
        "place": row.tried.size,
        "cells": [*map(with_names, cells)],
        "recovery": float(f"{row.tried.recovery:.6g}"),
        "marked": "; ".join(MARKS[mark] for mark in row.carried),
        "file": pasted.file if pasted else "",
        "condition": pasted.condition if pasted else "",
        "paste": "\n".join(pasted.lines) if pasted else "",
    }
