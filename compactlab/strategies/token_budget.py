"""Fit the history into a token budget: the planner of OpenClaw's pull request 17345."""

from __future__ import annotations

from dataclasses import dataclass

from compactlab.sim.host import Host
from compactlab.sim.phase import Phase
from compactlab.sim.strategy import Lifetime, Strategy
from compactlab.sim.view import Messages, View
from compactlab.strategies.mechanisms.budget import Budget
from compactlab.strategies.mechanisms.cut import current_turn, starts_turn, tail
from compactlab.strategies.mechanisms.estimate import estimate, estimate_system


@dataclass(frozen=True)
class TokenBudget(Strategy):
    """Once a turn, drop the oldest messages until the history fits its budget.

    The turn before the current one is kept whatever its size. Results whose call was cut off go
    with it.

    Parameters
    ----------
    reserve
        Tokens kept free for the answer; OpenClaw's reserve floor.
    share
        Share of the rest that the history may take, 0.1 to 1.
    dynamic_ratio
        Share of the window held back for what is not known yet, 0 to 0.5.
    min_dynamic
        Tokens held back at least.
    """

    reserve: int = 20_000
    share: float = 1.0
    dynamic_ratio: float = 0.08
    min_dynamic: int = 1200
    phases = frozenset({Phase.BEFORE_TURN})
    lifetime = Lifetime.TURN

    def __post_init__(self) -> None:
        if not 0.1 <= self.share <= 1:
            raise ValueError(f"share must be between 0.1 and 1, not {self.share}")
        if not 0 <= self.dynamic_ratio <= 0.5:
            raise ValueError(f"dynamic_ratio must be between 0 and 0.5, not {self.dynamic_ratio}")
        if min(self.reserve, self.min_dynamic) < 0:
            raise ValueError("reserve and min_dynamic must not be negative")

    def compact(self, view: View, host: Host) -> View:
        """Plan the history; the current prompt counts as static."""
        now = current_turn(view.messages)
        history, prompt = view.messages[:now], view.messages[now:]
        if not history:
            return view
        static = estimate_system(view) + prompt.total(estimate)
        start = self._start(history, host.window, static)
        return view.with_messages(tail(view.messages, start))

    def _start(self, history: Messages, window: int, static: int) -> int:
        """Index of the first message of the history that is kept."""
        budget = Budget(
            window, self.reserve, static, self.share, self.dynamic_ratio, self.min_dynamic
        )
        if budget.available <= 0:
            return len(history) - 1
        last_turn = history.last_holding(starts_turn, 1)
        mandatory = len(history) - 1 if last_turn is None else last_turn
        return min(mandatory, history.tail_from(estimate, budget.tokens))
