"""The avoidable part of a bill, and what a user can do about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import fsum

from compactlab.reports.audit.causes import Share, by_cause, charged, priced, shares
from compactlab.reports.audit.compactions import WITHIN, Rereads
from compactlab.reports.audit.ledger import AuditedFile
from compactlab.reports.render.fields import Field
from compactlab.reports.render.text import NONE, counted, dollars, show
from compactlab.sim.cache.anthropic import LIFETIMES
from compactlab.sim.core.message import Usage
from compactlab.sim.models.pricing import prices_of

_EXPIRY = "ttl_expired"
# The remedy for each cause; without one, a user can do nothing.
_HELPS = {
    _EXPIRY: "before a break that outlasts the cache: compact, or start a new session",
    "client_restart": "keep the client open between prompts; restart it when a task is done",
    "compaction": "compact where a task ends; clear what is done with",
    "model_switch": "switch models at the start of a session, or right after a compaction",
    "tools_changed": "connect servers of tools before the session, not within it",
    "settings_changed": "choose thinking and effort at the start of a session",
    "client_upgrade": "update the client between sessions",
    "history_edit": "the client changes earlier messages by itself; another version may not",
    "system_changed": "the client changes its system prompt by itself; look for hooks that do",
    "lookback_miss": "fewer tool calls in one answer",
}


AVOIDABLE = (
    Field("cause", write=str, words=True),
    Field("calls", label="rebuilds"),
    Field("cost_usd", "avoidable_cost", "cache waste, $", "USD"),
    Field(
        "helps",
        lambda share: _HELPS.get(share.cause, ""),
        "what helps",
        write=lambda helps: helps or NONE,
        words=True,
    ),
)


def avoidable(entries: Iterable[AuditedFile]) -> list[Share]:
    """The avoidable causes of some sessions, the most expensive first."""
    found = [share for share in by_cause(shares(entries)) if share.avoidable_cost]
    return sorted(found, key=lambda share: (-(share.avoidable_cost or 0.0), share.cause))


@dataclass(frozen=True)
class Longer:
    """Costs and savings of one-hour entries, for calls that asked for five minutes."""

    cost: float  # additional dollars for the same writes
    saved: float  # dollars for rebuilds after gaps of up to an hour, less the cost of reading


def longer(entries: Iterable[AuditedFile]) -> Longer | None:
    """Price the longer lifetime; None if no call requested the shorter one."""
    costs: list[float] = []
    saved: list[float] = []
    for finding in priced(entries):
        exchange = finding.forecast.exchange
        written = exchange.usage.cache_write_5m
        if not written:
            continue
        rates = prices_of(finding.forecast.model).rates(exchange.time, exchange.usage.prompt)
        hour, minutes = Usage(cache_write_1h=written), Usage(cache_write_5m=written)
        costs.append(rates.cost(hour) - rates.cost(minutes))
        if exchange.gap <= LIFETIMES["1h"]:
            expired = (above for charge, _, above in charged(finding) if charge.cause == _EXPIRY)
            saved += (above for above in expired if above)
    return Longer(fsum(costs), fsum(saved)) if costs else None


def read_again(found: Rereads) -> Iterator[str]:
    """State the repeated reads after compactions, compared with the usual number."""
    if not found.compactions:
        return
    cost = "" if found.cost is None else f" (${dollars(found.cost)} to send once)"
    reads = f"{counted(found.reads, 'read')} of files that had been read before"
    yield (
        f"Within {WITHIN} calls after {counted(found.compactions, 'compaction')} there were "
        f"{reads}: {show(found.tokens, 'tokens')} tokens{cost}. In as many calls before the "
        f"compactions there were {found.before:,}. Such a read followed {found.followed:,} of the "
        "compactions."
    )


def advice(entries: Sequence[AuditedFile]) -> Iterator[str]:
    """State the effect that the longer lifetime would have had."""
    hour = longer(entries)
    if hour is None:
        return
    net = hour.saved - hour.cost
    verdict = f"{'cheaper' if net > 0 else 'more expensive'} by ${dollars(abs(net))}"
    yield (
        f"With entries of an hour instead of five minutes, writes would have cost "
        f"${dollars(hour.cost)} more and rebuilds after breaks of up to an hour "
        f"${dollars(hour.saved)} less: {verdict} in all."
    )
