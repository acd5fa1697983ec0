"""What becomes of facts in a summary: how likely, at which level, and who says so.

All figures are data (``fates.toml``), each with its source. They are inputs of a simulation and
never findings.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

from compactlab.sim.conversation import Fact

Level = Literal["low", "mid", "high"]
LEVELS: tuple[Level, ...] = ("low", "mid", "high")
Fate = Literal["intact", "mutated", "stale", "lost"]


@dataclass(frozen=True)
class Figure:
    """A parameter of the simulation.

    Parameters
    ----------
    name
        Which one.
    low, mid, high
        Its value where little, middling, or much is remembered; the ends are its interval.
    source, n, model, date
        Who measured it, on how many, of which model, and when; "guess" where nobody did.
    kinds, polarity
        Facts that it is for; empty for all.
    """

    name: str
    low: float
    mid: float
    high: float
    source: str
    n: str
    model: str
    date: str
    kinds: tuple[str, ...] = ()
    polarity: tuple[str, ...] = ()

    def at(self, level: Level) -> float:
        """Its value at a level."""
        values: dict[Level, float] = {"low": self.low, "mid": self.mid, "high": self.high}
        return values[level]

    def fits(self, fact: Fact) -> bool:
        """Whether it is for a fact."""
        kind = not self.kinds or fact.kind in self.kinds
        return kind and (not self.polarity or fact.polarity in self.polarity)


@cache
def figures() -> tuple[Figure, ...]:
    """All figures, in the order in which they are asked."""
    text = files(__package__).joinpath("fates.toml").read_text("utf-8")
    return tuple(_read(tomllib.loads(text)))


def _read(tables: dict[str, Any]) -> Iterator[Figure]:
    for name, found in tables.items():
        for row in found if isinstance(found, list) else [found]:
            kinds, polarity = tuple(row.pop("kinds", ())), tuple(row.pop("polarity", ()))
            yield Figure(name, **row, kinds=kinds, polarity=polarity)


class Case(NamedTuple):
    """In which a fact comes before the summariser.

    Parameters
    ----------
    fresh
        Whether a message states it.
    carried
        Whether the summary before states it.
    place
        Where in the messages it is stated: 0 the oldest, 1 the newest; None if they do not.
    ratio
        Tokens of the summary to tokens of what it is made of.
    older
        Whether it has an older value.
    """

    fresh: bool = True
    carried: bool = False
    place: float | None = None
    ratio: float = 0.0
    older: bool = False


@dataclass(frozen=True)
class Fates:
    """The chances of facts.

    Parameters
    ----------
    level
        Which value of each figure counts.
    first, later, mutated, stale
        Known chances in place of the figures; where the first two are given, the place of a fact
        and the ratio change nothing.
    """

    level: Level = "mid"
    first: float | None = None
    later: float | None = None
    mutated: float | None = None
    stale: float | None = None

    def figure(self, name: str, fact: Fact) -> float:
        """The value of a figure for a fact."""
        return next(f for f in figures() if f.name == name and f.fits(fact)).at(self.level)

    def kept(self, fact: Fact, case: Case) -> float:
        """How likely a fact stays what it is."""
        first = later = 0.0
        if case.fresh:
            first = self._first(fact, case) if self.first is None else self.first
        if case.carried or not case.fresh:
            later = self.figure("later", fact) if self.later is None else self.later
        # What is said once more is not forgotten more easily.
        return max(first, later)

    def _first(self, fact: Fact, case: Case) -> float:
        """By the odds: those of its kind, times those of its place and of the ratio."""
        chance = self.figure("first", fact)
        if chance in (0, 1):
            return chance
        odds = chance / (1 - chance)
        if case.place is not None and 0.1 <= case.place <= 0.9:
            odds *= self.figure("middle", fact)
        if case.ratio > 0:
            usual = case.ratio / self.figure("usual_ratio", fact)
            odds *= usual ** self.figure("power", fact)
        return round(odds / (1 + odds), 9)

    def drawn(self, fact: Fact, case: Case, chance: float) -> Fate:
        """The fate of a fact.

        Parameters
        ----------
        fact, case
            Which, and how it is stated.
        chance
            A number drawn evenly between 0 and 1; the smaller, the kinder.
        """
        kept = self.kept(fact, case)
        if chance < kept:
            return "intact"
        rest = (chance - kept) / (1 - kept)
        stale = self.figure("stale", fact) if self.stale is None else self.stale
        mutated = self.figure("mutated", fact) if self.mutated is None else self.mutated
        if case.older and rest < stale:
            return "stale"
        return "mutated" if rest < stale * case.older + mutated else "lost"
