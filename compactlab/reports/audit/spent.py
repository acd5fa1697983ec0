"""What was spent: the whole recorded bill, in all and by model, day, project, agent and session.

The same sums as those of ccusage: each call once, at the prices of its day.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import fsum
from typing import Any, NamedTuple

from compactlab.reports.render.text import plain
from compactlab.sim.core.errors import ModelError
from compactlab.sim.core.message import Usage
from compactlab.sim.models.model import Model
from compactlab.sim.models.pricing import prices_of
from compactlab.sim.models.rates import Bill
from compactlab.sim.replay.recording import Exchange

UNDATED = "undated"
UNPLACED = "(not named)"
AGENTS = ("main agents", "sub-agents")


class Billed(NamedTuple):
    """A recorded call, and the model at whose prices it was billed."""

    exchange: Exchange
    model: Model


@dataclass(frozen=True)
class Session:
    """The calls of one session, and what is known of where they were made."""

    name: str
    file: str
    project: str
    subagent: bool
    calls: Sequence[Billed]


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
        Dollars by class, of the calls whose prices are known; None if that is none of them.
    unpriced
        Calls whose prices are not known.
    """

    calls: int
    usage: Usage
    bill: Bill | None
    unpriced: int = 0

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


def spent(calls: Iterable[Billed]) -> Spent:
    """Add up what some calls came to."""
    usages, bills = [Usage()], [Bill(0.0, 0.0, 0.0, 0.0)]
    unpriced = 0
    for exchange, model in calls:
        usages.append(exchange.usage)
        try:
            rates = prices_of(model).rates(exchange.time, exchange.usage.prompt)
            bills.append(rates.bill(exchange.usage))
        except ModelError:
            unpriced += 1
    whole = Usage(*(sum(getattr(u, name) for u in usages) for name in Usage.__struct_fields__))
    sums = Bill(*(fsum(column) for column in zip(*bills, strict=True)))
    count = len(usages) - 1
    return Spent(count, whole, sums if unpriced < count or not count else None, unpriced)


def day_of(time: float) -> str:
    """The day of a call, by UTC."""
    try:
        return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d}" if time else UNDATED
    except (ValueError, OverflowError, OSError):
        return UNDATED


@dataclass(frozen=True)
class Spending:
    """What was spent in some sessions."""

    sessions: Sequence[Session]

    @property
    def whole(self) -> Spent:
        """All of it."""
        return spent(call for session in self.sessions for call in session.calls)

    def by_model(self) -> Mapping[str, Spent]:
        """By the model, in the order of names."""
        return _by((call.model.name, call) for each in self.sessions for call in each.calls)

    def by_day(self) -> Mapping[str, Spent]:
        """By the day on which a call began (UTC), the first one first."""
        calls = (call for each in self.sessions for call in each.calls)
        return _by((day_of(call.exchange.time), call) for call in calls)

    def by_project(self) -> Mapping[str, Spent]:
        """By the folder that the agent worked in, the most expensive first."""
        return _dearest(
            _by((each.project or UNPLACED, call) for each in self.sessions for call in each.calls)
        )

    def by_agent(self) -> Mapping[str, Spent]:
        """Main agents and sub-agents apart."""
        return _by((AGENTS[each.subagent], call) for each in self.sessions for call in each.calls)

    def by_session(self) -> list[tuple[Session, Spent]]:
        """By session, the most expensive first."""
        pairs = [(each, spent(each.calls)) for each in self.sessions]
        return sorted(pairs, key=lambda pair: (-(pair[1].total or 0.0), pair[0].name))

    def data(self) -> dict[str, Any]:
        """All of it for programs: ``docs/formats.md`` says what the keys mean."""
        return {
            **_data(self.whole),
            "by_day": [{"day": day, **_data(each)} for day, each in self.by_day().items()],
            "by_model": [{"model": name, **_data(each)} for name, each in self.by_model().items()],
            "by_project": [{"project": n, **_data(each)} for n, each in self.by_project().items()],
            "by_agent": [{"agent": name, **_data(each)} for name, each in self.by_agent().items()],
            "by_session": [
                {"session": session.name, "file": session.file, **_data(each)}
                for session, each in self.by_session()
            ],
        }


def _by(named: Iterable[tuple[str, Billed]]) -> dict[str, Spent]:
    groups: dict[str, list[Billed]] = {}
    for name, call in named:
        groups.setdefault(name, []).append(call)
    return {name: spent(groups[name]) for name in sorted(groups)}


def _dearest(groups: Mapping[str, Spent]) -> dict[str, Spent]:
    return dict(sorted(groups.items(), key=lambda pair: -(pair[1].total or 0.0)))


def _data(each: Spent) -> dict[str, Any]:
    usage = each.usage
    return {
        "calls": each.calls,
        "uncached_tokens": usage.uncached,
        "write_5m_tokens": usage.cache_write_5m,
        "write_1h_tokens": usage.cache_write_1h,
        "read_tokens": usage.cache_read,
        "output_tokens": usage.output,
        "unpriced_calls": each.unpriced,
        "input_usd": plain(each.input),
        "output_usd": plain(each.output),
        "total_usd": plain(each.total),
    }
