"""Salience: quote what looks important by who said it, when, and by which words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from compactlab.sim.identifiers import identifiers
from compactlab.summarizers.cues import BINDING, BROKEN, DECIDED, words
from compactlab.summarizers.extractive import Extractive, filling
from compactlab.summarizers.units import Unit

# By role; what the summary before says has been chosen once already. Guesses.
_ROLES = {"user": 1.0, "assistant": 0.5, "tool": 0.0, "": 0.5}
_DECISION, _ERROR = words(*DECIDED, *BINDING), words(*BROKEN)


@dataclass(frozen=True)
class Salience(Extractive):
    """Quote the most salient units, in their original order, within the budget.

    A unit's salience is the weighted sum of five scores between 0 and 1: who said it (a person 1,
    the agent and the summary before 0.5, a tool 0); how new it is (its message's place among
    all); how rare its rarest identifier is (1 if no other unit has it, 0 if all have); whether it
    holds a cue of a decision or a rule; whether it reports an error, by a cue or by the tool's
    word. The cues stand in ``cues.py``, and generated conversations keep off them on purpose: a
    rule that shared its words with the generator would win by construction.

    A unit is worth its salience for each of its tokens, else the shortest would always win. So
    the knapsack is filled greedily by worth per token, which is by salience; what does not fit
    any more is passed over. The best filling is worth at most one unit more (Dantzig 1957).

    Parameters
    ----------
    units, tokens
        See :class:`~compactlab.summarizers.extractive.Extractive`.
    role, recency, rarity, decision, error
        Weights of the scores. Guesses.
    """

    role: float = 1.0
    recency: float = 0.5
    rarity: float = 0.5
    decision: float = 1.0
    error: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        weights = self.role, self.recency, self.rarity, self.decision, self.error
        if not all(0 <= weight < math.inf for weight in weights):
            raise ValueError("weights must be finite and at least 0")

    def choose(
        self, units: Sequence[Unit], budget: int, count: Callable[[str], int]
    ) -> Iterable[int]:
        """The most salient ones."""
        scores = self.scores(units)
        ranked = sorted(range(len(units)), key=lambda index: -scores[index])
        return filling(ranked, units, budget, count)

    def scores(self, units: Sequence[Unit]) -> list[float]:
        """The salience of each unit, rounded to 1e-9."""
        return [
            round(
                self.role * _ROLES.get(unit.role, 0.0)
                + self.recency * unit.place
                + self.rarity * rare
                + self.decision * (_DECISION.search(unit.text) is not None)
                + self.error * (unit.failed or _ERROR.search(unit.text) is not None),
                9,
            )
            for unit, rare in zip(units, _rarities(units), strict=True)
        ]


def _rarities(units: Sequence[Unit]) -> list[float]:
    """How rare the rarest identifier of each unit is, between 0 and 1."""
    named = [identifiers(unit.text) for unit in units]
    spread = Counter(name for names in named for name in names)
    most = math.log(max(2, len(units)))
    return [max((1 - math.log(spread[n]) / most for n in names), default=0.0) for names in named]
