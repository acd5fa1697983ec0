"""Where a request stands among all requests of a replay."""

from __future__ import annotations

import msgspec


class Place(msgspec.Struct, frozen=True, gc=False):
    """Where a request stands among all requests of a replay, side calls among them."""

    number: int = 0  # how many requests were made before it
    # The number of the earlier request that shares most with its prompt, of those that went to the
    # same model; -1 if none shares anything.
    stem: int = -1
    kept: int = 0  # tokens that it shares with that one
