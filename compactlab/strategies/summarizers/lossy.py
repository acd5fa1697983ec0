"""Lossy: a summary in which the fate of each fact is drawn at random, with published figures."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from compactlab.sim.core.conversation import Conversation, Fact
from compactlab.sim.core.limits import between
from compactlab.sim.core.message import Part
from compactlab.sim.replay.summarize import Summarizer, SummaryRequest
from compactlab.strategies.summarizers.extractive import LONGEST, SHORTEST, USUAL
from compactlab.strategies.summarizers.sampling import (
    Drawing,
    Line,
    Purpose,
    Statements,
    damaged,
    outdated,
    recited,
    statements_in,
)
from compactlab.strategies.summarizers.writer import Unbound

# Probabilities of the fates of facts in a summary, by level, with their sources. All figures are
# data (``fates.toml``). They are inputs of a simulation, not findings.

Level = Literal["low", "mid", "high"]
LEVELS: tuple[Level, ...] = ("low", "mid", "high")
Fate = Literal["intact", "mutated", "stale", "lost"]


@dataclass(frozen=True)
class Figure:
    """A parameter of the simulation."""

    name: str  # its name
    # low, mid, high: its value for a low, medium and high level of recall; low and high are the
    # limits of its interval
    low: float
    mid: float
    high: float
    # source, n, model, date: who measured it, the sample size, the model and the date; "guess" if
    # nobody did
    source: str
    n: str
    model: str
    date: str
    # kinds, polarity: the facts that it applies to; empty for all
    kinds: tuple[str, ...] = ()
    polarity: tuple[str, ...] = ()

    def at(self, level: Level) -> float:
        values: dict[Level, float] = {"low": self.low, "mid": self.mid, "high": self.high}
        return values[level]

    def fits(self, fact: Fact) -> bool:
        kind = not self.kinds or fact.kind in self.kinds
        return kind and (not self.polarity or fact.polarity in self.polarity)


@cache
def figures() -> tuple[Figure, ...]:
    """Return all figures in order of precedence."""
    text = files(__package__).joinpath("fates.toml").read_text("utf-8")
    return tuple(_read(tomllib.loads(text)))


def _read(tables: dict[str, Any]) -> Iterator[Figure]:
    for name, rows in tables.items():
        for row in rows if isinstance(rows, list) else [rows]:
            kinds, polarity = tuple(row.pop("kinds", ())), tuple(row.pop("polarity", ()))
            yield Figure(name, **row, kinds=kinds, polarity=polarity)


def audible_at(level: Level) -> float:
    """Return the probability that the answer to an extra turn is not silent."""
    return next(figure for figure in figures() if figure.name == "audible").at(level)


class Case(NamedTuple):
    """How a fact appears in the summariser's input."""

    fresh: bool = True  # whether a message states it
    carried: bool = False  # whether the previous summary states it
    # Position of its statement in the messages: 0 the oldest, 1 the newest; None if they have none.
    place: float | None = None
    ratio: float = 0.0  # tokens of the summary divided by tokens of its input
    older: bool = False  # whether it has an older value


@dataclass(frozen=True)
class Lossy(Unbound):
    """Draw for each fact whether it is kept, damaged, outdated or lost.

    A simulation: the loss of facts is an input, not a finding; its consequences (cost, re-reading,
    continuity) are measured. Probabilities depend on the fact's type and polarity, on whether it is
    summarised for the first time, on its position, and on the compression ratio. ``fates.toml`` and
    ``docs/summarizers.md`` have all figures with their sources. A ranking that another level
    reverses is not decided.

    It uses the conversation's labelled facts, or facts inferred from its actions if it has none.
    Draws are keyed by seed, conversation, fact, round and ``draw``, so all strategies get the same
    draws. Each surviving fact is a line (key, polarity, value) whose sources are its statements; a
    first part names the round. Sentences without any fact's key or value are filler, up to a drawn
    length: between the shortest, median and longest of eleven recorded summaries (1,300, 3,900 and
    5,540 tokens), and at most the length of the input. Withdrawn facts are dropped, except leaks;
    replaced values only appear as stale values.

    Notes of an extra turn have the same probabilities, with one separate draw per fact.

    Parameters
    ----------
    level
        Level of recall: ``low``, ``mid`` or ``high``.
    draw
        Which of many draws.
    first, later, mutated, stale
        Probabilities that replace the figures, 0 to 1: that a fact is kept the first time, and each
        later time, at any position and ratio; and shares of the lost facts that are damaged, and
        that keep an older value, if there is one.
    audible
        Probability that replaces the figure: that an answer to an extra turn has more than the
        token for silence.
    """

    level: Level = "mid"
    draw: int = 0
    first: Annotated[float | None, between(0, 1)] = None
    later: Annotated[float | None, between(0, 1)] = None
    mutated: Annotated[float | None, between(0, 1)] = None
    stale: Annotated[float | None, between(0, 1)] = None
    audible: Annotated[float | None, between(0, 1)] = None
    simulated: ClassVar[str] = "the fate of each fact is drawn, by published rates and guesses"

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.mutated or 0) + (self.stale or 0) > 1:
            raise ValueError("mutated and stale are shares of the same facts: at most 1 together")

    def figure(self, name: str, fact: Fact) -> float:
        return next(f for f in figures() if f.name == name and f.fits(fact)).at(self.level)

    def kept(self, fact: Fact, case: Case) -> float:
        """Return the probability that a fact stays intact."""
        first = later = 0.0
        if case.fresh:
            first = self._first(fact, case) if self.first is None else self.first
        if case.carried or not case.fresh:
            later = self.figure("later", fact) if self.later is None else self.later
        # Repeating a fact does not make it less likely to be kept.
        return max(first, later)

    def _first(self, fact: Fact, case: Case) -> float:
        """Multiply the odds of its kind by factors for its position and the ratio."""
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
        """Return the fate of a fact.

        ``chance`` is a number from 0 to 1; smaller numbers give better fates.
        """
        stays = self.kept(fact, case)
        if chance < stays:
            return "intact"
        rest = (chance - stays) / (1 - stays)
        stale = self.figure("stale", fact) if self.stale is None else self.stale
        mutated = self.figure("mutated", fact) if self.mutated is None else self.mutated
        if case.older and rest < stale:
            return "stale"
        return "mutated" if rest < stale * case.older + mutated else "lost"

    def bound(self, conversation: Conversation, seed: int) -> Summarizer:
        audible = audible_at(self.level) if self.audible is None else self.audible
        return BoundLossy(conversation, seed, self.spec, self.draw, audible, self)


@dataclass(frozen=True, eq=False)
class BoundLossy(Drawing):
    """A :class:`Lossy` bound to a conversation's facts."""

    chances: Lossy
    simulated: ClassVar[str] = Lossy.simulated
    purpose: ClassVar[str] = "lossy"

    def size(self, request: SummaryRequest, round: int, given: int) -> int:
        """Draw a length between the shortest, median and longest of some recorded summaries."""
        dice = self.dice("size", round)
        low, high = (SHORTEST, USUAL) if dice.random() < 0.5 else (USUAL, LONGEST)
        return int(dice.uniform(low, high))

    def lines(self, request: SummaryRequest, purpose: Purpose, ratio: float) -> Iterator[Line]:
        """Yield the result for each fact that the request states, in the order of the script."""
        facts = statements_in(self.witness, request)
        place = {message.id: number for number, message in enumerate(request.messages)}
        last = max(1, len(place) - 1)
        for number in self.ordered(facts.known):
            fact = self.ledger.facts[number]
            if facts.deleted >> number & 1 and not self._leaks(fact):
                continue
            chance = self.dice("fate", fact.id, purpose).random()
            at = next((place[s.id] / last for s in fact.origin if s.id in place), None)
            older = self._older(number, facts)
            case = Case(
                bool(facts.fresh >> number & 1),
                bool(facts.carried >> number & 1),
                at,
                ratio,
                older is not None,
            )
            fate = _after(facts, number, self.chances.drawn(fact, case, chance))
            if part := self._part(fact, older, fate, facts):
                yield Line(chance, number, part)

    def _leaks(self, fact: Fact) -> bool:
        return self.dice("leak", fact.id).random() < self.chances.figure("leak", fact)

    def _older(self, number: int, facts: Statements) -> Fact | None:
        """Return the newest older value of a fact that the request still states."""
        shown = self.ordered(self.ledger.older.get(number, 0) & facts.shown)
        return self.ledger.facts[shown[-1]] if shown else None

    def _part(self, fact: Fact, older: Fact | None, fate: Fate, facts: Statements) -> Part | None:
        if fate == "mutated":
            return damaged(fact, self.dice("damage", fact.id), facts.given)
        if fate == "stale" and older:
            return outdated(fact, older, facts.given)
        return recited(fact, facts.given) if fate == "intact" else None


def _after(facts: Statements, number: int, fate: Fate) -> Fate:
    """A stale or damaged fact stays as it is, or is lost."""
    if facts.stale >> number & 1:
        return "stale" if fate == "intact" else "lost"
    if facts.mutated >> number & 1:
        return "mutated" if fate == "intact" else "lost"
    return fate
