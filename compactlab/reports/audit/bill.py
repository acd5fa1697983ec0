"""The expected bill of a session, with an interval of 90 %.

Rules predict what follows from the log. Other losses are random: any call that could have read
everything may lose it, as often as calls in other sessions of the client. So the expected bill is
the rules' bill plus the expected losses; its interval comes from simulated sessions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, fsum
from random import Random

from compactlab.reports.audit.churning import Session, expected_losses, loss_cost
from compactlab.reports.audit.tally import input_costs
from compactlab.sim.core.errors import ModelError
from compactlab.sim.core.stream import stream
from compactlab.sim.replay.client import Churn

DRAWS = 1_000
# Calls with a lower probability are drawn together: their number of losses is nearly Poisson.
_RARE = 0.02
_LOW, _HIGH = 0.05, 0.95


@dataclass(frozen=True)
class BillForecast:
    """Dollars of a session's input."""

    recorded: float  # by the usage in the log
    rules: float  # by the rules alone
    expected: float  # by the rules, plus the expected random losses
    low: float  # the lower end of the 90 % interval
    high: float
    tokens: float  # expected cache-miss tokens

    @property
    def held(self) -> bool:
        """Whether the interval contains the recorded bill."""
        return self.low <= self.recorded <= self.high


@dataclass(frozen=True)
class _Chance:
    """A possible loss: its probability and its cost."""

    share: float
    cost: float


def forecast_bill(name: str, session: Session, churn: Churn) -> BillForecast | None:
    """Forecast the bill of a session with the churn of other sessions; None without a price."""
    try:
        costs = [input_costs(finding.forecast) for finding in session]
        chances, tokens = _chances(session, churn)
    except ModelError:
        return None
    rules = fsum(cost for cost, _ in costs)
    expected = rules + fsum(each.share * each.cost for each in chances)
    low, high = _interval(name, churn, rules, chances)
    tokens += sum(finding.forecast.cache_misses for finding in session)
    return BillForecast(fsum(cost for _, cost in costs), rules, expected, low, high, tokens)


def _chances(session: Session, churn: Churn) -> tuple[list[_Chance], float]:
    """The possible losses, and their expected tokens."""
    chances, tokens = [], 0.0
    for finding, front, messages in expected_losses(churn, session):
        read = finding.forecast.read
        behind = max(0, read - finding.forecast.system)
        for share, lost in ((front, read), (messages, behind)):
            if share and lost:
                chances.append(_Chance(share, loss_cost(finding, lost)))
                tokens += share * lost
    return chances, tokens


def _interval(
    name: str, churn: Churn, rules: float, chances: Sequence[_Chance]
) -> tuple[float, float]:
    """The 90 % interval of simulated bills.

    A simulated session draws its rate (gamma, as sessions differ), the error of the known rate
    (gamma, by the number of counted losses), then losses. The error of the rules is normal.
    """
    rng = stream(0, name, churn.client, "bill")
    often = [each for each in chances if each.share >= _RARE]
    rare = [each for each in chances if each.share < _RARE]
    weights = [each.share for each in rare]
    counted = fsum(rate.front + rate.messages for rate in (churn.turn, churn.call)) + 1
    drawn = []
    for _ in range(DRAWS):
        factor = rng.gammavariate(counted, 1 / counted)
        if churn.spread:
            factor *= rng.gammavariate(1 / churn.spread, churn.spread)
        cost = rules * (1 + rng.gauss(0.0, churn.error)) if churn.error else rules
        cost += fsum(each.cost for each in often if rng.random() < factor * each.share)
        many = _poisson(rng, factor * fsum(weights))
        cost += fsum(each.cost for each in rng.choices(rare, weights, k=many)) if many else 0.0
        drawn.append(cost)
    drawn.sort()
    return drawn[int(_LOW * DRAWS)], drawn[int(_HIGH * DRAWS) - 1]


def _poisson(rng: Random, mean: float) -> int:
    """Draw a Poisson number (Knuth, The Art of Computer Programming, volume 2, 3.4.1)."""
    limit, product, count = exp(-min(mean, 500.0)), rng.random(), 0
    while product > limit:
        product, count = product * rng.random(), count + 1
    return count
