"""An audit as a report: the cost, three questions with their tables, and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from statistics import median
from typing import Any

from compactlab.reports.audit.causes import (
    AVOIDABLE,
    advice,
    avoidable,
    charged,
    headline,
    longer,
    read_again,
    read_cost,
    remarks,
)
from compactlab.reports.audit.compactions import REREADS
from compactlab.reports.audit.diagnosis import Finding, agreed, agreement
from compactlab.reports.audit.ledger import AuditedFile, Ledger, client_name, cost_errors, merge
from compactlab.reports.audit.tables import (
    CAUSE,
    REBUILDS,
    SIZES,
    Miss,
    TallyRow,
    cause_rows,
    causes,
    predicted,
    worst,
)
from compactlab.reports.audit.tally import Tally, input_costs
from compactlab.reports.audit.thrash import THRASH, compacted, thrash_of
from compactlab.reports.bill import DAYS, PROJECTS, bill_of
from compactlab.reports.render.document import (
    Block,
    Column,
    Document,
    Heading,
    Items,
    Sentence,
    Sentences,
    Table,
    name,
    rows,
    sentences,
    with_names,
)
from compactlab.reports.render.fields import as_data, data_of, hidden, table_of
from compactlab.reports.render.text import NONE, counted, dollars, plain, show
from compactlab.sim.replay.client import Rate


def data(ledger: Ledger, most: int) -> dict[str, Any]:
    """The whole audit, with up to ``most`` of the worst calls; missing values are None."""
    pairs = agreement(ledger.findings)
    right, of = agreed(pairs)
    hour = longer(ledger.entries)
    told = [{"provider": said, "rules": rule, "calls": n} for (said, rule), n in pairs.items()]
    clients = {
        client: {
            **_merged(entries),
            "churn": as_data(ledger.churns[client]),
            "compactions": data_of(THRASH, thrash_of(entries)),
        }
        for client in ledger.clients
        for entries in [ledger.of_client(client)]
    }
    return {
        **ledger.sums.data(),
        "headline": headline(ledger.entries),
        "remarks": [with_names(remark) for remark in remarks(ledger)],
        "all": _merged(ledger.entries),
        "clients": clients,
        "sessions": [_session(ledger, entry) for entry in ledger.entries],
        "avoidable": [data_of(AVOIDABLE, each) for each in avoidable(ledger.entries)],
        "longer_lifetime": hour and {"cost_usd": plain(hour.cost), "saved_usd": plain(hour.saved)},
        "rereads": data_of(REREADS, ledger.rereads),
        "compactions": data_of(THRASH, thrash_of(ledger.entries)),
        "agreement": {"agree": right, "of": of, "calls": told},
        "worst": [data_of(_WORST, miss) for miss in worst(ledger.entries, most)],
    }


_WORST = hidden(
    session="entry.name",
    file="entry.file",
    call="number",
    answer="finding.forecast.exchange.answer.id",
    tokens_not_read="tokens",
    cost_above_expected_usd="dollars",
)


def _merged(entries: Sequence[AuditedFile]) -> dict[str, Any]:
    recorded = [entry.audited.recorded for entry in entries]
    errors = cost_errors(recorded)
    return {
        "sessions": len(entries),
        "sessions_without_price": sum(each.cost is None for each in recorded),
        "recorded_sizes": {
            **_sizes(merge("", recorded)),
            "session_cost_error_median": plain(median(errors)) if errors else None,
            "session_cost_error_worst": plain(errors[-1]) if errors else None,
        },
        **_causes(entries),
    }


def _sizes(tally: Tally) -> dict[str, Any]:
    return data_of((*SIZES, *REBUILDS), TallyRow("", tally))


def _causes(entries: Sequence[AuditedFile]) -> dict[str, Any]:
    priced = any(entry.audited.recorded.cost is not None for entry in entries)
    return {
        "causes": [data_of(CAUSE, row) for row in cause_rows(entries)],
        "read_cost_usd": plain(read_cost(entries)) if priced else None,
    }


# The forecast with random losses: expectation and interval of 90 %.
_BILL = hidden("recorded", "rules", "expected", "low", "high")


def _session(ledger: Ledger, entry: AuditedFile) -> dict[str, Any]:
    audited, bill = entry.audited, ledger.bill(entry)
    priced = audited.recorded.cost is not None
    return {
        "session": entry.name,
        "client": audited.client,
        "file": entry.file,
        "recorded_sizes": _sizes(audited.recorded),
        "project": entry.project,
        "subagent": entry.subagent,
        "bill_usd": bill and data_of(_BILL, bill),
        **_causes([entry]),
        "calls_counted_elsewhere": audited.repeated,
        "calls": [_call(finding, priced) for finding in audited.findings],
    }


_CALL = hidden(
    answer="forecast.exchange.answer.id",
    time="forecast.exchange.time",
    model="forecast.model.name",
    opens_turn="forecast.exchange.opens_turn",
    compacted=lambda finding: finding.forecast.exchange.compacted is not None,
    prompt_tokens="forecast.exchange.usage.prompt",
    uncached_tokens="forecast.exchange.usage.uncached",
    write_5m_tokens="forecast.exchange.usage.cache_write_5m",
    write_1h_tokens="forecast.exchange.usage.cache_write_1h",
    service_tier="forecast.exchange.call.tier",
    diagnosis="forecast.exchange.call.diagnosis",
    client_restarted="forecast.exchange.call.restarted",
    **{
        "read_tokens.expected": "forecast.read",
        "read_tokens.recorded": "read",
        "lost_tokens.expected": "expected_lost",
        "lost_tokens.recorded": "lost",
    },
)
_CHARGE = hidden("cause", "ground", "tokens")


def _call(finding: Finding, priced: bool) -> dict[str, Any]:
    expected, recorded = input_costs(finding.forecast) if priced else (None, None)
    return {
        **data_of(_CALL, finding),
        "input_cost_usd": {"expected": plain(expected), "recorded": plain(recorded)},
        "causes": {
            "expected": finding.forecast.causes,
            "recorded": [
                {**data_of(_CHARGE, charge), "cost_usd": plain(dollars)}
                for charge, dollars, _ in charged(finding, priced)
            ],
        },
    }


# How many of the most expensive sessions have rows, on a terminal and on a page.
SESSIONS = 12
_OF_PAGE = 100
_DAYS = 14  # that a page shows

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
    "Every cache-miss token has one cause. Cache waste: what the tokens cost more than cache reads "
    "of them; new text cannot be read. The rest of the input cost was paid for cache reads."
)
_CHURN_MEANING = (
    "Calls: those that could have read everything that the previous call had left, as far as the "
    "log tells. A loss is 4,000 tokens or more. All lost: not even tools and system prompt were "
    "read. Messages lost: tools and system prompt were read, messages were not; if some messages "
    "were read, the share that was not read counts. Whether the client changed its prompt or "
    "the provider dropped it is not known."
)


def report(ledger: Ledger, most: int) -> Document:
    """Report an audit, with up to ``most`` of the worst calls."""
    blocks = (
        *_headline(ledger),
        *bill_of(ledger.spending, DAYS, PROJECTS),
        Heading("Why did tokens miss the cache?", level=2),
        causes(ledger.entries),
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
    """The page: with more sessions, charts, and the causes of each client."""
    from compactlab.reports.audit.charts import bars_chart, session_chart  # only for pages

    blocks = (
        Heading("Why did these sessions cost this much?", level=1),
        sentences([_scope(ledger)], "quiet", bullets=False),
        *_headline(ledger),
        sentences([name(failure) for failure in ledger.failures], "bad"),
        *bill_of(ledger.spending, _DAYS, PROJECTS, sessions=SESSIONS),
        Heading("Why did tokens miss the cache?", level=2),
        *_causes_by_client(ledger),
        sentences([*_evidence(ledger)]),
        sentences([_WHY_MEANING, "Point at a cause to see its meaning."], "quiet"),
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


def _predicted(ledger: Ledger, most: int, *, whole: bool = False) -> Iterator[Block]:
    yield from predicted(ledger, most, whole=whole)
    more = len(ledger.entries) - most
    left = (
        f"These are the {most} most expensive sessions; --format json has "
        f"{counted(more, 'session')} more."
        if more > 0
        else ""
    )
    yield Sentences(sentences([left]).lines + sentences(_MEANING, "quiet").lines)


def _worst(ledger: Ledger, most: int) -> Iterator[Block]:
    if misses := worst(ledger.entries, most):
        yield Heading(f"Largest errors: {counted(len(misses), 'call')}")
        yield Items(tuple(map(_miss, misses)), numbered=True)


def _miss(miss: Miss) -> tuple[Sentence, ...]:
    """A call with an unexpected result, in a few lines."""
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
    """A time in seconds since 1970, formatted."""
    try:
        return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S} UTC" if time else "undated"
    except (ValueError, OverflowError, OSError):
        return "undated"


def _avoidable(ledger: Ledger) -> Iterator[Block]:
    """The avoidable costs, the most expensive first, with their remedies."""
    found, again = avoidable(ledger.entries), [*read_again(ledger.rereads)]
    if not found and not again:
        return
    yield Heading("What could be avoided?", level=2)
    if found:
        yield table_of(AVOIDABLE, found)
    yield sentences([*advice(ledger.entries), *again])


def _evidence(ledger: Ledger) -> Iterator[str]:
    """The evidence for the causes, and how often rules and provider agree."""
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


def _causes_by_client(ledger: Ledger) -> Iterator[Block]:
    """The table of causes over all sessions, and by client if there are several."""
    several = len(ledger.clients) > 1
    if several:
        yield Heading("All sessions")
    yield causes(ledger.entries, read=True)
    for client in ledger.clients if several else ():
        yield Heading(name(client_name(client)))
        yield causes(ledger.of_client(client), read=True)


_CHURN = (
    Column("client", words=True),
    Column("at", words=True),
    Column("calls"),
    Column("all lost", rank=2),
    Column("messages lost", rank=1),
    Column("share lost"),
    Column("95% interval"),
)


def _churn(ledger: Ledger) -> Iterator[Block]:
    yield Heading("Churn: how often is a cache lost that no rule predicts?", level=2)
    lines = [
        (name(client_name(client)), at, *_lost(rate))
        for client, churn in ledger.churns.items()
        for at, rate in (("first call of a turn", churn.turn), ("other calls", churn.call))
    ]
    yield Table(_CHURN, rows(lines))
    yield sentences([_CHURN_MEANING], "quiet")


def _lost(rate: Rate) -> tuple[str, ...]:
    if not rate.calls:
        return "0", NONE, NONE, NONE, NONE
    share = rate.share("front") + rate.share("messages")
    interval = f"{show(rate.low, 'share')} to {show(rate.high, 'share')}"
    front, messages = f"{rate.front:.1f}", f"{rate.messages:.1f}"
    return f"{rate.calls:,}", front, messages, show(share, "share"), interval
