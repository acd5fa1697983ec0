"""What one request came to."""

from __future__ import annotations

import msgspec

from compactlab.sim.cache.place import Place
from compactlab.sim.core.message import Usage


class Bill(msgspec.Struct, frozen=True):
    """One request: tokens by billing class, cache-miss tokens by cause, and its place."""

    usage: Usage
    causes: dict[str, int]
    place: Place
