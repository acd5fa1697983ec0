"""An audit as data: all of it as JSON, and the calls at which it is furthest from the log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from heapq import nlargest
from typing import Any

import msgspec

from compactlab.reports.audit.avoidable import avoidable, helps, longer
from compactlab.reports.audit.bill import BillForecast
from compactlab.reports.audit.causes import (
    GROUNDS,
    Share,
    charged,
    headline,
    read_cost,
    remarks,
    shares,
)
from compactlab.reports.audit.inquest import Finding, agreed, agreement
from compactlab.reports.audit.ledger import AuditedFile, Ledger, cost_errors, merge
from compactlab.reports.audit.rereads import WITHIN, Rereads
from compactlab.reports.audit.tally import Pair, Tally, input_costs
from compactlab.reports.audit.thrash import thrash_of
from compactlab.reports.render.document import with_names
from compactlab.reports.render.text import plain
from compactlab.sim.core.message import Diagnosis


@dataclass(frozen=True)
class Miss:
    """A call that was not as expected."""

    entry: AuditedFile
    number: int  # of the call in its session, from 1
    finding: Finding
    dollars: float | None  # above expected; None: no price is known

    @property
    def tokens(self) -> int:
        """Tokens that were expected to be read and were not; below 0, the other way round."""
        return self.finding.forecast.read - self.finding.read

    @property
    def expected(self) -> str:
        """The causes that were expected, largest first."""
        causes = sorted(self.finding.forecast.causes.items(), key=lambda item: -item[1])
        return ", ".join(f"{cause} {tokens:,}" for cause, tokens in causes) or "no cache misses"

    @property
    def happened(self) -> str:
        """The causes that were found, largest first, with what the first stands on."""
        charges = sorted(self.finding.charges, key=lambda charge: -charge.tokens)
        parts = [f"{charge.cause} {charge.tokens:,}" for charge in charges if charge.tokens]
        if not parts:
            return "no cache misses"
        evidence = next(
            (GROUNDS[c.ground] for c in charges if c.ground in ("provider", "read", "pattern")), ""
        )
        return ", ".join(parts) + (f" (evidence: {evidence})" if evidence else "")


def worst(entries: Iterable[AuditedFile], most: int) -> list[Miss]:
    """The calls that are furthest off, worst first."""
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


# All of an audit for programs, down to every call: ``docs/audit.md`` says what the keys mean.


def data(ledger: Ledger, most: int) -> dict[str, Any]:
    """All of an audit, with so many of the calls that are furthest off; no value is None."""
    return {
        "headline": headline(ledger.entries),
        "remarks": [with_names(remark) for remark in remarks(ledger)],
        "spent": ledger.spending.data(),
        "all": _merged(ledger.entries),
        "clients": {client: _client(ledger, client) for client in ledger.clients},
        "sessions": [_session(entry, ledger.bill(entry)) for entry in ledger.entries],
        "avoidable": [_avoidable(each) for each in avoidable(ledger.entries)],
        "longer_lifetime": _longer(ledger.entries),
        "rereads": _rereads(ledger.rereads),
        "compactions": thrash_of(ledger.entries).data(),
        "agreement": _agreement(ledger.findings),
        "worst": [_miss(miss) for miss in worst(ledger.entries, most)],
        "calls_not_explained": ledger.unexplained,
        "models_without_price": ledger.spending.unpriced,
        "passed_over": ledger.passed_over,
        "not_understood": [msgspec.to_builtins(each) for each in ledger.not_understood],
        "failures": list(ledger.failures),
    }


def _avoidable(each: Share) -> dict[str, Any]:
    cost, what = plain(each.avoidable_cost), helps(each.cause)
    return {"cause": each.cause, "calls": each.calls, "cost_usd": cost, "helps": what}


def _longer(entries: Sequence[AuditedFile]) -> dict[str, Any] | None:
    priced = longer(entries)
    if priced is None:
        return None
    return {"cost_usd": plain(priced.cost), "saved_usd": plain(priced.saved)}


def _rereads(found: Rereads) -> dict[str, Any]:
    return {
        "compactions": found.compactions,
        "followed": found.followed,
        "reads": found.reads,
        "tokens": found.tokens,
        "cost_usd": plain(found.cost),
        "reads_before": found.before,
        "within_calls": WITHIN,
    }


def _agreement(findings: Iterable[Finding]) -> dict[str, Any]:
    """How often the rules name the cause that the provider names, without having read that."""
    pairs = agreement(findings)
    right, of = agreed(pairs)
    told = [{"provider": said, "rules": rule, "calls": n} for (said, rule), n in pairs.items()]
    return {"agree": right, "of": of, "calls": told}


def _client(ledger: Ledger, client: str) -> dict[str, Any]:
    churn = msgspec.to_builtins(ledger.churns[client])
    entries = ledger.of_client(client)
    return {**_merged(entries), "churn": churn, "compactions": thrash_of(entries).data()}


def _merged(entries: Sequence[AuditedFile]) -> dict[str, Any]:
    recorded = [entry.audited.recorded for entry in entries]
    return {
        "sessions": len(entries),
        "sessions_without_price": sum(each.cost is None for each in recorded),
        "recorded_sizes": {**_tally(merge("", recorded)), **_errors(recorded)},
        "causes": _causes(entries),
        "read_cost_usd": _read_cost(entries),
    }


def _errors(tallies: Sequence[Tally]) -> dict[str, Any]:
    """Off by how much the input costs of sessions are: the middle one, and the worst."""
    from statistics import median

    errors = cost_errors(tallies)
    return {
        "session_cost_error_median": plain(median(errors)) if errors else None,
        "session_cost_error_worst": plain(errors[-1]) if errors else None,
    }


def _session(entry: AuditedFile, bill: BillForecast | None) -> dict[str, Any]:
    audited = entry.audited
    priced = audited.recorded.cost is not None
    return {
        "session": entry.name,
        "client": audited.client,
        "file": entry.file,
        "recorded_sizes": _tally(audited.recorded),
        "project": entry.project,
        "subagent": entry.subagent,
        "bill_usd": _bill(bill),
        "causes": _causes([entry]),
        "read_cost_usd": _read_cost([entry]),
        "calls_counted_elsewhere": audited.repeated,
        "calls": [_call(finding, priced) for finding in audited.findings],
    }


def _bill(bill: BillForecast | None) -> dict[str, Any] | None:
    """The forecast with the chance of losses: expectation, and interval of 90 %."""
    if bill is None:
        return None
    names = ("recorded", "rules", "expected", "low", "high")
    return {name: plain(getattr(bill, name)) for name in names}


def _tally(tally: Tally) -> dict[str, Any]:
    return {
        "calls": tally.calls,
        "prompt_tokens": _pair(tally.prompt),
        "read_tokens": _pair(tally.read),
        "cache_miss_tokens": _pair(tally.written),
        "input_cost_usd": _pair(tally.cost),
        "exact": plain(tally.exact),
        "within_5_percent": plain(tally.near),
        "rebuilds": asdict(tally.rebuilds),
    }


def _pair(pair: Pair | None) -> dict[str, Any]:
    names = ("expected", "recorded", "error")
    return {name: plain(getattr(pair, name)) if pair else None for name in names}


def _causes(entries: Sequence[AuditedFile]) -> list[dict[str, Any]]:
    return [
        {
            "cause": share.cause,
            "ground": share.ground,
            "tokens": share.tokens,
            "cost_usd": plain(share.dollars),
            "avoidable_cost_usd": plain(share.avoidable_cost),
        }
        for share in shares(entries)
    ]


def _read_cost(entries: Sequence[AuditedFile]) -> int | float | None:
    priced = any(entry.audited.recorded.cost is not None for entry in entries)
    return plain(read_cost(entries)) if priced else None


def _call(finding: Finding, priced: bool) -> dict[str, Any]:
    forecast = finding.forecast
    exchange, usage = forecast.exchange, forecast.exchange.usage
    expected, recorded = input_costs(forecast) if priced else (None, None)
    return {
        "answer": exchange.answer.id,
        "time": plain(exchange.time),
        "model": forecast.model.name,
        "opens_turn": exchange.opens_turn,
        "compacted": exchange.compacted is not None,
        "prompt_tokens": usage.prompt,
        "uncached_tokens": usage.uncached,
        "write_5m_tokens": usage.cache_write_5m,
        "write_1h_tokens": usage.cache_write_1h,
        "service_tier": exchange.call.tier,
        "diagnosis": _diagnosis(exchange.call.diagnosis),
        "client_restarted": exchange.call.restarted,
        "read_tokens": {"expected": forecast.read, "recorded": finding.read},
        "input_cost_usd": {"expected": plain(expected), "recorded": plain(recorded)},
        "lost_tokens": {"expected": finding.expected_lost, "recorded": finding.lost},
        "causes": {
            "expected": forecast.causes,
            "recorded": [
                {
                    "cause": charge.cause,
                    "ground": charge.ground,
                    "tokens": charge.tokens,
                    "cost_usd": plain(dollars),
                }
                for charge, dollars, _ in charged(finding, priced)
            ],
        },
    }


def _diagnosis(diagnosis: Diagnosis | None) -> dict[str, Any] | None:
    return None if diagnosis is None else msgspec.to_builtins(diagnosis)


def _miss(miss: Miss) -> dict[str, Any]:
    return {
        "session": miss.entry.name,
        "file": miss.entry.file,
        "call": miss.number,
        "answer": miss.finding.forecast.exchange.answer.id,
        "tokens_not_read": miss.tokens,
        "cost_above_expected_usd": plain(miss.dollars),
    }
