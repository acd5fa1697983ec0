"""How often 95 % intervals hold the truth: worlds whose truth is planted.

``python examples/simulate_intervals.py`` prints the tables of docs/statistics.md, section "How
often they hold the truth"; ``--runs`` sets how many experiments a cell has. The same numbers on
every machine. Losses are those of ``simulate_advice.py``.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence

import numpy as np
from numpy.random import Generator
from simulate_advice import WORLDS, Draw, Drawn, Floats

from compactlab.reports.analysis.bootstrap import interval_ends, interval_of
from compactlab.reports.analysis.comparison import comparisons
from compactlab.reports.analysis.contrast import Contrast, contrasts
from compactlab.reports.analysis.sample import Quotient
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import Run

Interval = tuple[float | None, float | None]
# An experiment of so many conversations: its interval, and the truth.
Trial = Callable[[Generator, int], tuple[Interval, float]]

SIZES = (10, 12, 15, 20, 30, 60, 100)
LOST = 0.2  # of the needs, by the strategy itself
MORE = 0.1  # of what the reference holds, beside it
EXPOSED = 0.6


def cost(spread: float) -> Trial:
    """Ours is 0.7 of theirs, times a noise; theirs differ by a factor of exp(spread)."""

    def trial(draws: Generator, number: int) -> tuple[Interval, float]:
        theirs = draws.lognormal(0, spread, (1, number))
        ours = 0.7 * theirs * draws.lognormal(0, 0.3, (1, number))
        low, high = interval_ends(Quotient(ours, theirs))
        return (float(low[0]), float(high[0])), 0.7 * math.exp(0.3**2 / 2)

    return trial


def recall(world: Draw) -> Trial:
    """The share of needs that is met, and exposure, which is one of the same kind."""

    def trial(draws: Generator, number: int) -> tuple[Interval, float]:
        met = 1 - world(draws, LOST, (1, number))[0]
        found = interval_of(met.tolist(), "mean", share=True)
        return (found.low, found.high), 1 - LOST

    return trial


def preserved(world: Draw, kept: float) -> Trial:
    """Effect preservation: one less misses over misses without content."""

    def trial(draws: Generator, number: int) -> tuple[Interval, float]:
        junk, lost = (world(draws, share, (1, number))[0] for share in (EXPOSED, 1 - kept))
        found = Drawn(junk * lost, junk).preserved()
        return (None, None) if found is None else (found.low, found.high), kept

    return trial


def difference(world: Draw) -> Trial:
    """How much less is recalled than by a reference that misses a tenth, evenly."""

    def trial(draws: Generator, number: int) -> tuple[Interval, float]:
        theirs = 1 - draws.uniform(0, 0.2, number)
        ours = theirs * (1 - world(draws, MORE, (1, number))[0])
        found = contrast(ours, theirs)
        return (found.low, found.high), -0.9 * MORE

    return trial


def contrast(ours: Floats, theirs: Floats) -> Contrast:
    """One strategy against another in recall, through the whole comparison."""
    runs = [
        Run(f"c{index:03}", "made", spec, "model", 0, 0, metrics={"recall_20k": float(value)})
        for spec, values in (("ours()", ours), ("keep_all()", theirs))
        for index, value in enumerate(values)
    ]
    (comparison,) = comparisons(Results(runs, {}))
    reference = comparison.row("keep_all")
    assert reference is not None
    return contrasts(comparison, reference, ["recall_20k"])["ours()", "recall_20k"]


TRIALS: dict[str, Trial] = {
    "cost ratio, even costs": cost(0.5),
    "cost ratio, uneven costs": cost(1.0),
    **{f"recall, {name} losses": recall(world) for name, world in WORLDS.items()},
    **{
        f"preservation of {100 * kept:.0f} %, {name} losses": preserved(world, kept)
        for kept in (0.5, 0.9)
        for name, world in WORLDS.items()
    },
    **{f"difference of recall, {name} losses": difference(world) for name, world in WORLDS.items()},
}


def coverage(name: str, number: int, runs: int) -> float | None:
    """In which share of printed intervals the truth lies; None if under a tenth is printed."""
    draws = np.random.default_rng([list(TRIALS).index(name), number])
    held = [
        low <= truth <= high
        for (low, high), truth in (TRIALS[name](draws, number) for _ in range(runs))
        if low is not None and high is not None
    ]
    return sum(held) / len(held) if 10 * len(held) >= runs else None


def main(arguments: Sequence[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--like", default="", help="only kinds of intervals with this in the name")
    given = parser.parse_args(arguments)
    runs = given.runs
    print("| interval, conversations: | " + " | ".join(map(str, SIZES)) + " |")
    print("|---" * (1 + len(SIZES)) + "|")
    for name in (name for name in TRIALS if given.like in name):
        shares = (coverage(name, number, runs) for number in SIZES)
        cells = ("none" if share is None else f"{100 * share:.1f}" for share in shares)
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
