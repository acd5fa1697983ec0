"""The calls at which an audit is furthest from the log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import nlargest

from compactlab.reports.audit.causes import GROUNDS
from compactlab.reports.audit.diagnosis import Finding
from compactlab.reports.audit.ledger import AuditedFile
from compactlab.reports.audit.tally import input_costs


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
