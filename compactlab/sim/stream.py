"""Random numbers by name: every draw comes from a stream keyed by what it is for.

So adding a strategy, a conversation or a worker changes nobody else's draws, and the same seed
gives the same draws on every machine. Python's ``hash()`` is salted per process and never used.
"""

from __future__ import annotations

import hashlib
import random


def stream(root: int, *names: str | int) -> random.Random:
    """Open the stream of random numbers of that name.

    Parameters
    ----------
    root
        The experiment's seed.
    names
        What the draws are for, from the general to the particular.

    Examples
    --------
    >>> stream(0, "gaps").random() == stream(0, "gaps").random()
    True
    >>> stream(0, "gaps").random() == stream(0, "sizes").random()
    False
    """
    key = "\x1f".join(map(str, (root, *names))).encode("utf-8", "surrogatepass")
    return random.Random(int.from_bytes(hashlib.blake2b(key, digest_size=16).digest(), "big"))
