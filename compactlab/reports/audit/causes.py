"""Causes of recorded cache misses, with their tokens and dollars."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum

from compactlab.reports.audit.compactions import WITHIN, Rereads
from compactlab.reports.audit.diagnosis import Charge, Finding
from compactlab.reports.audit.ledger import AuditedFile, Ledger
from compactlab.reports.bill import not_understood, of_models, skipped
from compactlab.reports.charts.palette import PATTERNS, cause_colours
from compactlab.reports.render.fields import Field
from compactlab.reports.render.text import NONE, counted, dollars, listed, show
from compactlab.sim.cache.anthropic import LIFETIMES
from compactlab.sim.cache.causes import ORDINARY
from compactlab.sim.core.message import Usage
from compactlab.sim.models.pricing import Charge as Price
from compactlab.sim.models.pricing import prices_of
from compactlab.sim.models.rates import read_instead

# The evidence for a cause.
GROUNDS = {
    "provider": "the provider",
    "log": "log",
    "read": "tokens read",
    "pattern": "only at new turns",
    "none": "none",
}

# The words for each cause.
WORDS = {
    "append": "new text",
    "cold_start": "cold starts",
    "ttl_expired": "rebuilds after cache expiry",
    "compaction": "rebuilds after compactions",
    "history_edit": "rebuilds after the client changed earlier messages",
    "system_changed": "rebuilds after the client changed its system prompt",
    "tools_changed": "rebuilds after the client changed its tools",
    "client_restart": "rebuilds after a restart of the client",
    "settings_changed": "rebuilds after a change of thinking mode or effort",
    "client_upgrade": "rebuilds after an update of the client",
    "thinking_strip": "rebuilds after earlier thinking was dropped",
    "model_switch": "rebuilds after a switch of the model",
    "rewind": "rebuilds after a rewind",
    "lookback_miss": "rebuilds beyond the lookback of the cache",
    "eviction": "rebuilds after an eviction by the provider",
    "concurrent_cold": "rebuilds of entries that were still being written",
    "below_minimum": "prompts too short for the cache",
    "grid": "tokens after the last full block of the cache",
    "no_cache": "prompts without a cache",
    "unexplained": "unexplained rebuilds",
}


# Evidence that suggests a cause that neither the log nor the provider names.
_INFERRED = {"read", "pattern"}


def in_words(cause: str, grounds: Collection[str]) -> str:
    """The words for a cause, and whether it is only inferred."""
    words = WORDS.get(cause, f"rebuilds ({cause})")
    if _INFERRED.isdisjoint(grounds):
        return words
    inferred = "inferred, not in the log" if _INFERRED.issuperset(grounds) else "partly inferred"
    return f"{words} ({inferred})"


@dataclass(frozen=True)
class Share:
    """The amounts of one cause."""

    cause: str
    ground: str  # a key of GROUNDS
    tokens: int = 0
    dollars: float | None = None  # None if the price is unknown
    avoidable_cost: float | None = None  # None: also for new text
    calls: int = 0

    def __add__(self, other: Share) -> Share:
        """The sum of two shares of one cause."""
        return replace(
            self,
            tokens=self.tokens + other.tokens,
            dollars=_sum(self.dollars, other.dollars),
            avoidable_cost=_sum(self.avoidable_cost, other.avoidable_cost),
            calls=self.calls + other.calls,
        )


def _sum(one: float | None, other: float | None) -> float | None:
    return other if one is None else one if other is None else one + other


def shares(entries: Iterable[AuditedFile]) -> list[Share]:
    """The amounts of the causes in some sessions, most tokens first.

    Sessions without known prices only add tokens.
    """
    by_key: dict[tuple[str, str], Share] = {}
    for entry in entries:
        priced = entry.audited.recorded.cost is not None
        for finding in entry.audited.findings:
            for charge, cost, avoidable_cost in charged(finding, priced):
                key = charge.cause, charge.ground
                more = Share(*key, charge.tokens, cost, avoidable_cost, 1)
                by_key[key] = by_key[key] + more if key in by_key else more
    return sorted(by_key.values(), key=lambda share: (-share.tokens, share.cause, share.ground))


def by_cause(by_ground: Iterable[Share]) -> list[Share]:
    """The amounts by cause, for all evidence together."""
    total: dict[str, Share] = {}
    for each in by_ground:
        total[each.cause] = total.get(each.cause, Share(each.cause, "")) + each
    return list(total.values())


Charged = tuple[Charge, float | None, float | None]


def charged(finding: Finding, priced: bool = True) -> Iterator[Charged]:
    """Each charge of a call with its dollars, and the part above the cost of reading.

    Lost tokens precede new ones in the prompt, and longer-lived entries precede shorter-lived ones.
    So the classes of the recorded usage are assigned to the charges from the front.
    """
    usage = finding.forecast.exchange.usage
    rates = _rates(finding) if priced else None
    edge = 0
    for charge in sorted(finding.charges, key=lambda charge: charge.cause in ORDINARY):
        span = (edge, edge + charge.tokens)
        edge += charge.tokens
        if rates is None:
            yield charge, None, None
            continue
        above = rates.cost(usage) - rates.cost(read_instead(usage, [span]))
        dollars = above + rates.cost(Usage(cache_read=charge.tokens))
        yield charge, dollars, None if charge.cause in ORDINARY else above


def read_cost(entries: Iterable[AuditedFile]) -> float:
    """Dollars for cache reads in the sessions with known prices."""
    return fsum(_rates(each).cost(Usage(cache_read=each.read)) for each in priced(entries))


def priced(entries: Iterable[AuditedFile]) -> Iterator[Finding]:
    """The calls of the sessions with known prices."""
    for entry in entries:
        if entry.audited.recorded.cost is not None:
            yield from entry.audited.findings


def _rates(finding: Finding) -> Price:
    exchange = finding.forecast.exchange
    return prices_of(finding.forecast.model).rates(exchange.time, exchange.usage.prompt)


# How many causes are named, and the share below which none is.
_NAMED = 4
_LEAST = 0.01


def headline(entries: Sequence[AuditedFile]) -> list[str]:
    """State the cost of the input of some sessions, by cause."""
    totals = by_cause(by_ground := shares(entries))
    words = {
        each.cause: in_words(each.cause, [of.ground for of in by_ground if of.cause == each.cause])
        for each in totals
    }
    priced = [entry for entry in entries if entry.audited.recorded.cost is not None]
    if not priced:
        read = sum(entry.audited.recorded.read.recorded for entry in entries)
        whole, parts = _parts(read, {words[share.cause]: share.tokens for share in totals})
        tokens = f"{show(whole, 'tokens')} tokens of input"
        return [f"{tokens}{_scope(entries)}: {parts}. No price is known."]
    costs = {words[share.cause]: share.dollars or 0.0 for share in totals}
    whole, parts = _parts(read_cost(priced), costs)
    sentences = [f"${dollars(whole)} of input{_scope(priced)}: {parts}."]
    avoidable_cost = fsum(share.avoidable_cost or 0.0 for share in totals)
    if avoidable_cost > 0:
        part = avoidable_cost / whole if whole else 0.0
        sentences.append(
            f"Cache waste: ${dollars(avoidable_cost)}, {show(part, 'share')} of the "
            "whole. Rebuilds cost this much more than cache reads of the same tokens."
        )
    return sentences


def _scope(entries: Sequence[AuditedFile]) -> str:
    calls = sum(entry.audited.recorded.calls for entry in entries)
    sessions = f"{counted(len(entries), 'session')} and " if len(entries) > 1 else ""
    return f" in {sessions}{counted(calls, 'call')}"


def _parts(read: float, causes: Mapping[str, float]) -> tuple[float, str]:
    """The total input, and its largest parts with their shares and the rest."""
    whole = read + sum(causes.values())
    if not whole:
        return whole, "nothing"
    ordered = sorted({"cache reads": read, **causes}.items(), key=lambda part: (-part[1], part[0]))
    large = [part for part in ordered if part[1] >= _LEAST * whole][: _NAMED + 1]
    rest = whole - sum(size for _, size in large)
    named = [*large, *([("the rest", rest)] if rest >= _LEAST * whole else [])]
    return whole, listed([f"{what} {100 * size / whole:.0f} %" for what, size in named])


def remarks(ledger: Ledger) -> list[str]:
    """Remarks that a reader of the figures needs and cannot see in them."""
    sentences = [*of_models(ledger.spending, ledger.unexplained)]
    if ledger.repeated:
        sentences.append(
            f"{counted(ledger.repeated, 'call')} of resumed sessions stand in two files. Each call "
            "is counted once."
        )
    return [*sentences, *skipped(ledger.passed_over), *not_understood(ledger.not_understood)]


# The colour and pattern of a cause, the same in every chart.

READ = "read from the cache"


def look(cause: str) -> tuple[str, str]:
    """Colour and pattern of a cause's words."""
    return ("grid", "") if cause == READ else cause_colours().get(cause, ("grey", PATTERNS[-1]))


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
    "history_edit": "another version of the client may leave earlier messages alone",
    "system_changed": "look for hooks that change the system prompt",
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
