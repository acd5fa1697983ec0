"""The sign-flip permutation test: in each pair, a coin may swap the two names."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from compactlab.reports.statistics.product import products
from compactlab.reports.statistics.sample import SAME, Floats
from compactlab.sim.stream import stream

# All ways to flip so many pairs are tried; of more, as many are drawn as FLIPS says.
EXACT = 14
FLIPS = 9_999


def two_sided(differences: Floats) -> Floats:
    """How often flipped differences would sum up to as much as these, either way.

    Under the hypothesis that it is chance which of the two names stands where in each pair, all
    flips are equally likely (Fisher 1935, The Design of Experiments, section 21). Sums are as good
    as means and as ratios of sums: each grows with the other, as what both spend stays the same.

    Parameters
    ----------
    differences
        Strategies by conversations; 0 where there is no difference or no value.

    Returns
    -------
    numpy.ndarray
        A p by strategy: exact up to 14 pairs that differ; of more, 9,999 flips are drawn and what
        was seen counts as one more of them (Phipson and Smyth 2010, Statistical Applications in
        Genetics and Molecular Biology 9:39).

    Examples
    --------
    >>> two_sided(np.array([[1.0, 2.0, 3.0], [1.0, -1.0, 0.0]])).tolist()
    [0.25, 1.0]
    """
    return _shares(differences, both=True)


def one_sided(differences: Floats) -> Floats:
    """How often flipped differences would sum up to as little as these.

    Examples
    --------
    >>> one_sided(np.array([[-1.0, -2.0, -3.0], [1.0, 2.0, 3.0]])).tolist()
    [0.125, 1.0]
    """
    return _shares(differences, both=False)


def signed_ranks(differences: Floats) -> Floats:
    """Ranks of the differences by size, from 1 on, with their signs; 0 where there is none.

    With them the test is that of Wilcoxon (1945, Biometrics Bulletin 1:80): it can do with
    infinite values.

    Examples
    --------
    >>> signed_ranks(np.array([[0.0, -0.5, np.inf, 0.5]])).tolist()
    [[0.0, -1.5, 3.0, 1.5]]
    """
    ranks = np.zeros_like(differences)
    for row, own in zip(ranks, differences, strict=True):
        kept = np.flatnonzero(own)
        if len(kept):
            kept = kept[np.argsort(np.abs(own[kept]), kind="stable")]
            sizes = np.abs(own[kept])
            # Sizes that differ by rounding alone have one rank, the middle of theirs.
            group = np.cumsum([0, *(sizes[1:] > sizes[:-1] * (1 + SAME))])
            members = np.bincount(group)
            row[kept] = np.sign(own[kept]) * (np.cumsum(members) - (members - 1) / 2)[group]
    return ranks


def _shares(differences: Floats, both: bool) -> Floats:
    found = np.ones(len(differences))
    pairs = np.count_nonzero(differences, axis=1)
    few, many = (np.flatnonzero(flags) for flags in ((pairs > 0) & (pairs <= EXACT), pairs > EXACT))
    if len(few):
        found[few] = _enumerated(differences[few], int(pairs[few].max()), both)
    if len(many):
        found[many] = _as_far(differences[many], drawn_flips(differences.shape[1]), both)
    return found


def _enumerated(differences: Floats, pairs: int, both: bool) -> Floats:
    # Pairs without a difference are the same flipped, and those that differ come to the front.
    front = np.argsort(differences == 0, axis=1, kind="stable")[:, :pairs]
    own = np.take_along_axis(differences, front, axis=1)
    return _as_far(own, every_flip(pairs), both)


def _as_far(differences: Floats, flips: NDArray[np.int8], both: bool) -> Floats:
    """The share of flips whose sums are at least as far out as what was seen, or as low."""
    seen = differences.sum(axis=1, keepdims=True)
    # A sum that differs by rounding alone is as far out.
    margin = SAME * np.abs(differences).sum(axis=1, keepdims=True)
    count = np.zeros(len(differences))
    for _, sums in products(differences, flips):
        far = np.abs(sums) >= np.abs(seen) - margin if both else sums <= seen + margin
        count += far.sum(axis=1)
    return count / len(flips)


def conversations_needed(strategies: int, level: float = 0.05) -> int | None:
    """From how many conversations on a strategy can be told from the reference at all.

    With n conversations that all differ one way, the two-sided p is 2 / 2**n, and Holm's correction
    multiplies it by the number of strategies.

    Parameters
    ----------
    strategies
        How many are compared with the reference.
    level
        What the adjusted p has to stay below.

    Returns
    -------
    int or None
        None where so many strategies are compared that no number of conversations is enough, as p
        is never told finer than one over all flips.

    Examples
    --------
    >>> [conversations_needed(strategies) for strategies in (1, 7, 30, 500)]
    [6, 9, 11, None]
    """
    if strategies >= level * (FLIPS + 1):
        return None
    pairs = 1
    while strategies * 2 / 2**pairs >= level:
        pairs += 1
    return pairs


@lru_cache(maxsize=EXACT)
def every_flip(pairs: int) -> NDArray[np.int8]:
    """All ways to flip so many pairs; ways by pairs, 1 or -1."""
    ways = np.arange(2**pairs)[:, None] >> np.arange(pairs)
    return np.where(ways & 1, -1, 1).astype(np.int8)


@lru_cache(maxsize=8)
def drawn_flips(pairs: int) -> NDArray[np.int8]:
    """What was seen, and flips of so many pairs as they are drawn; ways by pairs, 1 or -1."""
    source = np.random.PCG64(stream(0, "flips", pairs).getrandbits(128))
    words = -(-FLIPS * pairs // 64)
    raw = np.atleast_1d(source.random_raw(words)).astype("<u8").view(np.uint8)
    bits = np.unpackbits(raw)[: FLIPS * pairs].reshape(FLIPS, pairs)
    flips = np.ones((FLIPS + 1, pairs), np.int8)
    # The first is what was seen: nothing is flipped.
    flips[1:] -= 2 * bits.view(np.int8)
    return flips
