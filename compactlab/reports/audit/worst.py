"""The calls of an audit at which expected and recorded lie furthest apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import nlargest

from compactlab.reports.audit.causes import GROUNDS
from compactlab.reports.audit.inquest import Finding
from compactlab.reports.audit.ledger import Entry
from compactlab.reports.audit.tally import input_costs


@dataclass(frozen=True)
class Miss:
    """A call that was not as expected.

    Parameters
    ----------
    entry
        Its session.
    number
        The call's place in the session, from 1.
    finding
        What was found out about it.
    dollars
        What its input cost more than expected; None where prices are not known.
    """

    entry: Entry
    number: int
    finding: Finding
    dollars: float | None

    @property
    def tokens(self) -> int:
        """Tokens that were expected to be read and were not; below 0, the other way round."""
        return self.finding.forecast.read - self.finding.read

    @property
    def expected(self) -> str:
        """The causes that were expected, largest first."""
        causes = sorted(self.finding.forecast.causes.items(), key=lambda item: -item[1])
        return ", ".join(f"{cause} {tokens:,}" for cause, tokens in causes) or "nothing fresh"

    @property
    def happened(self) -> str:
        """The causes that were found, largest first, with what the first stands on."""
        charges = sorted(self.finding.charges, key=lambda charge: -charge.tokens)
        told = [f"{charge.cause} {charge.tokens:,}" for charge in charges if charge.tokens]
        if not told:
            return "nothing fresh"
        stands = next((GROUNDS[c.ground] for c in charges if c.ground in ("read", "pattern")), "")
        return ", ".join(told) + (f" ({stands})" if stands else "")


def worst(entries: Iterable[Entry], most: int) -> list[Miss]:
    """The calls that are furthest off, worst first.

    Parameters
    ----------
    entries
        The sessions.
    most
        How many calls at most. Those whose prices are known go by dollars and come first; the
        others by tokens.
    """
    missed = (miss for miss in _misses(entries) if miss.tokens or miss.dollars)
    return nlargest(most, missed, key=_weight)


def _misses(entries: Iterable[Entry]) -> Iterator[Miss]:
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
