"""An audit as JSON, down to every call: ``docs/audit.md`` explains the keys."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from compactlab.reports.audit.avoidable import AVOIDABLE, avoidable, longer
from compactlab.reports.audit.causes import charged, headline, read_cost, remarks
from compactlab.reports.audit.compactions import REREADS
from compactlab.reports.audit.diagnosis import Finding, agreed, agreement
from compactlab.reports.audit.ledger import AuditedFile, Ledger, cost_errors, merge
from compactlab.reports.audit.tables import CAUSE, REBUILDS, SIZES, TallyRow, cause_rows, worst
from compactlab.reports.audit.tally import Tally, input_costs
from compactlab.reports.audit.thrash import THRASH, thrash_of
from compactlab.reports.render.document import with_names
from compactlab.reports.render.fields import as_data, data_of, hidden
from compactlab.reports.render.text import plain


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
