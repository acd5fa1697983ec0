"""What each compaction cost, what it saved, and when the one had made up for the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from compactlab.sim.blocks import blocks_of
from compactlab.sim.metrics.price import EDITS, Prices, above_reading, if_larger
from compactlab.sim.model import Model
from compactlab.sim.trace import Step


@dataclass(frozen=True, slots=True)
class Payback:
    """One compaction: what it cost, and what it saved until the next one.

    Parameters
    ----------
    call
        The index of its call.
    premium
        Dollars that the tokens which it made fresh cost more than reading them.
    summary
        Dollars of the summaries that were asked for since the compaction before.
    removed
        Tokens by which the prompt was smaller than the one before with what had come since.
    calls
        Calls from this one on, until the next compaction.
    saved
        Dollars that the removed tokens would have cost on these calls, if they had been read.
    """

    call: int
    premium: float
    summary: float
    removed: int
    calls: int
    saved: float

    @property
    def break_even(self) -> float:
        """Calls after which it has paid for itself; infinite if it saves nothing."""
        spent = self.premium + self.summary
        if spent <= 0:
            return 0.0
        return spent * self.calls / self.saved if self.saved > 0 else math.inf

    @property
    def paid(self) -> bool:
        """Whether it had paid for itself before the next one, or the end."""
        return self.break_even <= self.calls


def paybacks(steps: Sequence[Step], prices: Prices) -> list[Payback]:
    """The account of each compaction, in order.

    Parameters
    ----------
    steps
        All calls of a run.
    prices
        What requests cost.
    """
    starts = [i for i, step in enumerate(steps) if step.compaction and i]
    summaries = [call for step in steps for call in step.side if call.purpose == "summary"]
    found: list[Payback] = []
    before = -1
    for i, end in pairwise([*starts, len(steps)]):
        number = steps[i].place.number
        asked = [call for call in summaries if before < call.place.number < number]
        removed = _removed(steps[i - 1], steps[i], prices.model(steps[i].model))
        found.append(
            Payback(
                i,
                above_reading(prices, steps[i], EDITS),
                math.fsum(prices.rates(call).cost(call.usage) for call in asked),
                removed,
                end - i,
                math.fsum(if_larger(prices, step, removed) for step in steps[i:end]),
            )
        )
        before = number
    return found


def _removed(last: Step, step: Step, model: Model) -> int:
    tokens = blocks_of(model.tokenizer).weight
    come = step.log.total(tokens) - last.log.total(tokens)
    return last.usage.prompt + come - step.usage.prompt
