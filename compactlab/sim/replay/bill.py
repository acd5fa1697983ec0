"""What one request came to."""

from __future__ import annotations

import msgspec

from compactlab.sim.cache.place import Place
from compactlab.sim.core.message import Usage


class Bill(msgspec.Struct, frozen=True):
    """What one request came to: tokens by billing class, its cache-miss tokens by cause, its place."""

    usage: Usage
    causes: dict[str, int]
    place: Place
