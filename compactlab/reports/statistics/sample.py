"""Figures of strategies by conversation: the pairs that all statistics are reckoned on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from compactlab.reports.aggregate import read_and_fresh, replays, rule_of
from compactlab.reports.comparison import Case, Row, case_of
from compactlab.reports.text import clean
from compactlab.sim.errors import UsageError
from compactlab.sim.run import Run

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

# Figures that differ by a smaller share of themselves are the same: sums of floats in another
# order are.
SAME = 1e-9


@dataclass(frozen=True)
class Pairs:
    """One metric, by conversation: of several strategies and of what they are compared with.

    Parameters
    ----------
    ours
        Strategies by conversations; NaN where there is no value.
    theirs
        The reference's, by conversations.
    """

    ours: Floats
    theirs: Floats

    @property
    def both(self) -> Flags:
        """Where both have a value; strategies by conversations."""
        found: Flags = ~(np.isnan(self.ours) | np.isnan(self.theirs))
        return found

    @property
    def differences(self) -> Floats:
        """Ours less theirs; 0 where they are the same, and where one has no value."""
        with np.errstate(invalid="ignore"):
            gap = self.ours - self.theirs
            size = np.maximum(np.abs(self.ours), np.abs(self.theirs))
            # Two infinite values of one sign have no difference, and are the same.
            same = np.isnan(gap) | (np.abs(gap) <= np.where(np.isinf(size), 0.0, SAME * size))
        found: Floats = np.where(same, 0.0, gap)
        return found

    def rows(self, chosen: NDArray[np.intp]) -> Pairs:
        """Only some of the strategies."""
        return Pairs(self.ours[chosen], self.theirs)


class Sample:
    """The values of strategies by conversation, replays averaged first.

    Parameters
    ----------
    rows
        Strategies over the same cases.
    metrics
        Those that are asked for.

    Attributes
    ----------
    conversations
        Scenario and id, ascending: in this order all draws are made, whatever that of the runs.

    Raises
    ------
    UsageError
        If the rows are not over the same conversations and seeds.
    """

    def __init__(self, rows: Sequence[Row], metrics: Sequence[str]) -> None:
        _check(rows)
        self.rows = rows
        self._groups = [replays(sorted(row.runs, key=case_of)) for row in rows]
        self.conversations = [case_of(group[0])[:2] for group in self._groups[0]] if rows else []
        needed = list(dict.fromkeys([*metrics, "overflows", "calls"]))
        self._place = {name: place for place, name in enumerate(needed)}
        tables = [_values(groups, needed) for groups in self._groups]
        # Rows, conversations, metrics.
        self._values = np.array(tables).reshape(len(rows), -1, len(needed))

    def values(self, metric: str) -> Floats:
        """Rows by conversations; NaN where there is no value."""
        found: Floats = self._values[:, :, self._place[metric]]
        return found

    def parts(self, metric: str) -> tuple[Floats, Floats]:
        """What a pooled share is a share of what: two arrays, rows by conversations."""
        if metric == "prefix_reuse":
            found = np.array([[read_and_fresh(g) for g in groups] for groups in self._groups])
            read = found[:, :, 0]
            return read, read + found[:, :, 1]
        return np.nan_to_num(self.values("overflows")), np.nan_to_num(self.values("calls"))


def _check(rows: Sequence[Row]) -> None:
    first: set[Case] = set()
    for number, row in enumerate(rows):
        cases = {case_of(run) for run in row.runs}
        first = first if number else cases
        if odd := sorted(cases ^ first):
            scenario, conversation, seed = odd[0]
            raise UsageError(
                f"{clean(row.label)} and {clean(rows[0].label)} are not over the same "
                f"conversations: only one of them has {clean(conversation)} "
                f"({clean(scenario)}, seed {seed})"
            )


def _values(groups: Sequence[Sequence[Run]], metrics: Sequence[str]) -> Floats:
    """Conversations by metrics; of replays the mean, or the largest."""
    raw = np.array(
        [[run.metrics.get(name) for name in metrics] for group in groups for run in group],
        np.float64,
    ).reshape(-1, len(metrics))
    sizes = [len(group) for group in groups]
    if max(sizes, default=1) == 1:
        return raw
    starts = np.cumsum([0, *sizes[:-1]])
    known = ~np.isnan(raw)
    counts = np.add.reduceat(known.astype(np.float64), starts, axis=0)
    sums = np.add.reduceat(np.where(known, raw, 0.0), starts, axis=0)
    largest = np.maximum.reduceat(np.where(known, raw, -np.inf), starts, axis=0)
    means = np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
    peaks = np.array([rule_of(name) == "maximum" for name in metrics])
    found: Floats = np.where(peaks & (counts > 0), largest, means)
    return found
