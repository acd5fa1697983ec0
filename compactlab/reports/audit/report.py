"""An audit as a report: what it cost, three questions with their tables, and all for programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from math import fsum

from compactlab.reports.audit.avoidable import advice, avoidable, helps, read_again
from compactlab.reports.audit.bill import BillForecast
from compactlab.reports.audit.causes import (
    GROUNDS,
    READ,
    Share,
    headline,
    look,
    read_cost,
    remarks,
    shares,
)
from compactlab.reports.audit.data import Miss, data, worst
from compactlab.reports.audit.inquest import agreed, agreement
from compactlab.reports.audit.ledger import AuditedFile, Ledger, client_name, merge
from compactlab.reports.audit.tally import Pair, Tally
from compactlab.reports.audit.thrash import compacted
from compactlab.reports.bill.sums import DAYS, PROJECTS, bill_of
from compactlab.reports.render.document import (
    Block,
    Column,
    Document,
    Heading,
    Items,
    Key,
    Sentence,
    Sentences,
    Table,
    TableRow,
    name,
    rows,
    sentences,
)
from compactlab.reports.render.text import NONE, counted, dollars, shorten, show
from compactlab.sim.cache.causes import CAUSES
from compactlab.sim.replay.client import Rate

# The most expensive sessions have a row of their own: so many on a terminal, and on a page.
SESSIONS = 12
_OF_PAGE = 100
_DAYS = 14  # that a page shows
_NAME = 32

_MEANING = (
    "Cost is the cost of the input. Missed tokens were not read from the cache: they were written "
    "to it or billed as plain input. Error: how far the expected figure lies above or below the "
    "recorded one. Exact, within 5%: share of calls whose expected read is right, or off by 5% at "
    "most. With chance: the cost by the rules and the losses that no rule can know, as often as "
    "other sessions of the client had them; in brackets, where 90% of such bills are "
    "(from ten sessions on).",
    "A rebuild is a call that did not read 4,000 or more of the tokens that the previous call had "
    "left in the cache. In log: rebuilds that the log gives a reason for. Predicted: of these, the "
    "rebuilds that were expected. False alarms: expected rebuilds that did not happen.",
)
_WHY_MEANING = (
    "Every cache-miss token has one cause. Avoidable: what the tokens cost more than cache reads "
    "of them; new text cannot be read. The rest of the input cost was paid for cache reads."
)
_CHURN_MEANING = (
    "Calls: those that could have read everything that the previous call had left, as far as the "
    "log tells. A loss is 4,000 tokens or more. All lost: not even tools and system prompt were "
    "read. Messages lost: tools and system prompt were read, messages were not; if some messages "
    "were read, the share that was not read counts."
)


def report(ledger: Ledger, most: int) -> Document:
    """What was audited, with so many of the calls that are furthest off."""
    blocks = (
        *_headline(ledger),
        *bill_of(ledger.spending, DAYS, PROJECTS),
        Heading("Why did tokens miss the cache?", level=2),
        _causes(ledger.entries),
        sentences([*_evidence(ledger)]),
        sentences([_WHY_MEANING], "quiet"),
        *_avoidable(ledger),
        *compacted(ledger),
        Heading("What did the cache model predict?", level=2),
        *_predicted(ledger, SESSIONS),
        *_worst(ledger, most),
        *_churn(ledger),
    )
    return Document(blocks, data=partial(data, ledger, most))


def page(ledger: Ledger, most: int) -> Document:
    """The same with more sessions, with charts, and with the causes of each client."""
    from compactlab.reports.audit.charts import bars_chart, session_chart  # for a page alone

    blocks = (
        Heading("Why did these sessions cost this much?", level=1),
        sentences([_scope(ledger)], "quiet", bullets=False),
        *_headline(ledger),
        sentences([name(failure) for failure in ledger.failures], "bad"),
        *bill_of(ledger.spending, _DAYS, PROJECTS, sessions=SESSIONS),
        Heading("Why did tokens miss the cache?", level=2),
        *_causes_by_client(ledger),
        sentences([*_evidence(ledger)]),
        sentences([_WHY_MEANING, "Point at a cause to see what it means."], "quiet"),
        *bars_chart(ledger),
        *_avoidable(ledger),
        *compacted(ledger),
        Heading("What did the cache model predict?", level=2),
        *_predicted(ledger, _OF_PAGE, whole=True),
        session_chart(ledger),
        *_worst(ledger, most),
        *_churn(ledger),
    )
    return Document(blocks)


def _headline(ledger: Ledger) -> Iterator[Block]:
    first, *others = headline(ledger.entries)
    yield Sentences((Sentence(first, "strong"), *map(Sentence, others)), bullets=False)
    yield sentences(remarks(ledger), "quiet")


def _scope(ledger: Ledger) -> str:
    parts = (
        f"{name(client_name(client))}, {counted(len(ledger.of_client(client)), 'session')}"
        for client in ledger.clients
    )
    return "; ".join(parts)


# What would have been predicted: a row a session, a client, and all.


@dataclass(frozen=True)
class _TallyRow:
    """A session, or several together."""

    label: str
    recorded: Tally
    bill: BillForecast | None = None
    total: bool = False


@dataclass(frozen=True)
class _Measure:
    """A column: its cells, when it goes where there is no room, and its group."""

    title: str
    cell: Callable[[_TallyRow], str]
    rank: int = 0
    group: str = ""


def signed(error: float | None) -> str:
    """By what share a figure is off, with its sign.

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


def _pair(
    title: str, pick: Callable[[_TallyRow], Pair | None], write: Callable[[float], str], rank: int
) -> tuple[_Measure, ...]:
    def of(part: Callable[[Pair], str]) -> Callable[[_TallyRow], str]:
        return lambda line: part(pair) if (pair := pick(line)) is not None else NONE

    return (
        _Measure("expected", of(lambda pair: write(pair.expected)), rank + 1, title),
        _Measure("recorded", of(lambda pair: write(pair.recorded)), rank, title),
        _Measure("error", of(lambda pair: signed(pair.error)), rank, title),
    )


def _chance(bill: BillForecast | None) -> str:
    """A bill with the losses that others of the client had, and where 90 % of such bills are."""
    if bill is None:
        return NONE
    return f"{dollars(bill.expected)} ({dollars(bill.low)} to {dollars(bill.high)})"


def _tokens(value: float) -> str:
    return show(value, "tokens")


def _of_rebuilds(name: str) -> Callable[[_TallyRow], str]:
    return lambda line: f"{getattr(line.recorded.rebuilds, name):,}"


_SIZES = (
    _Measure("calls", lambda line: f"{line.recorded.calls:,}"),
    *_pair("read", lambda line: line.recorded.read, _tokens, 5),
    *_pair("missed", lambda line: line.recorded.written, _tokens, 3),
    *_pair("cost, $", lambda line: line.recorded.cost, dollars, 0),
    _Measure("with chance", lambda line: _chance(line.bill), 4, "cost, $"),
    _Measure("exact", lambda line: show(line.recorded.exact, "share"), 7, "calls"),
    _Measure("within 5%", lambda line: show(line.recorded.near, "share"), 2, "calls"),
)

_REBUILDS = (
    _Measure("recorded", _of_rebuilds("recorded"), group="rebuilds"),
    _Measure("in log", _of_rebuilds("follow"), group="rebuilds"),
    _Measure("predicted", _of_rebuilds("found"), group="rebuilds"),
    _Measure("false alarms", _of_rebuilds("invented"), group="rebuilds"),
)


def _predicted(ledger: Ledger, most: int, *, whole: bool = False) -> Iterator[Block]:
    shown = [
        _TallyRow(entry.name, entry.audited.recorded, ledger.bill(entry))
        for entry in ledger.by_cost[:most]
    ]
    # Of a long table, what it comes to stands first.
    lines = [*_totals(ledger), *shown] if whole else [*shown, *_totals(ledger)]
    for measures in (_SIZES, _REBUILDS):
        heads = [Column(each.title, rank=each.rank, group=each.group) for each in measures]
        cells = [
            TableRow(
                (
                    name(line.label if whole else shorten(line.label, _NAME)),
                    *(each.cell(line) for each in measures),
                ),
                "strong" if line.total else "",
            )
            for line in lines
        ]
        yield Table((Column("session", words=True), *heads), tuple(cells))
    more = len(ledger.entries) - len(shown)
    left = (
        f"These are the {most} most expensive sessions; --json has {counted(more, 'session')} more."
        if more
        else ""
    )
    yield Sentences(sentences([left]).lines + sentences(_MEANING, "quiet").lines)


def _totals(ledger: Ledger) -> list[_TallyRow]:
    """Each client, and all sessions where there are several clients."""
    several = len(ledger.clients) > 1
    lines = [
        _total(client_name(client), ledger.of_client(client))
        for client in ledger.clients
        if len(ledger.of_client(client)) > 1 or several
    ]
    return lines + ([_total("all", ledger.entries)] if several else [])


def _total(title: str, entries: Sequence[AuditedFile]) -> _TallyRow:
    recorded = merge(title, [entry.audited.recorded for entry in entries])
    return _TallyRow(f"{title}, {counted(len(entries), 'session')}", recorded, total=True)


def _worst(ledger: Ledger, most: int) -> Iterator[Block]:
    if misses := worst(ledger.entries, most):
        yield Heading(f"Largest errors: {counted(len(misses), 'call')}")
        yield Items(tuple(map(_miss, misses)), numbered=True)


def _miss(miss: Miss) -> tuple[Sentence, ...]:
    """A call that was not as expected, in a few lines."""
    exchange, forecast = miss.finding.forecast.exchange, miss.finding.forecast
    tokens = f"{abs(miss.tokens):,} {'fewer' if miss.tokens > 0 else 'more'} than expected"
    money = ""
    if miss.dollars is not None:
        money = f"${dollars(abs(miss.dollars))} {'more' if miss.dollars > 0 else 'less'}; "
    prompt = f"prompt {exchange.usage.prompt:,} ({name(forecast.model.name)})"
    about = (
        f"expected: read {forecast.read:,}; {miss.expected}",
        f"recorded: read {miss.finding.read:,}; {miss.happened}",
        f"{moment(exchange.time)}, call {miss.number}, answer {name(exchange.answer.id)}",
        name(miss.entry.file),
    )
    first = Sentence(f"{money}tokens read: {tokens}, {prompt}")
    return first, *(Sentence(each, "quiet") for each in about)


def moment(time: float) -> str:
    """A time in seconds since 1970, as it is written."""
    try:
        return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S} UTC" if time else "undated"
    except (ValueError, OverflowError, OSError):
        return "undated"


# Why it happened: a row a cause and what it stands on.

_CAUSES = (
    Column("cause", words=True),
    Column("tokens"),
    Column("of missed", rank=3),
    Column("cost, $"),
    Column("of input", rank=1),
    Column("avoidable,\n$", rank=2),
    Column("evidence", words=True),
)


def _causes(entries: Sequence[AuditedFile], *, read: bool = False) -> Table:
    """The causes of some sessions, most tokens first, and what was read where that is asked for."""
    totals = shares(entries)
    cache_misses = sum(share.tokens for share in totals)
    whole = read_cost(entries) + fsum(share.dollars or 0.0 for share in totals)
    lines = [_cause(share, cache_misses, whole) for share in totals]
    return Table(_CAUSES, (*lines, *([_reading(entries)] if read else [])))


def _avoidable(ledger: Ledger) -> Iterator[Block]:
    """What could be avoided, the dearest first, and what helps."""
    found, again = avoidable(ledger.entries), [*read_again(ledger.rereads)]
    if not found and not again:
        return
    yield Heading("What could be avoided?", level=2)
    columns = (Column("cause", words=True), Column("rebuilds"), Column("avoidable, $"))
    cells = [
        (each.cause, f"{each.calls:,}", show(each.avoidable_cost, "USD"), helps(each.cause) or NONE)
        for each in found
    ]
    if cells:
        yield Table((*columns, Column("what helps", words=True)), rows(cells))
    yield sentences([*advice(ledger.entries), *again])


def _evidence(ledger: Ledger) -> Iterator[str]:
    """What the causes rest on, and how often rules and provider name the same."""
    findings = [*ledger.findings]
    lost = sum(finding.lost for finding in findings)
    if lost:
        logged = sum(finding.lost for finding in findings if finding.follows)
        told = show(logged / lost, "share")
        yield f"Of all tokens that were rebuilt, the log gives the cause for {told}."
    right, of = agreed(agreement(findings))
    if of:
        yield (
            f"The provider names the cause of {counted(of, 'rebuild')}. Our rules, which had not "
            f"seen that, name the same for {right}."
        )


def _cause(share: Share, cache_misses: int, whole: float) -> TableRow:
    cells = (
        share.cause,
        show(share.tokens, "tokens"),
        show(share.tokens / cache_misses, "share") if cache_misses else NONE,
        show(share.dollars, "USD"),
        show(share.dollars / whole, "share") if share.dollars is not None and whole else NONE,
        show(share.avoidable_cost, "USD"),
        GROUNDS[share.ground],
    )
    return TableRow(cells, key=Key(*look(share.cause), CAUSES.get(share.cause, "")))


def _reading(entries: Sequence[AuditedFile]) -> TableRow:
    read = show(sum(entry.audited.recorded.read.recorded for entry in entries), "tokens")
    priced = any(entry.audited.recorded.cost is not None for entry in entries)
    cost = show(read_cost(entries), "USD") if priced else ""
    return TableRow((READ, read, "", cost, "", "", ""), key=Key(look(READ)[0]))


def _causes_by_client(ledger: Ledger) -> Iterator[Block]:
    """The table of causes over all, and of each client where there are several."""
    several = len(ledger.clients) > 1
    if several:
        yield Heading("All sessions")
    yield _causes(ledger.entries, read=True)
    for client in ledger.clients if several else ():
        yield Heading(name(client_name(client)))
        yield _causes(ledger.of_client(client), read=True)


def _churn(ledger: Ledger) -> Iterator[Block]:
    yield Heading("Churn: how often does a client change its prompt unasked?", level=2)
    columns = (
        Column("client", words=True),
        Column("at", words=True),
        Column("calls"),
        Column("all lost", rank=2),
        Column("messages lost", rank=1),
        Column("share lost"),
        Column("95% interval"),
    )
    lines = [
        (name(client_name(client)), at, *_lost(rate))
        for client, churn in ledger.churns.items()
        for at, rate in (("first call of a turn", churn.turn), ("other calls", churn.call))
    ]
    yield Table(columns, rows(lines))
    yield sentences([_CHURN_MEANING], "quiet")


def _lost(rate: Rate) -> tuple[str, ...]:
    if not rate.calls:
        return "0", NONE, NONE, NONE, NONE
    share = rate.share("front") + rate.share("messages")
    interval = f"{show(rate.low, 'share')} to {show(rate.high, 'share')}"
    front, messages = f"{rate.front:.1f}", f"{rate.messages:.1f}"
    return f"{rate.calls:,}", front, messages, show(share, "share"), interval
