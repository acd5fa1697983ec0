"""How close made-up conversations come to recordings: distribution by distribution."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compactlab.scenarios.fitting.estimate import LEAST, quantile
from compactlab.scenarios.fitting.samples import Samples

QUANTILES = (0.1, 0.5, 0.9, 0.99)
# Quantile of Kolmogorov's distribution: in 95 % of cases two samples of one distribution are no
# further apart than this times the root of (n + m) / (n m). Smirnov 1948.
_KOLMOGOROV = 1.358


@dataclass(frozen=True)
class Row:
    """One distribution, as recorded and as made.

    Parameters
    ----------
    name, unit
        What it is of.
    recorded, made
        The samples, each in order.
    """

    name: str
    unit: str
    recorded: Sequence[float]
    made: Sequence[float]

    @property
    def distance(self) -> float | None:
        """The distance of Kolmogorov and Smirnov; None with fewer than `LEAST` samples."""
        if min(len(self.recorded), len(self.made)) < LEAST:
            return None
        return kolmogorov_smirnov(self.recorded, self.made)

    @property
    def chance(self) -> float | None:
        """How far apart samples of this size of one distribution are, at most, in 95 % of cases."""
        n, m = len(self.recorded), len(self.made)
        return _KOLMOGOROV * math.sqrt((n + m) / (n * m)) if n and m else None


def kolmogorov_smirnov(one: Sequence[float], other: Sequence[float]) -> float:
    """The largest difference between the shares of two samples up to any value.

    Parameters
    ----------
    one, other
        The samples, each in order and not empty.

    Returns
    -------
    float
        From 0, if they are distributed alike, to 1, if they do not overlap.

    Examples
    --------
    >>> kolmogorov_smirnov([1, 2, 3, 4], [3, 4, 5, 6])
    0.5
    """
    n, m = len(one), len(other)
    return max(
        abs(bisect_right(one, value) / n - bisect_right(other, value) / m)
        for value in {*one, *other}
    )


def quantiles(samples: Sequence[float]) -> tuple[float, ...] | None:
    """The samples' `QUANTILES`; None of none."""
    return tuple(quantile(samples, share) for share in QUANTILES) if samples else None


def closeness(recorded: Samples, made: Samples) -> list[Row]:
    """Hold recordings and made-up conversations against each other.

    Parameters
    ----------
    recorded, made
        What was measured in the ones and the others.

    Returns
    -------
    list[Row]
        A row for everything of which either has `LEAST` samples, tools that are called most often
        first.
    """
    rows = [
        Row(name, unit, sorted(one), sorted(other))
        for (name, unit, one), (_, _, other) in zip(
            _listed(recorded, recorded, made), _listed(made, recorded, made), strict=True
        )
    ]
    return [row for row in rows if max(len(row.recorded), len(row.made)) >= LEAST]


def worst(rows: Sequence[Row]) -> Row | None:
    """The row whose distance is largest; None if none has any."""
    known = [(row.distance, row) for row in rows if row.distance is not None]
    return max(known, key=lambda pair: pair[0])[1] if known else None


def _listed(
    of: Samples, recorded: Samples, made: Samples
) -> Iterator[tuple[str, str, Sequence[float]]]:
    """The samples of one side, under the names that both sides have together."""
    for what in ("user", "text", "answer", "thinking"):
        yield what, "tokens", of.sizes.get(what, [])
    tools = dict.fromkeys([t for t, _ in (recorded.tools + made.tools).most_common()])
    for tool in tools:
        yield f"given to {tool}", "tokens", of.arguments.get(tool, [])
        yield f"result of {tool}", "tokens", of.results.get(tool, [])
    for role in ("assistant", "tool", "user"):
        yield f"wait for {role}", "seconds", of.waits.get(role, [])
    yield "calls per turn", "calls", of.calls
    yield "written per call", "tokens", of.written
    yield "growth per call", "tokens", of.growth
    yield "results in session", "share", of.tool_share
