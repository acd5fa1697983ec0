"""The null strategy in the middle: chance decides what is kept."""

from __future__ import annotations

from dataclasses import dataclass

from compactlab.sim.host import Host
from compactlab.sim.messages import Messages
from compactlab.sim.phase import Phase
from compactlab.sim.strategy import Strategy
from compactlab.sim.view import View
from compactlab.strategies.mechanisms.cut import current_turn, unasked
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
        messages, now = view.messages, current_turn(view.messages)
        start = self._tossed(messages, host)
        new = exchanges(messages[start:now])
        if start and any(exchange[0].role == "tool" for exchange in new):
            start, new = 0, exchanges(messages[:now])  # a late result: its call is further back
        dropped = {
            message.id
            for exchange in new
            if host.rng(exchange[0].id).random() >= self.share
            for message in exchange
        }
        left = (
            [message for message in messages if message.id not in dropped] if dropped else messages
        )
        place = now - len(dropped)
        host.notes["tossed"] = [place, left[place - 1].id if place else ""]
        if any(message.role == "tool" for message in messages[now:]):
            # A result that comes a turn late goes with its call, which may have gone long ago.
            late = set(map(id, unasked(left))) & set(map(id, messages[now:]))
            left = [message for message in left if id(message) not in late]
        return view.with_messages(left)

    @staticmethod
    def _tossed(messages: Messages, host: Host) -> int:
        """How many messages in front have been tossed for, and kept: tossing again is the same."""
        place, id = host.notes.get("tossed", (0, ""))
        stands = 0 < place <= len(messages) and messages[place - 1].id == id
        return place if stands else 0
