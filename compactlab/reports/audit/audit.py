"""Compare the cache model with a recording: expected and actual reads, and causes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from compactlab.reports.audit.churning import Session
from compactlab.reports.audit.compactions import Logged, Rereads, compactions_of, flush_turns
from compactlab.reports.audit.diagnosis import by_pattern, diagnose
from compactlab.reports.audit.forecast import forecasts
from compactlab.reports.audit.tally import Tally, tally
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.models.model import Model, find_model


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
