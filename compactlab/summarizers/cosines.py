"""How alike texts are: cosines between their TF-IDF vectors, the same on every machine."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from compactlab.summarizers.units import WORD

Vector = NDArray[np.float64]


# Strategies ask for summaries of much the same lines, and so does each round.
@lru_cache(maxsize=2**14)
def _bag(text: str) -> Counter[str]:
    """How often each word is in a text."""
    return Counter(WORD.findall(text.lower()))


class Cosines:
    """The cosines between texts, as a matrix that is never formed.

    With ``W`` the normed TF-IDF rows the matrix is ``W W'``; to multiply by it one word after the
    other costs as much as there are words. And ``bincount`` adds in the order of the words, where
    BLAS would add in an order of its own.

    Parameters
    ----------
    texts
        The texts.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        bags = [_bag(text) for text in texts]
        words = [*chain.from_iterable(bags)]
        spread = Counter(words)
        number = {word: index for index, word in enumerate(spread)}
        idf = np.array([1 + math.log(len(texts) / units) for units in spread.values()], np.float64)
        times = np.array([n for bag in bags for n in bag.values()], np.float64)
        self.shape = len(texts), len(number)
        self.rows = np.repeat(np.arange(len(bags)), np.array([*map(len, bags)], np.intp))
        self.columns = np.array([number[word] for word in words], np.intp)
        #: TF-IDF of each word of each text
        self.raw = times * idf[self.columns]
        norms = np.sqrt(np.bincount(self.rows, self.raw**2, self.shape[0]))
        self.weights = self.raw / norms[self.rows]

    def times(self, x: Vector) -> Vector:
        """Multiply the matrix by a vector."""
        inner = np.bincount(self.columns, self.weights * x.take(self.rows), self.shape[1])
        return self._outer(np.asarray(inner, np.float64))

    def _outer(self, inner: Vector) -> Vector:
        """Multiply the rows by a vector of words."""
        outer = np.bincount(self.rows, self.weights * inner.take(self.columns), self.shape[0])
        return np.asarray(outer, np.float64)

    def of(self, text: int) -> Vector:
        """Cosines of one text with all."""
        first, last = np.searchsorted(self.rows, (text, text + 1))
        own = np.zeros(self.shape[1])
        own[self.columns[first:last]] = self.weights[first:last]
        return self._outer(own)

    def centroid(self, words: int) -> Vector:
        """The mean TF-IDF vector of all texts; what is not among its heaviest words is nought."""
        texts, known = self.shape
        mean = np.round(np.bincount(self.columns, self.raw, known) / max(1, texts), 9)
        mean[np.argsort(-mean, kind="stable")[words:]] = 0
        return np.asarray(mean, np.float64)

    def sums(self, weights: Vector) -> Vector:
        """For each text, the weights of its words added up, each word once."""
        return np.asarray(np.bincount(self.rows, weights[self.columns], self.shape[0]), np.float64)
