"""LexRank: quote the sentences and lines that most others resemble.

Extractive and without a model: nothing is paraphrased, so every line of the summary has an exact
source. What it costs a real agent it cannot say; what is left of a conversation when the most
central lines are copied, it can.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from compactlab.summarizers.cosines import Cosines, Vector
from compactlab.summarizers.extractive import Extractive, best_first
from compactlab.summarizers.units import Unit

_DAMPING = 0.85  # Erkan and Radev 2004, section 3.2: between 0.8 and 0.9
_ROUNDS = 100  # 0.85 ** 100 = 9e-8, far below what decides between two units


@dataclass(frozen=True)
class Lexrank(Extractive):
    """Quote the most central sentences and lines, in their original order, within the budget.

    The ranking is continuous LexRank (Erkan and Radev, "LexRank: Graph-based Lexical Centrality
    as Salience in Text Summarization", 2004): the stationary distribution of a walk between units
    along the cosines of their TF-IDF vectors. As in that paper, a unit much like a better one
    that was taken is passed over. What units are and how they are written down, and what the
    parameters mean, see :class:`~compactlab.summarizers.extractive.Extractive`.

    Examples
    --------
    >>> from compactlab.sim.message import Message, verbatim
    >>> from compactlab.sim.summarize import SummaryRequest
    >>> said = Message("m1", "user", (verbatim("m1", "text", "Use tabs. Never touch main.py."),))
    >>> (part,) = Lexrank().summarize(SummaryRequest((said,), max_tokens=30), len)
    >>> part.text, part.sources
    ('Use tabs.', (Source(id='m1', part=0, start=0, end=9),))
    """

    def choose(
        self, units: Sequence[Unit], budget: int, count: Callable[[str], int]
    ) -> Iterable[int]:
        """The most central ones."""
        cosines = Cosines([unit.text for unit in units])
        return best_first(_ranks(cosines), units, budget, count, cosines)


def _ranks(cosines: Cosines) -> Vector:
    """Rank texts by LexRank: the stationary distribution of the walk, with mean 1."""
    ranks = np.ones(cosines.shape[0])
    degrees = cosines.times(ranks)
    for _ in range(_ROUNDS):
        ranks = 1 - _DAMPING + _DAMPING * cosines.times(ranks / degrees)
    return np.round(ranks, 9)
