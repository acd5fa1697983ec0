"""Where a request stands among all requests of a replay."""

from __future__ import annotations

import msgspec


class Place(msgspec.Struct, frozen=True, gc=False):
    """Where a request stands among all requests of a replay, side calls among them.

    Parameters
    ----------
    number
        How many requests were made before it.
    stem
        The number of the earlier request that its prompt goes on from: of all that went to the
        same model, none shares more. -1 if it shares nothing with any.
    kept
        Tokens that it shares with that one.
    """

    number: int = 0
    stem: int = -1
    kept: int = 0
