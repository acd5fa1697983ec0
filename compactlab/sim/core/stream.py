"""Named random streams: every draw comes from a stream with the name of its purpose.

So adding a strategy, a conversation or a worker does not change other draws, and a seed gives the
same draws on every machine. Python's ``hash()`` is salted per process and never used.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Sequence
from typing import TypeVar

_T = TypeVar("_T")


def stream(root: int, *names: str | int) -> random.Random:
    """Return the random stream of a name.

    Parameters
    ----------
    root
        The experiment's seed.
    names
        The purpose of the draws, from general to specific.

    Examples
    --------
    >>> stream(0, "gaps").random() == stream(0, "gaps").random()
    True
    >>> stream(0, "gaps").random() == stream(0, "sizes").random()
    False
    """
    key = "\x1f".join(map(str, (root, *names))).encode("utf-8", "surrogatepass")
    return random.Random(int.from_bytes(hashlib.blake2b(key, digest_size=16).digest(), "big"))


def chooser(rng: random.Random, choices: Sequence[_T]) -> Callable[[], _T]:
    """Return a function that draws from fixed choices like ``rng.choice``, in half the time.

    Examples
    --------
    >>> dice, other = chooser(stream(0, "dice"), range(1, 7)), stream(0, "dice")
    >>> [dice() for _ in range(9)] == [other.randint(1, 6) for _ in range(9)]
    True
    """
    count = len(choices)
    bits, width = rng.getrandbits, count.bit_length()

    def choose() -> _T:
        drawn = bits(width)
        while drawn >= count:
            drawn = bits(width)
        return choices[drawn]

    return choose
