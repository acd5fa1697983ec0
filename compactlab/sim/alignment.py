"""Finds in texts the longest runs of words that other texts hold word by word."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

# Words of the shortest run that says where it is from; a choice. A. Broder, "On the resemblance
# and containment of documents", 1997, takes ten words to tell copies of documents. Set phrases
# ("let me know if you need anything else") are as long as seven, and lines of commands seldom
# are longer than eight.
LEAST = 8
# Places of one run that are told; what stands in more of them is boilerplate, and of no message.
MOST = 64

# Words, signs one by one, and characters of scripts that put no blanks between words.
_DENSE = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_TOKEN = re.compile(rf"[{_DENSE}]|[^\W{_DENSE}]+|[^\w\s]")


class Place(NamedTuple):
    """A piece of one of the texts: which one, from which character to which."""

    text: int
    start: int
    end: int


class Run(NamedTuple):
    """Words in a row that stand elsewhere as well.

    Parameters
    ----------
    start, end
        The characters of them, in the text that was asked about.
    words
        How many there are; signs do not count.
    places
        Where they stand, at most :data:`MOST` of the places.
    """

    start: int
    end: int
    words: int
    places: tuple[Place, ...]


def count_words(text: str) -> int:
    """How many words a text has.

    Examples
    --------
    >>> count_words("Look: it's a_b, 1.5!")
    6
    """
    return sum(text[m.start()].isalnum() or text[m.start()] == "_" for m in _TOKEN.finditer(text))


def aligned(known: Sequence[str], asked: Sequence[str], least: int = LEAST) -> list[list[Run]]:
    """Find what texts have from others: the longest run first, then the longest of what is left.

    Blanks and line breaks between words make no difference, everything else does. Of two runs of
    as many words, the one with more signs comes first, and then the one that stands first.

    Parameters
    ----------
    known
        The texts in which runs are looked for.
    asked
        The texts of which they are runs.
    least
        Words of the shortest run.

    Returns
    -------
    list
        Of each text that was asked about, its runs in the order in which they stand.

    Examples
    --------
    >>> aligned(["the port is 8123 now"], ["They say: the port is 8123, I think."], least=3)
    [[Run(start=10, end=26, words=4, places=(Place(text=0, start=0, end=16),))]]
    """
    texts = _Texts([*known, *asked])
    if not any(texts.spans[: len(known)]):
        return [[] for _ in asked]
    border = texts.begins[len(known)] if asked else len(texts.ids)
    suffixes = _Suffixes(texts.ids, border)
    lengths = suffixes.longest()
    found = []
    for number in range(len(known), len(known) + len(asked)):
        first, spans, words = texts.begins[number], texts.spans[number], texts.words(number)
        own = lengths[first - border : first - border + len(spans)]
        runs = []
        for start, stop in _covered(own, words, least):
            places = suffixes.places(first + start, stop - start)
            told = tuple(texts.place(place, stop - start) for place in places)
            count = words[stop] - words[start]
            runs.append(Run(spans[start][0], spans[stop - 1][1], count, told))
        found.append(runs)
    return found


class _Texts:
    """Texts as one row of numbers: one for each word, another one at the end of each text."""

    def __init__(self, texts: Sequence[str]) -> None:
        import numpy as np

        self.texts = texts
        self.spans = [[match.span() for match in _TOKEN.finditer(text)] for text in texts]
        self.begins = [0, *accumulate(len(spans) + 1 for spans in self.spans)]
        numbers: dict[str, int] = {}
        row: list[int] = []
        for place, (text, spans) in enumerate(zip(texts, self.spans, strict=True)):
            row += (numbers.setdefault(text[a:b], len(numbers)) for a, b in spans)
            row.append(-1 - place)
        self.ids = np.array(row, dtype=np.int64)

    def words(self, number: int) -> list[int]:
        """How many words stand before each token of a text, and in all of it."""
        text = self.texts[number]
        signs = (text[a].isalnum() or text[a] == "_" for a, _ in self.spans[number])
        return [0, *accumulate(map(int, signs))]

    def place(self, first: int, length: int) -> Place:
        """The characters of some tokens, counted over all texts."""
        number = bisect_right(self.begins, first) - 1
        spans, start = self.spans[number], first - self.begins[number]
        return Place(number, spans[start][0], spans[start + length - 1][1])


class _Suffixes:
    """All ends of a row of numbers, sorted, so that those that begin alike stand together.

    By doubling: what is sorted by its first 2^k numbers is easily sorted by twice as many. Those
    before the border are the ones in which the others are looked for.
    """

    def __init__(self, row: Numbers, border: int) -> None:
        import numpy as np

        _, rank = np.unique(row, return_inverse=True)
        self._size = size = len(row)
        self._levels = [rank]
        step = 1
        while rank.max(initial=0) < size - 1:
            key = rank * (size + 1)
            key[: size - step] += rank[step:] + 1
            _, rank = np.unique(key, return_inverse=True)
            self._levels.append(rank)
            step *= 2
        self._order = np.argsort(rank, kind="stable")
        self._rank, self._border = rank, border
        self._old = np.flatnonzero(self._order < border)

    def _shared(self, one: Numbers, two: Numbers) -> Numbers:
        """With how many equal numbers two ends begin, for many pairs of different ends."""
        import numpy as np

        total = np.zeros(len(one), dtype=np.int64)
        last = self._size - 1
        for level in range(len(self._levels) - 1, -1, -1):
            rank, a, b = self._levels[level], one + total, two + total
            same = (
                (rank[np.minimum(a, last)] == rank[np.minimum(b, last)]) & (a <= last) & (b <= last)
            )
            total += same * (1 << level)
        return total

    def longest(self) -> list[int]:
        """Of each end from the border on, with how many numbers an end before it begins alike."""
        import numpy as np

        asked = np.arange(self._border, self._size)
        here = np.searchsorted(self._old, self._rank[asked])
        best = np.zeros(len(asked), dtype=np.int64)
        for near in (here - 1, here):
            some = np.flatnonzero((near >= 0) & (near < len(self._old)))
            shared = self._shared(asked[some], self._order[self._old[near[some]]])
            best[some] = np.maximum(best[some], shared)
        return list(map(int, best))

    def places(self, first: int, length: int) -> list[int]:
        """Places before the border at which what stands at a place stands as well."""
        import numpy as np

        here = int(np.searchsorted(self._old, self._rank[first]))
        near = self._order[self._old[max(0, here - MOST) : here + MOST]]
        alike = self._shared(np.full(len(near), first), near) >= length
        return sorted(map(int, near[alike]))[:MOST]


def _covered(lengths: Sequence[int], words: Sequence[int], least: int) -> list[tuple[int, int]]:
    """Cover a text by the longest runs first, which may be cut where a longer one stands.

    Parameters
    ----------
    lengths
        Of each token, how many from it on stand elsewhere in a row.
    words
        How many words stand before each token.
    least
        Words of the shortest run.
    """
    runs = [
        _weighed(place, place + length, words)
        for place, length in enumerate(lengths)
        if length and (not place or lengths[place - 1] <= length)
    ]
    heapify(runs)
    taken = bytearray(len(lengths))
    found = []
    while runs:
        count, _, start, stop = heappop(runs)
        if -count < least:
            break
        if taken.find(1, start, stop) < 0:
            taken[start:stop] = b"\1" * (stop - start)
            found.append((start, stop))
        else:
            for left, right in _free(taken, start, stop):
                heappush(runs, _weighed(left, right, words))
    return sorted(found)


def _weighed(start: int, stop: int, words: Sequence[int]) -> tuple[int, int, int, int]:
    return words[start] - words[stop], start - stop, start, stop


def _free(taken: bytearray, start: int, stop: int) -> Iterator[tuple[int, int]]:
    while start < stop:
        start = taken.find(0, start, stop)
        if start < 0:
            return
        end = taken.find(1, start, stop)
        end = stop if end < 0 else end
        yield start, end
        start = end
