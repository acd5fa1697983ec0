"""The tally of an audit: totals, errors, rebuilds, causes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from compactlab.reports.audit.diagnosis import Finding
from compactlab.reports.audit.forecast import Forecast
from compactlab.sim.core.errors import ModelError
from compactlab.sim.core.message import Usage
from compactlab.sim.models.pricing import prices_of
from compactlab.sim.replay.sizes import REBUILD

# A call counts as near within this share of the tokens read.
_NEAR = 0.05


@dataclass(frozen=True)
class Pair:
    """An expected and a recorded figure."""

    expected: float
    recorded: float

    @property
    def error(self) -> float | None:
        """The relative error of the expected figure; None if nothing was recorded."""
        return self.expected / self.recorded - 1 if self.recorded else None

    def __add__(self, other: Pair) -> Pair:
        return Pair(self.expected + other.expected, self.recorded + other.recorded)


@dataclass(frozen=True)
class Rebuilds:
    """Calls that lost 4,000 tokens or more of what the previous call had left in the cache."""

    recorded: int = 0
    follow: int = 0  # with a reason in the log
    found: int = 0  # of these, expected ones
    invented: int = 0  # expected, but not recorded

    def __add__(self, other: Rebuilds) -> Rebuilds:
        return Rebuilds(
            self.recorded + other.recorded,
            self.follow + other.follow,
            self.found + other.found,
            self.invented + other.invented,
        )


@dataclass(frozen=True)
class Tally:
    """The tally of one or several sessions."""

    name: str
    client: str
    calls: int
    prompt: Pair
    read: Pair
    written: Pair  # tokens not read
    cost: Pair | None  # dollars of input; None if the price is unknown
    exact: float  # share of calls with exactly the expected read
    near: float  # share of calls within 5 %
    rebuilds: Rebuilds


def tally(name: str, client: str, findings: Sequence[Finding]) -> Tally:
    """Add up the calls of one session."""
    forecasts = [finding.forecast for finding in findings]
    reads = [(f.read, f.exchange.usage.cache_read) for f in forecasts]
    calls = len(findings)
    return Tally(
        name,
        client,
        calls,
        Pair(sum(f.prompt for f in forecasts), sum(f.exchange.usage.prompt for f in forecasts)),
        Pair(sum(one for one, _ in reads), sum(other for _, other in reads)),
        Pair(sum(f.cache_misses for f in forecasts), sum(f.cache_misses for f in findings)),
        _cost(forecasts),
        sum(one == other for one, other in reads) / calls,
        sum(abs(one - other) <= _NEAR * other for one, other in reads) / calls,
        _rebuilds(findings),
    )


def _rebuilds(findings: Iterable[Finding]) -> Rebuilds:
    total = Rebuilds()
    for finding in findings:
        happened = finding.lost >= REBUILD
        expected = finding.expected_lost >= REBUILD
        follows = happened and finding.follows
        total += Rebuilds(happened, follows, follows and expected, expected and not happened)
    return total


def _cost(forecasts: Sequence[Forecast]) -> Pair | None:
    total = Pair(0.0, 0.0)
    try:
        for forecast in forecasts:
            total += Pair(*input_costs(forecast))
    except ModelError:
        return None
    return total


def input_costs(forecast: Forecast) -> tuple[float, float]:
    """Expected and recorded dollars of a call's input."""
    usage, lookup = forecast.exchange.usage, forecast.lookup
    rates = prices_of(forecast.model).rates(forecast.exchange.time, usage.prompt)
    written = min(forecast.cache_misses, lookup.write_5m + lookup.write_1h)
    hour = min(written, lookup.write_1h)
    expected = Usage(forecast.cache_misses - written, forecast.read, written - hour, hour)
    recorded = Usage(usage.uncached, usage.cache_read, usage.cache_write_5m, usage.cache_write_1h)
    return rates.cost(expected), rates.cost(recorded)


def causes(findings: Iterable[Finding]) -> dict[tuple[str, str], int]:
    """Recorded cache-miss tokens by cause and evidence, most first."""
    total: dict[tuple[str, str], int] = {}
    for finding in findings:
        for cause, tokens, ground in finding.charges:
            total[cause, ground] = total.get((cause, ground), 0) + tokens
    return dict(sorted(total.items(), key=lambda item: (-item[1], item[0])))
