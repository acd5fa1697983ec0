"""The results of an audit: sessions, totals, and what could not be audited."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import fsum
from typing import Any

from compactlab.reports.audit.churning import (
    BillForecast,
    Session,
    churn_of,
    forecast_bill,
    losses_of,
)
from compactlab.reports.audit.compactions import Logged, Rereads, compactions_of, flush_turns
from compactlab.reports.audit.diagnosis import Finding, by_pattern, diagnose
from compactlab.reports.audit.forecast import forecasts
from compactlab.reports.audit.tally import Pair, Rebuilds, Tally, tally
from compactlab.reports.bill import Spending, Sums
from compactlab.sim.core.conversation import Conversation, PassedOver
from compactlab.sim.models.model import Model, find_model
from compactlab.sim.replay.client import Churn
from compactlab.sim.replay.recording import ANSWER


@dataclass(frozen=True)
class Audited:
    """The audit of one recording."""

    findings: Session
    recorded: Tally
    repeated: int = 0  # calls that another recording contains, too
    compactions: tuple[Logged, ...] = ()
    flushes: tuple[tuple[str, ...], ...] = ()  # of each turn of a memory flush its answers

    @property
    def client(self) -> str:
        """The format of its log."""
        return self.recorded.client

    @property
    def rereads(self) -> Rereads:
        """Files that were read again after its compactions."""
        return sum((each.rereads for each in self.compactions), Rereads())

    @property
    def answers(self) -> set[str]:
        """Ids of the answers of its calls."""
        return {finding.forecast.exchange.answer.id for finding in self.findings}

    def bare(self) -> Audited:
        """A copy without texts, which needs little memory."""
        return replace(self, findings=tuple(finding.bare() for finding in self.findings))

    def only(self, answers: Collection[str], since: float = 0.0) -> Audited | None:
        """The audit of some calls only, by the ids of their answers; None if it has none of them.

        Compactions since a time stay if the answer after them does.
        """
        findings = [f for f in self.findings if f.forecast.exchange.answer.id in answers]
        late = sum(finding.forecast.exchange.time >= since for finding in self.findings)
        if not findings:
            return None
        compactions = tuple(
            each
            for each in self.compactions
            if each.time >= since and (not each.answer or each.answer in answers)
        )
        sums = tally(self.recorded.name, self.client, findings)
        return replace(
            self,
            findings=findings,
            recorded=sums,
            repeated=late - len(findings),
            compactions=compactions,
            flushes=tuple(turn for turn in self.flushes if set(turn) & set(answers)),
        )


def audit(conversation: Conversation, find: Callable[[str], Model] = find_model) -> Audited | None:
    """Compare the model with one recording; None if no call can be forecast."""
    findings = list(diagnose(forecasts(conversation, find)))
    if not findings:
        return None
    sums = tally(conversation.id, conversation.format, findings)
    compactions = tuple(compactions_of(conversation, find))
    return Audited(findings, sums, 0, compactions, flush_turns(conversation))


def name_by_pattern(audits: Iterable[Audited]) -> list[Audited]:
    """Name the causes that only all sessions of a client together show; see :func:`by_pattern`."""
    audits = list(audits)
    for client in {each.client for each in audits}:
        own = [index for index, each in enumerate(audits) if each.client == client]
        named = iter(by_pattern([f for index in own for f in audits[index].findings]))
        for index in own:
            findings = tuple(next(named) for _ in audits[index].findings)
            audits[index] = replace(audits[index], findings=findings)
    return audits


def sessions_of(client: str, audits: Sequence[Audited]) -> list[Session]:
    """The sessions of one client."""
    return [each.findings for each in audits if each.client == client]


# With fewer sessions the probability of losses is unknown: most sessions have none.
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
    """The name of a client; the format of its log if that is clearer."""
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
        return self.audited.recorded.name


@dataclass(frozen=True)
class Ledger:
    """All audited sessions."""

    entries: tuple[AuditedFile, ...]  # the sessions with an explanation
    spending: Spending  # what all read sessions spent
    # Numbers of skipped calls or sessions, by a key of REASONS.
    passed_over: dict[str, int] = field(default_factory=dict)
    failures: tuple[str, ...] = ()  # error messages of unreadable sources
    not_understood: tuple[PassedOver, ...] = ()  # skipped records, by kind

    @classmethod
    def of(cls, entries: Sequence[AuditedFile], spending: Spending, **more: Any) -> Ledger:
        """Collect sessions, and name the causes that only all of them together show."""
        named = name_by_pattern(entry.audited for entry in entries)
        made = zip(entries, named, strict=True)
        return cls(tuple(replace(entry, audited=one) for entry, one in made), spending, **more)

    @property
    def sums(self) -> Sums:
        """The spending alone, for an audit without explanations."""
        return Sums(
            self.spending,
            self.passed_over,
            self.failures,
            self.not_understood,
            self.unexplained,
        )

    @cached_property
    def clients(self) -> tuple[str, ...]:
        """The clients, those with most sessions first."""
        counts = Counter(entry.audited.client for entry in self.entries)
        return tuple(client for client, _ in counts.most_common())

    def of_client(self, client: str) -> tuple[AuditedFile, ...]:
        return tuple(each for each in self.entries if client in ("", each.audited.client))

    @cached_property
    def by_cost(self) -> tuple[AuditedFile, ...]:
        """The most expensive sessions first; those without a price last, by cache-miss tokens."""
        return tuple(sorted(self.entries, key=_weight, reverse=True))

    @property
    def findings(self) -> Iterator[Finding]:
        """The calls of all sessions."""
        return (finding for entry in self.entries for finding in entry.audited.findings)

    @property
    def rereads(self) -> Rereads:
        """Files read again after compactions, in all sessions."""
        return sum((entry.audited.rereads for entry in self.entries), Rereads())

    @cached_property
    def unexplained(self) -> dict[str, int]:
        """Billed calls without an explanation, by model whose cache policy is unknown."""
        explained = {(e.file, e.name, answer) for e in self.entries for answer in e.audited.answers}
        counts = Counter(
            call.model.name
            for session in self.spending.sessions
            for call in session.calls
            if call.request.purpose == ANSWER
            and call.request.usage.prompt
            and (session.file, session.name, call.request.answer) not in explained
        )
        return dict(counts.most_common())

    @property
    def repeated(self) -> int:
        """The number of calls that are in several files; each is counted once."""
        return sum(entry.audited.repeated for entry in self.entries)

    @cached_property
    def churns(self) -> dict[str, Churn]:
        audits = [entry.audited for entry in self.entries]
        return {client: churn_of(client, sessions_of(client, audits)) for client in self.clients}

    @cached_property
    def bills(self) -> dict[tuple[str, str], BillForecast]:
        """The forecast bill of each session, by file and name, with the churn of other sessions.

        Each half of a client's sessions is forecast from the other half. With fewer than five
        sessions, or without a price, there is no forecast.
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
        return self.bills.get((entry.file, entry.name))


def _weight(entry: AuditedFile) -> tuple[float, float]:
    tally = entry.audited.recorded
    return (tally.cost.recorded if tally.cost else -1.0), tally.written.recorded


def merge(name: str, tallies: Sequence[Tally]) -> Tally:
    """The tally of several sessions."""
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
    """The relative errors of the sessions' input costs, absolute and ascending."""
    costs = (each.cost for each in tallies if each.cost is not None)
    return sorted(abs(cost.error) for cost in costs if cost.error is not None)
