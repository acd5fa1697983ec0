"""What was spent: the whole recorded bill, input and output, in all and by session, model or day.

The same sums as those of ccusage: each call once, at the prices of its day.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from math import fsum

from compactlab.reports.audit.inquest import Finding
from compactlab.sim.core.errors import ModelError
from compactlab.sim.core.message import Usage
from compactlab.sim.models.pricing import prices_of
from compactlab.sim.models.rates import Bill

UNDATED = "undated"


@dataclass(frozen=True)
class Spent:
    """What some calls came to.

    Parameters
    ----------
    calls
        How many they were.
    usage
        Their tokens by billing class.
    bill
        Dollars by class; None if the price of one of them is not known.
    """

    calls: int
    usage: Usage
    bill: Bill | None

    @property
    def input(self) -> float | None:
        """Dollars of the prompts."""
        return None if self.bill is None else fsum(self.bill[:-1])

    @property
    def output(self) -> float | None:
        """Dollars of the answers."""
        return None if self.bill is None else self.bill.output

    @property
    def total(self) -> float | None:
        """Dollars in all."""
        return None if self.bill is None else fsum(self.bill)


def spent(findings: Iterable[Finding]) -> Spent:
    """Add up what some calls came to."""
    usage, bills = Usage(), [Bill(0.0, 0.0, 0.0, 0.0)]
    calls, priced = 0, True
    for finding in findings:
        exchange = finding.forecast.exchange
        usage, calls = usage + exchange.usage, calls + 1
        try:
            rates = prices_of(finding.forecast.model).rates(exchange.time, exchange.usage.prompt)
            bills.append(rates.bill(exchange.usage))
        except ModelError:
            priced = False
    sums = (
        Bill(*(fsum(column) for column in zip(*bills, strict=True))) if bills else Bill(0, 0, 0, 0)
    )
    return Spent(calls, usage, sums if priced else None)


def model_of(finding: Finding) -> str:
    """The model of a call."""
    return finding.forecast.model.name


def day_of(finding: Finding) -> str:
    """The day of a call, by UTC."""
    time = finding.forecast.exchange.time
    try:
        return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d}" if time else UNDATED
    except (ValueError, OverflowError, OSError):
        return UNDATED


def spent_by(key: Callable[[Finding], str], findings: Iterable[Finding]) -> Mapping[str, Spent]:
    """What was spent by day or by model, in ascending order of its name."""
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(key(finding), []).append(finding)
    return {name: spent(groups[name]) for name in sorted(groups)}
