"""How alike texts are: cosines between their TF-IDF vectors, the same on every machine."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from compactlab.summarizers.units import WORD

Vector = NDArray[np.float64]


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
        bags = [Counter(WORD.findall(text.lower())) for text in texts]
        spread = Counter(word for bag in bags for word in bag)
        number = {word: index for index, word in enumerate(spread)}
        idf = {word: 1 + math.log(len(texts) / units) for word, units in spread.items()}
        self.shape = len(texts), len(number)
        self.rows = np.array([row for row, bag in enumerate(bags) for _ in bag], np.intp)
        self.columns = np.array([number[word] for bag in bags for word in bag], np.intp)
        #: TF-IDF of each word of each text
        self.raw = np.array([n * idf[word] for bag in bags for word, n in bag.items()], np.float64)
        norms = np.sqrt(np.bincount(self.rows, self.raw**2, self.shape[0]))
        self.weights = self.raw / norms[self.rows]

    def times(self, x: Vector) -> Vector:
        """Multiply the matrix by a vector."""
        texts, words = self.shape
        inner = np.bincount(self.columns, self.weights * x[self.rows], words)
        outer = np.bincount(self.rows, self.weights * inner[self.columns], texts)
        return np.asarray(outer, np.float64)

    def of(self, text: int) -> Vector:
        """Cosines of one text with all."""
        one = np.zeros(self.shape[0])
        one[text] = 1
        return self.times(one)

    def centroid(self, words: int) -> Vector:
        """The mean TF-IDF vector of all texts; what is not among its heaviest words is nought."""
        texts, known = self.shape
        mean = np.round(np.bincount(self.columns, self.raw, known) / max(1, texts), 9)
        mean[np.argsort(-mean, kind="stable")[words:]] = 0
        return np.asarray(mean, np.float64)

    def sums(self, weights: Vector) -> Vector:
        """For each text, the weights of its words added up, each word once."""
        return np.asarray(np.bincount(self.rows, weights[self.columns], self.shape[0]), np.float64)
