"""Parameters that changed nothing in a comparison, and defaults that a narrowed window capped."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from compactlab.reports.analysis.calls import same_sizes, window_of
from compactlab.reports.analysis.comparison import Comparison, Row
from compactlab.sim.core.errors import UsageError
from compactlab.sim.core.spec import parse_spec
from compactlab.sim.replay.strategy import CAP
from compactlab.sim.store.run import Run

# The parts of a strategy, in order: the name and the fields of each.
_Parts = list[tuple[str, dict[str, Any]]]


@dataclass(frozen=True)
class NoEffect:
    """Parameters without effect."""

    rows: tuple[Row, ...]
    parameters: tuple[str, ...]  # those that the user set, or in which the rows differ
    idle: bool  # whether nothing was compacted; else the rows have equal runs


@dataclass(frozen=True)
class Cap:
    """A default that a narrowed window reduces."""

    what: str  # the field, or the purpose of the tokens
    tokens: int
    counts: int  # the reduced value
    rows: tuple[Row, ...]


def without_effect(comparison: Comparison) -> list[NoEffect]:
    """Parameters without effect: nothing was compacted, or rows are equal despite them."""
    return [*_idle(comparison), *_same(comparison)]


def _idle(comparison: Comparison) -> Iterator[NoEffect]:
    """Parameters that were set although nothing was compacted."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in comparison.rows:
        if not row.acted and (names := tuple(_names(_parts(row.label)))):
            groups.setdefault(names, []).append(row)
    for names, rows in groups.items():
        yield NoEffect(tuple(rows), names, idle=True)


def _same(comparison: Comparison) -> Iterator[NoEffect]:
    """Strategies that acted and have equal figures despite different parameters."""
    classes: list[tuple[_Parts, list[Row]]] = []
    for row in comparison.rows:
        parts = _parts(row.spec)
        if not row.acted or not parts:
            continue
        for other, rows in classes:
            kind = [name for name, _ in other]
            if kind == [name for name, _ in parts] and _alike(rows[0], row):
                rows.append(row)
                break
        else:
            classes.append((parts, [row]))
    for _, rows in classes:
        if len(rows) > 1 and (names := tuple(_differing([_parts(row.spec) for row in rows]))):
            yield NoEffect(tuple(rows), names, idle=False)


def _differing(every: list[_Parts]) -> Iterator[str]:
    """The fields in which specs of one kind differ, each name once."""
    pairs = [
        [(index, field, repr(value)) for index, (_, own) in enumerate(parts)
         for field, value in own.items()]
        for parts in every
    ]  # fmt: skip
    common = set(pairs[0]).intersection(*pairs[1:])
    yield from dict.fromkeys(each[1] for each in chain(*pairs) if each not in common)


def _alike(row: Row, other: Row) -> bool:
    """Whether two rows have equal runs and figures."""
    return all(map(_equal, row.runs, other.runs))


def _equal(run: Run, other: Run) -> bool:
    figures, others = _figures(run.metrics), _figures(other.metrics)
    return figures == others and same_sizes(run, other)


def _figures(metrics: Mapping[str, float | None]) -> dict[str, float]:
    """The figures without NaN, which does not even equal itself."""
    return {k: v for k, v in metrics.items() if v is not None and not math.isnan(v)}


def _parts(text: str) -> _Parts:
    """The parts of a spec or label; empty if the name of a user's strategy is not a spec."""
    try:
        return [parse_spec(part) for part in text.split(" + ")]
    except UsageError:
        return []


def _names(parts: _Parts) -> Iterator[str]:
    yield from dict.fromkeys(field for _, fields in parts for field in fields)


def caps(comparison: Comparison) -> list[Cap]:
    """The defaults that a narrowed window reduces to a quarter of the window."""
    window, known = comparison.window, comparison.catalogue
    own = [window_of(model, 0, known) for model in comparison.models or [comparison.model]]
    if not window or max(own, default=0) <= window:
        return []
    counts = window // CAP
    groups: dict[tuple[str, int], list[Row]] = {}
    for row in comparison.rows:
        for what, tokens in row.caps.items():
            if tokens > counts:
                groups.setdefault((what, tokens), []).append(row)
    return [Cap(what, tokens, counts, tuple(rows)) for (what, tokens), rows in groups.items()]
