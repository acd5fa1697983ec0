"""What an audit of recordings holds: the sessions, their sums, and what could not be audited."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import fsum

from compactlab.reports.audit.audit import Audited, name_by_pattern, sessions_of
from compactlab.reports.audit.bill import BillForecast, forecast_bill
from compactlab.reports.audit.churning import churn_of, losses_of
from compactlab.reports.audit.inquest import Finding
from compactlab.reports.audit.rereads import Rereads
from compactlab.reports.audit.spent import Billed, Session, Spending
from compactlab.reports.audit.tally import Pair, Rebuilds, Tally
from compactlab.sim.core.errors import ModelError
from compactlab.sim.models.model import Model
from compactlab.sim.models.pricing import prices_of
from compactlab.sim.replay.client import Churn

# From fewer sessions no chance of a loss is known: of most, none had any.
ENOUGH = 5
CLIENTS = {
    "claude-code": "Claude Code",
    "pi": "pi",
    "codex": "Codex",
    "kimi": "Kimi Code",
    "hermes": "Hermes",
    "gemini": "Gemini CLI",
    "opencode": "OpenCode",
    "copilot": "Copilot CLI",
    "qwen": "Qwen Code",
}


def client_name(client: str) -> str:
    """A client as it is called; the format of its log where that says it best."""
    return CLIENTS.get(client, client)


@dataclass(frozen=True)
class AuditedFile:
    """An audited session."""

    file: str
    audited: Audited
    project: str = ""
    subagent: bool = False

    @property
    def name(self) -> str:
        """The session."""
        return self.audited.recorded.name

    @property
    def spent(self) -> Session:
        """Its calls as they were billed."""
        forecasts = (finding.forecast for finding in self.audited.findings)
        calls = [Billed(forecast.exchange, forecast.model) for forecast in forecasts]
        return Session(self.name, self.file, self.project, self.subagent, calls)


@dataclass(frozen=True)
class Ledger:
    """All that was audited."""

    entries: tuple[AuditedFile, ...]
    passed_over: dict[str, int] = field(default_factory=dict)  # how many, by a key of REASONS
    failures: tuple[str, ...] = ()  # messages
    # Calls by model, of sessions that were skipped.
    unknown: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        entries: Sequence[AuditedFile],
        passed_over: dict[str, int] | None = None,
        failures: Iterable[str] = (),
        unknown: dict[str, int] | None = None,
    ) -> Ledger:
        """Put sessions together, and name the causes that only all of them show."""
        named = name_by_pattern(entry.audited for entry in entries)
        made = zip(entries, named, strict=True)
        return cls(
            tuple(replace(entry, audited=audited) for entry, audited in made),
            passed_over or {},
            tuple(failures),
            unknown or {},
        )

    @cached_property
    def clients(self) -> tuple[str, ...]:
        """The clients, those with most sessions first."""
        counts = Counter(entry.audited.client for entry in self.entries)
        return tuple(client for client, _ in counts.most_common())

    def of_client(self, client: str) -> tuple[AuditedFile, ...]:
        """The sessions of one client; of all, for ""."""
        return tuple(each for each in self.entries if client in ("", each.audited.client))

    @cached_property
    def by_cost(self) -> tuple[AuditedFile, ...]:
        """The most expensive sessions first; those without a price last, by cache-miss tokens."""
        return tuple(sorted(self.entries, key=_weight, reverse=True))

    @property
    def findings(self) -> Iterator[Finding]:
        """The calls of all sessions."""
        return (finding for entry in self.entries for finding in entry.audited.findings)

    @cached_property
    def spending(self) -> Spending:
        """What was spent in all sessions."""
        return Spending([entry.spent for entry in self.entries])

    @property
    def rereads(self) -> Rereads:
        """What was read again after compactions, in all sessions."""
        return sum((entry.audited.rereads for entry in self.entries), Rereads())

    @cached_property
    def left_out(self) -> dict[str, int]:
        """Calls of models that are not known, by model."""
        counts = Counter(self.unknown)
        for entry in self.entries:
            counts.update(entry.audited.left_out)
        return dict(counts.most_common())

    @cached_property
    def unpriced(self) -> dict[str, int]:
        """Calls of models whose prices are not known, by model."""
        audits = (entry.audited for entry in self.entries if entry.audited.recorded.cost is None)
        models = (finding.forecast.model for audited in audits for finding in audited.findings)
        counts = Counter(models).most_common()
        return {model.name: count for model, count in counts if not _has_price(model)}

    @cached_property
    def inferred(self) -> list[str]:
        """What is not known of models, but taken from others of their providers."""
        models = {finding.forecast.model for finding in self.findings}
        return sorted({model.inferred for model in models if model.inferred})

    @property
    def repeated(self) -> int:
        """Calls that stand in several files, each counted once."""
        return sum(entry.audited.repeated for entry in self.entries)

    @cached_property
    def churns(self) -> dict[str, Churn]:
        """How much each client churns."""
        audits = [entry.audited for entry in self.entries]
        return {client: churn_of(client, sessions_of(client, audits)) for client in self.clients}

    @cached_property
    def bills(self) -> dict[tuple[str, str], BillForecast]:
        """The bill of each session, by file and name, as forecast with the churn of others.

        Every second session of a client is forecast from the others, and the other way round.
        From fewer than five sessions, or without a price, there is no forecast.
        """
        bills = {}
        for client in self.clients:
            entries = self.of_client(client)
            for own, others in ((entries[::2], entries[1::2]), (entries[1::2], entries[::2])):
                if len(others) < ENOUGH:
                    continue
                churn = losses_of(client, sessions_of(client, [each.audited for each in others]))
                for entry in own:
                    made = forecast_bill(entry.name, entry.audited.findings, churn)
                    if made is not None:
                        bills[entry.file, entry.name] = made
        return bills

    def bill(self, entry: AuditedFile) -> BillForecast | None:
        """The forecast bill of a session."""
        return self.bills.get((entry.file, entry.name))


def _weight(entry: AuditedFile) -> tuple[float, float]:
    tally = entry.audited.recorded
    return (tally.cost.recorded if tally.cost else -1.0), tally.written.recorded


def _has_price(model: Model) -> bool:
    try:
        prices_of(model)
    except ModelError:
        return False
    return True


def merge(name: str, tallies: Sequence[Tally]) -> Tally:
    """What several sessions come to."""
    clients = {each.client for each in tallies}
    calls = sum(each.calls for each in tallies)
    priced = [each.cost for each in tallies if each.cost is not None]
    nothing = Pair(0, 0)
    return Tally(
        name,
        clients.pop() if len(clients) == 1 else "",
        calls,
        sum((each.prompt for each in tallies), nothing),
        sum((each.read for each in tallies), nothing),
        sum((each.written for each in tallies), nothing),
        sum(priced, Pair(0.0, 0.0)) if priced else None,
        fsum(each.exact * each.calls for each in tallies) / calls,
        fsum(each.near * each.calls for each in tallies) / calls,
        sum((each.rebuilds for each in tallies), Rebuilds()),
    )


def cost_errors(tallies: Iterable[Tally]) -> list[float]:
    """By what share the input cost of each session is off, signless and ascending."""
    costs = (each.cost for each in tallies if each.cost is not None)
    return sorted(abs(cost.error) for cost in costs if cost.error is not None)
