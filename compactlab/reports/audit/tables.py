"""The tables of an audit: predicted and recorded usage, and causes of cache misses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import nlargest
from math import fsum
from typing import Any

from compactlab.reports.audit.causes import GROUNDS, READ, Share, look, read_cost, shares
from compactlab.reports.audit.churning import BillForecast
from compactlab.reports.audit.diagnosis import Finding
from compactlab.reports.audit.ledger import AuditedFile, Ledger, client_name, merge
from compactlab.reports.audit.tally import Pair, Tally, input_costs
from compactlab.reports.render.document import Key, Table, TableRow, name
from compactlab.reports.render.fields import Field, cells_of, heads_of, hidden
from compactlab.reports.render.text import NONE, counted, dollars, shorten, show
from compactlab.sim.cache.causes import CAUSES

_NAME = 32

# Predictions: one row per session, per client, and for all.


@dataclass(frozen=True)
class TallyRow:
    """One or several sessions."""

    label: str
    recorded: Tally
    bill: BillForecast | None = None
    total: bool = False


def signed(error: float | None) -> str:
    """A relative error with its sign.

    Examples
    --------
    >>> signed(-0.1234), signed(0.0), signed(2.5)
    ('-12.3%', '0.0%', '+250%')
    """
    if error is None:
        return NONE
    if abs(error) >= 1:
        return f"{100 * error:+,.0f}%"
    text = f"{100 * error:+.1f}%"
    return text[1:] if text[1:] == "0.0%" else text


def _pair(key: str, path: str, title: str, unit: str, rank: int) -> Iterator[Field]:
    """The columns of an expected and a recorded figure."""

    def of(end: str) -> Callable[[TallyRow], Any]:
        def value(row: TallyRow) -> float | None:
            pair: Pair | None = getattr(row.recorded, path)
            return None if pair is None else getattr(pair, end)

        return value

    for end in ("expected", "recorded"):
        further = rank + (end == "expected")
        yield Field(f"{key}.{end}", of(end), end, unit, rank=further, group=title)
    yield Field(f"{key}.error", of("error"), "error", write=signed, rank=rank, group=title)


def _chance(bill: BillForecast | None) -> str:
    """A bill with expected random losses, and its 90 % interval."""
    if bill is None:
        return NONE
    return f"{dollars(bill.expected)} ({dollars(bill.low)} to {dollars(bill.high)})"


SIZES = (
    Field("calls", "recorded.calls"),
    *hidden(
        **{
            f"prompt_tokens.{end}": f"recorded.prompt.{end}"
            for end in ("expected", "recorded", "error")
        }
    ),
    *_pair("read_tokens", "read", "read", "tokens", 5),
    *_pair("cache_miss_tokens", "written", "missed", "tokens", 3),
    *_pair("input_cost_usd", "cost", "cost, $", "USD", 0),
    Field("", "bill", "with chance", write=_chance, rank=4, group="cost, $"),
    Field("exact", "recorded.exact", "exact", "share", rank=7, group="calls"),
    Field("within_5_percent", "recorded.near", "within 5%", "share", rank=2, group="calls"),
)
REBUILDS = tuple(
    Field(f"rebuilds.{key}", f"recorded.rebuilds.{key}", title, group="rebuilds")
    for key, title in {
        "recorded": "recorded",
        "follow": "in log",
        "found": "predicted",
        "invented": "false alarms",
    }.items()
)


def predicted(ledger: Ledger, most: int, *, whole: bool) -> Iterator[Table]:
    """The most expensive sessions, each client, and all."""
    shown = [
        TallyRow(entry.name, entry.audited.recorded, ledger.bill(entry))
        for entry in ledger.by_cost[:most]
    ]
    # In a long table, the totals come first.
    lines = [*_totals(ledger), *shown] if whole else [*shown, *_totals(ledger)]
    label = Field(
        "", "label", "session", words=True,
        write=lambda label: name(label if whole else shorten(label, _NAME)),
    )  # fmt: skip
    for fields in ((label, *SIZES), (label, *REBUILDS)):
        yield Table(
            heads_of(fields),
            tuple(TableRow(cells_of(fields, row), "strong" if row.total else "") for row in lines),
        )


def _totals(ledger: Ledger) -> list[TallyRow]:
    """Each client, and all sessions if there are several clients."""
    several = len(ledger.clients) > 1
    lines = [
        _total(client_name(client), ledger.of_client(client))
        for client in ledger.clients
        if len(ledger.of_client(client)) > 1 or several
    ]
    return lines + ([_total("all", ledger.entries)] if several else [])


def _total(title: str, entries: Sequence[AuditedFile]) -> TallyRow:
    recorded = merge(title, [entry.audited.recorded for entry in entries])
    return TallyRow(f"{title}, {counted(len(entries), 'session')}", recorded, total=True)


# Causes: one row per cause and evidence.


@dataclass(frozen=True)
class CauseRow:
    """A cause, with the totals of cache-miss tokens and input dollars."""

    share: Share
    cache_misses: int
    input: float

    @property
    def of_missed(self) -> float | None:
        """Its share of the cache-miss tokens."""
        return self.share.tokens / self.cache_misses if self.cache_misses else None

    @property
    def of_input(self) -> float | None:
        """Its share of the input cost."""
        dollars = self.share.dollars
        return dollars / self.input if dollars is not None and self.input else None


CAUSE = (
    Field("cause", "share.cause", write=str, words=True),
    Field("tokens", "share.tokens", unit="tokens"),
    Field("", "of_missed", "of missed", "share", rank=3),
    Field("cost_usd", "share.dollars", "cost, $", "USD"),
    Field("", "of_input", "of input", "share", rank=1),
    Field("avoidable_cost_usd", "share.avoidable_cost", "cache\nwaste, $", "USD", rank=2),
    Field("ground", "share.ground", "evidence", write=GROUNDS.__getitem__, words=True),
)


def cause_rows(entries: Sequence[AuditedFile]) -> list[CauseRow]:
    """The causes of some sessions, most tokens first."""
    totals = shares(entries)
    cache_misses = sum(share.tokens for share in totals)
    whole = read_cost(entries) + fsum(share.dollars or 0.0 for share in totals)
    return [CauseRow(share, cache_misses, whole) for share in totals]


def causes(entries: Sequence[AuditedFile], *, read: bool = False) -> Table:
    """The table of causes, with cache reads if requested."""
    lines = [
        TableRow(
            cells_of(CAUSE, row),
            key=Key(*look(row.share.cause), CAUSES.get(row.share.cause, "")),
        )
        for row in cause_rows(entries)
    ]
    if read:
        tokens = show(sum(entry.audited.recorded.read.recorded for entry in entries), "tokens")
        priced = any(entry.audited.recorded.cost is not None for entry in entries)
        cost = show(read_cost(entries), "USD") if priced else ""
        lines.append(TableRow((READ, tokens, "", cost, "", "", ""), key=Key(look(READ)[0])))
    return Table(heads_of(CAUSE), tuple(lines))


# The calls with the largest errors.


@dataclass(frozen=True)
class Miss:
    """A call with an unexpected result."""

    entry: AuditedFile
    number: int  # of the call in its session, from 1
    finding: Finding
    dollars: float | None  # above the expected cost; None if the price is unknown

    @property
    def tokens(self) -> int:
        """Expected tokens read less actual ones; negative if more were read."""
        return self.finding.forecast.read - self.finding.read

    @property
    def expected(self) -> str:
        """The expected causes, largest first."""
        causes = sorted(self.finding.forecast.causes.items(), key=lambda item: -item[1])
        return ", ".join(f"{cause} {tokens:,}" for cause, tokens in causes) or "no cache misses"

    @property
    def happened(self) -> str:
        """The diagnosed causes, largest first, with the evidence for the first."""
        charges = sorted(self.finding.charges, key=lambda charge: -charge.tokens)
        parts = [f"{charge.cause} {charge.tokens:,}" for charge in charges if charge.tokens]
        if not parts:
            return "no cache misses"
        evidence = next(
            (GROUNDS[c.ground] for c in charges if c.ground in ("provider", "read", "pattern")), ""
        )
        return ", ".join(parts) + (f" (evidence: {evidence})" if evidence else "")


def worst(entries: Iterable[AuditedFile], most: int) -> list[Miss]:
    """The calls with the largest errors, worst first."""
    missed = (miss for miss in _misses(entries) if miss.tokens or miss.dollars)
    return nlargest(most, missed, key=_weight)


def _misses(entries: Iterable[AuditedFile]) -> Iterator[Miss]:
    for entry in entries:
        priced = entry.audited.recorded.cost is not None
        for number, finding in enumerate(entry.audited.findings, 1):
            dollars = None
            if priced:
                expected, recorded = input_costs(finding.forecast)
                dollars = recorded - expected
            yield Miss(entry, number, finding, dollars)


def _weight(miss: Miss) -> tuple[bool, float, int]:
    return miss.dollars is not None, abs(miss.dollars or 0.0), abs(miss.tokens)
