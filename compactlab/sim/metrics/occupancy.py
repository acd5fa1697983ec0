"""In which states due facts are: the whole picture, of which amnesia is one side."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

from compactlab.sim.facts import STATES
from compactlab.sim.metrics.course import course, share
from compactlab.sim.metrics.metric import Metric
from compactlab.sim.metrics.reading import Reading


def _in_state(state: str) -> Callable[[Reading], float | None]:
    def occupancy(reading: Reading) -> float | None:
        found = course(reading)
        return share(map(attrgetter(state), found.states), found.due)

    occupancy.__name__ = occupancy.__qualname__ = f"occupancy_{state}"
    occupancy.__doc__ = (
        f"Share of due facts that are in the state {state}.\n\n"
        "All pairs of a call of the script and a fact due at it. The shares of all states add up "
        "to 1."
    )
    return occupancy


METRICS = tuple(
    Metric("share", "neither", f"due facts in the state {state}",
           "sum of such facts over sum of due facts, of all calls",
           "states as the project's notes on metrics define them, section 4", _in_state(state))
    for state in STATES
)  # fmt: skip
