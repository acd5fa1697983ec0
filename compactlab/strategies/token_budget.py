"""Fit the history into a token budget: the planner of OpenClaw's pull request 17345."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from compactlab.sim.host import Host
from compactlab.sim.messages import Messages
from compactlab.sim.phase import Phase
from compactlab.sim.strategy import Lifetime, Strategy
from compactlab.sim.view import View
from compactlab.strategies.mechanisms.cut import current_turn, last_turns
from compactlab.strategies.mechanisms.openclaw.pairs import BREAKS, Mender
from compactlab.strategies.mechanisms.openclaw.planner import (
    DYNAMIC_RESERVE_RATIO,
    MIN_DYNAMIC_RESERVE_TOKENS,
    Budget,
    plan,
    static_tokens,
)
from compactlab.strategies.mechanisms.per_replay import PerReplay


@dataclass(frozen=True)
class TokenBudget(Strategy):
    """Once a turn, drop the oldest messages until the history fits its budget.

    After the planner of OpenClaw's pull request 17345 (commit 84e6946), which was never merged.
    The budget is what the window leaves beside a reserve for the answer, the system prompt, the
    prompt of the current turn and a reserve for what is not known yet, less a tenth for safety.
    The turn before the current one is kept whatever its size. Then come the limit of turns and a
    repair of calls and results, which the plan may have cut apart; if nothing is left, the history
    stays as it is.

    Exact are plan, order and repair. Simplified: the definitions of tools count as part of the
    system prompt, and a summary beside the transcript (``summary_sidecar``) does not count.

    Parameters
    ----------
    reserve_tokens_floor
        Tokens kept free for the answer.
    max_history_share
        Share of the rest that the history may take, 0.1 to 1.
    dynamic_reserve_ratio
        Share of the window held back for what is not known yet, 0 to 0.5.
    min_dynamic_reserve_tokens
        Tokens held back at least.
    history_limit
        How many turns at most; 0 for no limit, as in the original where none is configured.
    """

    reserve_tokens_floor: int = 20_000
    max_history_share: float = 1.0
    dynamic_reserve_ratio: float = DYNAMIC_RESERVE_RATIO
    min_dynamic_reserve_tokens: int = MIN_DYNAMIC_RESERVE_TOKENS
    history_limit: int = 0
    phases = frozenset({Phase.BEFORE_TURN})
    lifetime = Lifetime.TURN
    breaks = BREAKS
    menders: PerReplay[Mender] = field(
        default_factory=partial(PerReplay, Mender), init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        share, ratio = self.max_history_share, self.dynamic_reserve_ratio
        if not 0.1 <= share <= 1:
            raise ValueError(f"max_history_share must be between 0.1 and 1, not {share}")
        if not 0 <= ratio <= 0.5:
            raise ValueError(f"dynamic_reserve_ratio must be between 0 and 0.5, not {ratio}")
        for name in ("reserve_tokens_floor", "min_dynamic_reserve_tokens", "history_limit"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative, not {getattr(self, name)}")

    def compact(self, view: View, host: Host) -> View:
        """Plan the history; the current prompt is no part of it."""
        messages = view.messages
        now = current_turn(messages)
        static = _static(view, messages[now:])
        first = plan(messages[:now], self._budget(host.window, static)).first or 0
        first += last_turns(messages[first:now], self.history_limit)
        history = messages[first:now]
        mended = self.menders.of(host).mend(history)
        if mended is history:
            return view.with_messages(messages[first:])
        return view.with_messages(mended.append(*messages[now:])) if mended else view

    def _budget(self, window: int, static: int) -> Budget:
        return Budget(
            window,
            self.reserve_tokens_floor,
            static,
            self.max_history_share,
            self.dynamic_reserve_ratio,
            self.min_dynamic_reserve_tokens,
        )


def _static(view: View, prompt: Messages) -> int:
    """Tokens that are sent in any case, those of parts whose text is not known among them."""
    said = [part for message in prompt for part in message.parts if part.type != "image"]
    texts = ("\n".join(part.text for part in parts) for parts in (view.system, said))
    return static_tokens(*texts) + sum(part.size for part in (*view.system, *said))
