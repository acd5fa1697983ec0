"""Triggers of compaction: a number of tokens, or a share of the window."""

from __future__ import annotations

import math
from typing import Annotated, Any

from compactlab.sim.core.limits import Limit
from compactlab.sim.replay.host import Host

SIZE = "a whole number of tokens, or a share of the window above 0 and at most 1"


def is_size(value: Any) -> bool:
    """Whether a number can be a number of tokens or a share."""
    if isinstance(value, bool) or not math.isfinite(value):
        return False
    return bool(0 < value <= 1 or value == int(value) > 1)


Trigger = Annotated[
    int | float | None,
    Limit(SIZE, is_size),
]
"""The size at which a strategy compacts; None is the rule of the system that it follows.

Above 1 it is a number of tokens, up to 1 a share of the model's window. Every strategy that waits
for the window has a field ``trigger`` of this type; *what* it compares with it (the last usage, an
estimate, a count) stays as its system does it.
"""


def tokens_at(trigger: float | None, host: Host, own: float) -> float:
    """Return the tokens of a trigger.

    Parameters
    ----------
    trigger
        The setting: tokens, a share of the window, or None.
    host
        The host, which knows the window.
    own
        Tokens by the system's own rule, used if the setting is None.

    Examples
    --------
    >>> from compactlab.sim.models.model import find_model
    >>> host = Host(find_model("claude-sonnet-4-5"))
    >>> [f"{tokens_at(trigger, host, 167_000):,}" for trigger in (None, 0.5, 120_000)]
    ['167,000', '100,000.0', '120,000']
    """
    if trigger is None:
        return own
    # Not rounded: the system's own rule decides whether it must be reached or exceeded.
    return host.window * trigger if trigger <= 1 else trigger
