"""The null strategy in the middle: chance decides what is kept."""

from __future__ import annotations

from dataclasses import dataclass

from compactlab.sim.host import Host
from compactlab.sim.phase import Phase
from compactlab.sim.strategy import Strategy
from compactlab.sim.view import View
from compactlab.strategies.mechanisms.cut import current_turn, tail
from compactlab.strategies.mechanisms.exchange import exchanges


@dataclass(frozen=True)
class RandomKeep(Strategy):
    """Keep the current turn, and of what came before each exchange by the toss of a coin.

    A strategy that keeps as much as this one and remembers no more has not chosen at all. Each
    exchange is tossed for once, when its turn is over.

    Parameters
    ----------
    share
        Probability that an exchange is kept, 0 to 1.
    """

    share: float = 0.5
    phases = frozenset({Phase.BEFORE_TURN})

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise ValueError(f"share must be between 0 and 1, not {self.share}")

    def compact(self, view: View, host: Host) -> View:
        """Toss for what came before the current turn."""
        now = current_turn(view.messages)
        dropped = {
            message.id
            for exchange in exchanges(view.messages[:now])
            if host.rng(exchange[0].id).random() >= self.share
            for message in exchange
        }
        past = (message for message in view.messages[:now] if message.id not in dropped)
        return view.with_messages([*past, *tail(view.messages, now)])
