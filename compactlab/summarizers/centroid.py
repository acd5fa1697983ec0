"""Centroid: quote the sentences and lines that hold the words the whole is about."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from compactlab.summarizers.cosines import Cosines
from compactlab.summarizers.extractive import Extractive, best_first
from compactlab.summarizers.units import Unit


@dataclass(frozen=True)
class Centroid(Extractive):
    """Quote the units nearest to the centre of all words, in their order, within the budget.

    The centroid value of MEAD (Radev, Jing, Stys and Tam, "Centroid-based summarization of
    multiple documents", Information Processing & Management 40, 2004): the centroid is the mean
    TF-IDF vector without its light words, and a unit scores the sum of the centroid's weights of
    the words in it. MEAD's scores for place and for likeness to the first sentence are left out,
    as a conversation has no first sentence that tells what it is about; so is its corpus, from
    which it takes the IDF: here that comes from the units. As there, what says the same as a
    better unit is passed over.

    Parameters
    ----------
    units, tokens
        See :class:`~compactlab.summarizers.extractive.Extractive`.
    words
        How many words the centroid keeps. A guess: MEAD keeps those over a threshold, which
        depends on its corpus.
    """

    words: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.words < 1:
            raise ValueError("words must be at least 1")

    def choose(
        self, units: Sequence[Unit], budget: int, count: Callable[[str], int]
    ) -> Iterable[int]:
        """Those that hold most of the centroid."""
        cosines = Cosines([unit.text for unit in units])
        scores = np.round(cosines.sums(cosines.centroid(self.words)), 9)
        return best_first(scores, units, budget, count, cosines)
