"""What one request came to."""

from __future__ import annotations

import msgspec

from compactlab.sim.message import Usage
from compactlab.sim.place import Place


class Bill(msgspec.Struct, frozen=True):
    """What one request came to: tokens by billing class, and its fresh tokens by cause.

    And where it stands among all requests.
    """

    usage: Usage
    causes: dict[str, int]
    place: Place
