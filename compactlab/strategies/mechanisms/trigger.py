"""When it is time to compact."""

from __future__ import annotations

from compactlab.sim.host import Host
from compactlab.sim.view import View
from compactlab.strategies.mechanisms.estimate import context_tokens


def over_reserve(view: View, host: Host, reserve: int) -> bool:
    """Whether the context has grown into the reserve; as pi's ``shouldCompact``, strictly."""
    return context_tokens(view, host) > host.window - reserve


def pressure(view: View, host: Host) -> float:
    """Share of the window that the context fills."""
    return context_tokens(view, host) / host.window
