"""How often a recommendation is wrong, and how often one is found: worlds whose truth is planted.

``python examples/simulate_advice.py`` prints the tables that docs/statistics.md sums up in "The
recommendation"; ``--runs`` sets how many experiments. The same numbers on every machine.

A world says how much each strategy misses of each conversation's needs, with its own summaries and
with summaries without content. Losses are *even* (every conversation loses about alike), *uneven*
(most lose little, some much), *rare* (a few lose all, the others nothing) or *mixed* (a few lose
all, the others a little). The rule is that of :class:`compactlab.reports.analysis.advice.Advice`:
p by betting, the larger of two for strategies that summarise, Holm over all strategies. Whoever is
recommended wrongly is so by the cheapest of those that pass, so any that passes counts.

- *Wrong*: all strategies lie exactly on the boundary, with a true recall of 80 %, or a true
  preservation of 50 %; or half of them do and the others are perfect, and costs are random.
- *Found*: all strategies have a true recall, or a true preservation, above it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import betainc

from compactlab.reports.analysis.advice import PRESERVED
from compactlab.reports.analysis.aggregate import JUNK, OWN
from compactlab.reports.analysis.betting import LEVEL
from compactlab.reports.analysis.comparison import ENOUGH
from compactlab.reports.analysis.preservation import Preservation
from compactlab.reports.analysis.significance import ALPHA, holm

Floats = NDArray[np.float64]

# Shares of needs that are missed, strategies by conversations, with that mean.
Draw = Callable[[Generator, float, tuple[int, int]], Floats]


def even(draws: Generator, mean: float, size: tuple[int, int]) -> Floats:
    """Half of the mean to one and a half of it."""
    return draws.uniform(0.5 * mean, 1.5 * mean, size)


def uneven(draws: Generator, mean: float, size: tuple[int, int]) -> Floats:
    """A beta distribution that has its mode at 0."""
    return draws.beta(0.5, 0.5 / mean - 0.5, size) if mean else np.zeros(size)


def rare(draws: Generator, mean: float, size: tuple[int, int]) -> Floats:
    """All or nothing."""
    return (draws.random(size) < mean).astype(np.float64)


def mixed(draws: Generator, mean: float, size: tuple[int, int]) -> Floats:
    """All for half of the mean, and else a little."""
    few, rest = rare(draws, mean / 2, size), even(draws, (mean / 2) / (1 - mean / 2), size)
    return np.where(few > 0, 1.0, rest)


WORLDS: dict[str, Draw] = {"even": even, "uneven": uneven, "rare": rare, "mixed": mixed}
STRATEGIES, CONVERSATIONS = (5, 20, 40), (8, 14, 30, 60)
# What is exposed where preservation is asked about: so little that recall is not in doubt, and so
# much as to be seen.
LITTLE, MUCH = 0.2, 0.5


@dataclass(frozen=True)
class _Row:
    """What the rule asks of a strategy beside its misses."""

    summarises: bool


class Drawn(Preservation):
    """The memory of a strategy of which it was drawn what it misses."""

    def __init__(self, own: Floats, junk: Floats | None = None) -> None:
        super().__init__(_Row(junk is not None), 0)  # type: ignore[arg-type]
        vars(self)["_drawn"] = {OWN: own} | ({} if junk is None else {JUNK: junk})

    @cached_property
    def _missed(self) -> dict[str, Floats]:
        return vars(self)["_drawn"]  # type: ignore[no-any-return]

    @property
    def p(self) -> float:
        """As :meth:`compactlab.reports.analysis.advice.Advice.p`."""
        recalls = self.p_recalls(ENOUGH)
        return max(recalls, self.p_preserves(PRESERVED)) if self.row.summarises else recalls


def passing(memories: Sequence[Drawn]) -> list[bool]:
    """Which strategies are shown to recall enough, corrected for all of them."""
    return [p is not None and p <= ALPHA for p in holm([each.p for each in memories])]


def recalling(draws: Generator, world: Draw, recall: float, size: tuple[int, int]) -> list[Drawn]:
    """Strategies without summaries, of one true recall."""
    return [Drawn(own) for own in world(draws, 1 - recall, size)]


def preserving(
    draws: Generator, world: Draw, kept: float, size: tuple[int, int], exposed: float = MUCH
) -> list[Drawn]:
    """Strategies with summaries, of one true preservation of what is exposed."""
    junk = world(draws, exposed, size)
    lost = world(draws, 1 - kept, size) if kept < 1 else np.zeros(size)
    return [Drawn(own, bare) for own, bare in zip(np.minimum(junk * lost, 1), junk, strict=True)]


def below(count: int, runs: int) -> float:
    """What a share is at most, at 97.5 % (Clopper and Pearson 1934, Biometrika 26:404)."""
    low, high = count / runs, 1.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        if betainc(count + 1, runs - count, middle) < 1 - (1 - LEVEL) / 2:
            low = middle
        else:
            high = middle
    return high


def wrong(runs: int) -> list[str]:
    """The worst of three claims, by world and size."""
    lines = ["| world | strategies | " + " | ".join(map(str, CONVERSATIONS)) + " conversations |"]
    lines.append("|---" * (2 + len(CONVERSATIONS)) + "|")
    most = 0
    for index, (name, world) in enumerate(WORLDS.items()):
        for count in STRATEGIES:
            cells = []
            for number in CONVERSATIONS:
                draws = np.random.default_rng([index, count, number])
                size, hits = (count, number), [0, 0, 0]
                for _ in range(runs):
                    hits[0] += any(passing(recalling(draws, world, ENOUGH, size)))
                    hits[1] += any(passing(preserving(draws, world, PRESERVED, size, LITTLE)))
                    hits[2] += not advised_well(draws, world, size)
                most = max(most, *hits)
                cells.append(" / ".join(f"{100 * hit / runs:.1f}" for hit in hits))
            lines.append(f"| {name} | {count} | {' | '.join(cells)} |")
    lines.append(f"\nthe most: {most} of {runs}, so at most {100 * below(most, runs):.2f} %")
    return lines


def advised_well(draws: Generator, world: Draw, size: tuple[int, int]) -> bool:
    """Whether the cheapest that passes is none of the half that lies on the boundary."""
    half = size[0] // 2
    memories = recalling(draws, world, ENOUGH, (half, size[1]))
    memories += recalling(draws, world, 1.0, (size[0] - half, size[1]))
    costs = draws.random(size[0])
    shown = [place for place, told in enumerate(passing(memories)) if told]
    return not shown or min(shown, key=lambda place: costs[place]) >= half


RECALLS, KEPT = (0.85, 0.9, 0.95, 1.0), (0.75, 0.9, 1.0)


def found(runs: int) -> list[str]:
    """How often any strategy is recommended, in per cent, where all deserve it."""
    heads = [f"recall {100 * share:.0f} %" for share in RECALLS]
    heads += [f"preserved {100 * share:.0f} %" for share in KEPT]
    lines = ["| world | strategies | conversations | " + " | ".join(heads) + " |"]
    lines.append("|---" * (3 + len(heads)) + "|")
    for index, (name, world) in enumerate(WORLDS.items()):
        for count, number in ((5, 14), (5, 30), (5, 60), (20, 30), (20, 60)):
            draws = np.random.default_rng([9, index, count, number])
            size, cells = (count, number), []
            for kind, shares in ((recalling, RECALLS), (preserving, KEPT)):
                for share in shares:
                    hits = sum(any(passing(kind(draws, world, share, size))) for _ in range(runs))
                    cells.append(f"{100 * hits / runs:.0f}")
            lines.append(f"| {name} | {count} | {number} | {' | '.join(cells)} |")
    return lines


def main(arguments: Sequence[str]) -> int:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=2000)
    runs = parser.parse_args(arguments).runs
    print(f"wrong advice, % of {runs}: recall / preservation / half of them deserve it\n")
    print("\n".join(wrong(runs)))
    print(f"\nadvice that is found, % of {max(1, runs // 5)}\n")
    print("\n".join(found(max(1, runs // 5))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
