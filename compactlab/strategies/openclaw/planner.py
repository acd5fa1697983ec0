"""The planner of OpenClaw's pull request 17345: the part of a history that fits a token budget."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

from compactlab.sim.core.limits import at_least, between
from compactlab.sim.core.message import Message, Weight
from compactlab.sim.core.tokens import chars4, utf16_length
from compactlab.sim.core.view import Messages, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act
from compactlab.strategies.mechanisms.cut import current_turn, last_turns, starts_turn
from compactlab.strategies.mechanisms.estimate import estimate, role_of
from compactlab.strategies.mechanisms.text import BLANKS
from compactlab.strategies.openclaw.pairs import Mending

# Share of a budget that the planner leaves free, because its token counts are estimates.
SAFETY_RATIO = 0.9
DYNAMIC_RESERVE_RATIO = 0.08
MIN_DYNAMIC_RESERVE_TOKENS = 1200
CHARS_PER_TOKEN = 3.6

Outcome = Literal[
    "empty", "invalid-budget", "under-budget", "mandatory-tail-only", "budget-trimmed"
]


def available(rule: TokenBudget, window: int, static: int) -> int:
    """Return the window's tokens for the history, before margin and share; may be negative."""
    dynamic = max(int(window * rule.dynamic_reserve_ratio), rule.min_dynamic_reserve_tokens)
    return window - rule.reserve_tokens_floor - static - dynamic


class Plan(NamedTuple):
    """The part of a history to keep, and the reason."""

    # ``empty``: there is no history. ``invalid-budget``: no tokens are left, so only the last
    # message is kept. ``under-budget``: everything fits. ``mandatory-tail-only``: the last user
    # message and the messages after it fill the budget. ``budget-trimmed``: the oldest messages are
    # dropped.
    outcome: Outcome
    # Whether the planner reports trimming; always true if only a tail is kept, even if that is
    # everything.
    trimmed: bool
    first: int | None  # index of the first message that is kept; None if there is none
    # before, after: estimated tokens of the history and of the kept part
    before: int
    after: int
    budget: int  # tokens available

    @property
    def dropped(self) -> int:
        """The number of dropped messages."""
        return self.first or 0

    @property
    def dropped_tokens(self) -> int:
        """The estimated tokens of dropped messages."""
        return self.before - self.after


def plan(messages: Messages, room: int, share: float, weight: Weight | None = None) -> Plan:
    """Choose the part of a history that fits a share of the budget, as ``planContextMessages``.

    The oldest messages are dropped, possibly within a turn. The user's last message and the
    messages after it are always kept. Others must repair calls and results. The prompt about to be
    sent is not part of the history.
    """
    if not messages:
        return Plan("empty", False, None, 0, 0, 0)
    weight = weight or planned_tokens
    # The order of the products determines the rounding of the last bit.
    tokens = max(1, math.floor(room * SAFETY_RATIO * share))
    total, last = messages.total(weight), len(messages) - 1
    if room <= 0:
        return Plan("invalid-budget", True, last, total, messages[last:].total(weight), tokens)
    if total <= tokens:
        return Plan("under-budget", False, 0, total, total, tokens)
    turn = messages.last_holding(starts_turn, 1)
    mandatory = last if turn is None else turn
    tail = messages[mandatory:].total(weight)
    if tail >= tokens:
        return Plan("mandatory-tail-only", True, mandatory, total, tail, tokens)
    first = min(mandatory, messages.tail_from(weight, tokens))
    return Plan("budget-trimmed", first > 0, first, total, messages[first:].total(weight), tokens)


def planned_tokens(message: Message, written: Callable[[Message], str] | None = None) -> int:
    """Estimate a message as the planner does: as pi, or by its length as JSON if pi counts 0."""
    return estimate(message) or _by_length((written or as_json)(message))


def _by_length(text: str) -> int:
    return max(1, math.ceil(utf16_length(text) / CHARS_PER_TOKEN))


def as_json(message: Message) -> str:
    """Write a message in pi's form, as far as it is known here.

    An answer's model name and usage, which pi keeps with it, are left out, so an empty answer is
    smaller than there.
    """
    content = [{"type": part.type, "text": part.text} for part in message.parts]
    time = round(message.time * 1000)
    fields = {"role": role_of(message), "content": content, "timestamp": time}
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False)


def text_tokens(text: str) -> int:
    """Estimate a text: a quarter of its length, rounded up; 0 for blanks."""
    return chars4(text) if text.strip(BLANKS) else 0


def static_tokens(system: str, prompt: str) -> int:
    """Estimate the fixed parts of a prompt: ``computeStaticPromptTokens``."""
    return text_tokens(system) + text_tokens(prompt)


@dataclass(frozen=True)
class TokenBudget(Mending):
    """Once a turn, drop the oldest messages until the history fits its budget.

    The planner of OpenClaw's pull request 17345 (commit 84e6946, never merged). The budget is the
    window less the answer's reserve, the system prompt, the current prompt and a dynamic reserve,
    less a tenth for safety. The previous turn is always kept. Then the limit of turns applies, and
    calls and results, which the plan may have separated, are repaired. If nothing remains, the
    history stays unchanged.

    Exact: plan, order and repair. Simplified: tool definitions count as part of the system prompt,
    and lines of ``summary_sidecar`` do not count.

    Parameters
    ----------
    reserve_tokens_floor
        Tokens kept free for the answer.
    max_history_share
        Share of the rest for the history, 0.1 to 1.
    dynamic_reserve_ratio
        Share of the window reserved for unknown content, 0 to 0.5.
    min_dynamic_reserve_tokens
        Minimum of this reserve.
    history_limit
        Maximum number of turns; 0 for no limit, the original's default.
    """

    does = (Act.TRUNCATE,)
    waits = "nothing: every turn it plans for what the window leaves"

    reserve_tokens_floor: Annotated[int, at_least(0)] = 20_000
    max_history_share: Annotated[float, between(0.1, 1)] = 1.0
    dynamic_reserve_ratio: Annotated[float, between(0, 0.5)] = DYNAMIC_RESERVE_RATIO
    min_dynamic_reserve_tokens: Annotated[int, at_least(0)] = MIN_DYNAMIC_RESERVE_TOKENS
    history_limit: Annotated[int, at_least(0)] = 0

    def compact(self, view: View, host: Host) -> View:
        messages = view.messages
        now = current_turn(messages)
        static = _static(view, messages[now:])
        room = available(self, host.window, static)
        planned = plan(messages[:now], room, self.max_history_share)
        host.believe(static + planned.before, view)
        first = planned.first or 0
        first += last_turns(messages[first:now], self.history_limit)
        return self.cut(view, host, first)


def _static(view: View, prompt: Messages) -> int:
    """Return the tokens of the fixed parts, including those without known text."""
    spoken = [part for message in prompt for part in message.parts if part.type != "image"]
    texts = ("\n".join(part.text for part in parts) for parts in (view.system, spoken))
    return static_tokens(*texts) + sum(part.size for part in (*view.system, *spoken))
