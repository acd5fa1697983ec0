"""What one request came to."""

from __future__ import annotations

import msgspec

from compactlab.sim.cache.place import Place
from compactlab.sim.core.message import Usage


class Bill(msgspec.Struct, frozen=True):
    """What one request came to: tokens by billing class, and its cache-miss tokens by cause.

    And where it stands among all requests.
    """

    usage: Usage
    causes: dict[str, int]
    place: Place
