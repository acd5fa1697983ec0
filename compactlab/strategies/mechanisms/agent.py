"""What a whole agent is: a pipeline under a name of its own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property

from compactlab.sim.core.view import View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Pipeline, Strategy


class Agent(Strategy):
    """A composition of strategies that people run, with the version that it follows.

    The loop asks its parts, as it does with a pipeline; its own fields choose them.
    """

    def __post_init__(self) -> None:
        """Build the parts at once, so that what they refuse is refused here."""
        _ = self.parts

    @abstractmethod
    def steps(self) -> tuple[Strategy, ...]:
        """The strategies, in the order in which they are asked."""

    @cached_property
    def parts(self) -> tuple[Strategy, ...]:
        """The parts, those of nested compositions among them."""
        return Pipeline(self.steps()).parts

    @property
    def breaks(self) -> Mapping[str, str]:  # type: ignore[override]
        """What its parts break."""
        return Pipeline(self.parts).breaks

    def compact(self, view: View, host: Host) -> View:
        """Ask all parts in turn, as if all were asked at this moment."""
        return Pipeline(self.parts).compact(view, host)
