"""All of an audit for programs, down to every call: ``docs/formats.md`` says what the keys mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import msgspec

from compactlab.reports.audit.causes import charged, headline, read_cost, remarks, shares
from compactlab.reports.audit.inquest import Finding
from compactlab.reports.audit.ledger import Entry, Ledger, cost_errors, together
from compactlab.reports.audit.tally import Pair, Tally, input_costs
from compactlab.reports.audit.worst import Miss, worst
from compactlab.reports.render.document import with_names
from compactlab.reports.render.text import plain

Row = dict[str, Any]


def data(ledger: Ledger, most: int) -> Row:
    """All of an audit, with so many of the calls that are furthest off; no value is None."""
    return {
        "headline": headline(ledger.entries),
        "remarks": [with_names(remark) for remark in remarks(ledger)],
        "all": _together(ledger.entries),
        "clients": {client: _client(ledger, client) for client in ledger.clients},
        "sessions": [_session(entry) for entry in ledger.entries],
        "worst": [_miss(miss) for miss in worst(ledger.entries, most)],
        "models_not_known": ledger.left_out,
        "models_without_price": ledger.unpriced,
        "passed_over": ledger.passed_over,
        "failures": list(ledger.failures),
    }


def _client(ledger: Ledger, client: str) -> Row:
    churn = msgspec.to_builtins(ledger.churns[client])
    return {**_together(ledger.of_client(client)), "churn": churn}


def _together(entries: Sequence[Entry]) -> Row:
    recorded = [entry.audited.recorded for entry in entries]
    rebuilt = [entry.audited.rebuilt for entry in entries]
    return {
        "sessions": len(entries),
        "sessions_without_price": sum(each.cost is None for each in recorded),
        "recorded_sizes": {**_tally(together("", recorded)), **_errors(recorded)},
        "rebuilt_sizes": {**_tally(together("", rebuilt)), **_errors(rebuilt)},
        "causes": _causes(entries),
        "read_cost_usd": _read_cost(entries),
    }


def _errors(tallies: Sequence[Tally]) -> Row:
    """Off by how much the input costs of sessions are: the middle one, and the worst."""
    from statistics import median

    errors = cost_errors(tallies)
    return {
        "session_cost_error_median": plain(median(errors)) if errors else None,
        "session_cost_error_worst": plain(errors[-1]) if errors else None,
    }


def _session(entry: Entry) -> Row:
    audited = entry.audited
    priced = audited.recorded.cost is not None
    return {
        "session": entry.name,
        "client": audited.client,
        "file": entry.file,
        "recorded_sizes": _tally(audited.recorded),
        "rebuilt_sizes": _tally(audited.rebuilt),
        "causes": _causes([entry]),
        "read_cost_usd": _read_cost([entry]),
        "calls_of_models_not_known": audited.left_out,
        "calls_counted_elsewhere": audited.repeated,
        "calls": [_call(finding, priced) for finding in audited.findings],
    }


def _tally(tally: Tally) -> Row:
    return {
        "calls": tally.calls,
        "prompt_tokens": _pair(tally.prompt),
        "read_tokens": _pair(tally.read),
        "fresh_tokens": _pair(tally.written),
        "input_cost_usd": _pair(tally.cost),
        "exact": plain(tally.exact),
        "within_5_percent": plain(tally.near),
        "rebuilds": asdict(tally.rebuilds),
        "prompt_size_error": plain(tally.prompt_error),
    }


def _pair(pair: Pair | None) -> Row:
    if pair is None:
        return {"expected": None, "recorded": None, "error": None}
    return {
        "expected": plain(pair.expected),
        "recorded": plain(pair.recorded),
        "error": plain(pair.error),
    }


def _causes(entries: Sequence[Entry]) -> list[Row]:
    return [
        {
            "cause": share.cause,
            "ground": share.ground,
            "tokens": share.tokens,
            "cost_usd": plain(share.dollars),
            "premium_usd": plain(share.premium),
        }
        for share in shares(entries)
    ]


def _read_cost(entries: Sequence[Entry]) -> int | float | None:
    priced = any(entry.audited.recorded.cost is not None for entry in entries)
    return plain(read_cost(entries)) if priced else None


def _call(finding: Finding, priced: bool) -> Row:
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


def _miss(miss: Miss) -> Row:
    return {
        "session": miss.entry.name,
        "file": miss.entry.file,
        "call": miss.number,
        "answer": miss.finding.forecast.exchange.answer.id,
        "tokens_not_read": miss.tokens,
        "cost_above_expected_usd": plain(miss.dollars),
    }
