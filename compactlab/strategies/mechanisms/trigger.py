"""When it is time to compact: a number of tokens, or a share of the window."""

from __future__ import annotations

import math
from typing import Annotated, Any

from compactlab.sim.core.limits import Limit
from compactlab.sim.replay.host import Host


def _is_size(value: Any) -> bool:
    whole = math.isfinite(value) and value == int(value)
    return not isinstance(value, bool) and (0 < value <= 1 or (whole and value > 1))


Trigger = Annotated[
    int | float | None,
    Limit("a whole number of tokens, or a share of the window above 0 and at most 1", _is_size),
]
"""The size at which a strategy compacts; None is the rule of the system that it follows.

Above 1 it is a number of tokens, up to 1 a share of the model's window. Every strategy that waits
for the window has a field ``trigger`` of this type; *what* it compares with it (the last usage, an
estimate, a count) stays as its system does it.
"""


def tokens_at(trigger: float | None, host: Host, own: float) -> float:
    """Tokens at which it is time.

    Parameters
    ----------
    trigger
        What was asked for: tokens, a share of the window, or None.
    host
        Knows the window.
    own
        Tokens by the system's own rule, taken where nothing was asked for.

    Examples
    --------
    >>> from compactlab.sim.models.model import find_model
    >>> host = Host(find_model("claude-sonnet-4-5"))
    >>> [tokens_at(trigger, host, 167_000) for trigger in (None, 0.5, 120_000)]
    [167000, 100000, 120000]
    """
    if trigger is None:
        return own
    return int(host.window * trigger) if trigger <= 1 else trigger
