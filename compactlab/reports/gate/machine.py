"""What a gate found, as JSON for programs."""

from __future__ import annotations

import json
import math
from typing import Any

from compactlab.reports.figures import plain
from compactlab.reports.gate.demand import ANY
from compactlab.reports.gate.rules import Outcome
from compactlab.reports.gate.verdict import Finding, Verdict


def machine(verdict: Verdict) -> str:
    """Write what a gate found as JSON, in the order of the rules.

    Parameters
    ----------
    verdict
        What it found.

    Returns
    -------
    str
        ASCII; figures in full, infinite ones as text, and null where there is no value.
    """
    told = {
        "verdict": verdict.word,
        "exit_code": verdict.code,
        "counts": {outcome.value: verdict.count(outcome) for outcome in Outcome},
        "obstacles": list(verdict.obstacles),
        "remarks": list(verdict.remarks),
        "findings": [_finding(finding) for finding in verdict.findings],
    }
    return json.dumps(told, indent=2, allow_nan=False) + "\n"


def _finding(finding: Finding) -> dict[str, Any]:
    demand, subject, span = finding.demand, finding.subject, finding.span
    rule = demand.rule
    limited = not rule.relative or (finding.before is not None and not rule.exact)
    told: dict[str, Any] = {
        "metric": rule.metric,
        "rule": rule.text,
        "place": demand.place or None,
        "type": finding.type or None,
        "scenarios": None if demand.scenario == ANY else list(demand.scenario),
        "strategy": subject.strategy if subject else None,
        "label": subject.label if subject else None,
        "model": subject.model if subject else None,
        "summarizer": subject.summarizer if subject else None,
        "outcome": finding.outcome.value,
        "reason": finding.reason or None,
        "before": _number(finding.before),
        "after": _number(finding.after),
        "limit": _number(rule.limit(finding.before)) if limited else None,
        "moved": [
            {
                "conversation": move.conversation,
                "before": _number(move.before),
                "after": _number(move.after),
            }
            for move in finding.moved
        ],
    }
    if span:
        told["interval"] = {
            "low": _number(span.low),
            "high": _number(span.high),
            "method": span.method or None,
            "conversations": span.conversations,
            "detectable": _number(span.detectable),
        }
    return told


def _number(value: float | None) -> float | str | None:
    if value is not None and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return plain(value)
