"""Compares the cache model with a recording: what was expected, what happened, and why."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from compactlab.reports.audit.churning import Session
from compactlab.reports.audit.compacted import Logged, compactions_of
from compactlab.reports.audit.forecast import forecasts
from compactlab.reports.audit.inquest import by_pattern, inquest
from compactlab.reports.audit.rereads import Rereads
from compactlab.reports.audit.tally import Tally, tally
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.models.model import Model, find_model
from compactlab.sim.replay.recording import Key, exchanges


@dataclass(frozen=True)
class Audited:
    """The audit of one recording."""

    findings: Session
    recorded: Tally
    left_out: dict[str, int]  # calls of unknown models, by model
    repeated: int = 0  # calls that another recording holds, too
    compactions: tuple[Logged, ...] = ()

    @property
    def client(self) -> str:
        """The format of its log."""
        return self.recorded.client

    @property
    def rereads(self) -> Rereads:
        """What was read again after its compactions."""
        return sum((each.rereads for each in self.compactions), Rereads())

    @property
    def keys(self) -> Iterator[Key]:
        """Keys by which its calls are found in other files; calls without a time have none."""
        exchanges = (finding.forecast.exchange for finding in self.findings)
        return (exchange.key for exchange in exchanges if exchange.answer.time)

    def bare(self) -> Audited:
        """This audit without texts: little to keep, where there are many."""
        return replace(self, findings=tuple(finding.bare() for finding in self.findings))


def audit(
    conversation: Conversation,
    find: Callable[[str], Model] = find_model,
    counted: Collection[Key] = (),
    since: float = 0.0,
) -> Audited | None:
    """Compare the model with one recording: calls from a moment on that are not yet counted."""
    asked = [each for each in exchanges(conversation) if each.time >= since]
    every = list(inquest(forecasts(conversation, find)))
    known = {finding.forecast.exchange.answer.id for finding in every}
    every = [each for each in every if each.forecast.exchange.time >= since]
    findings = [each for each in every if each.forecast.exchange.key not in counted]
    left_out: dict[str, int] = {}
    for exchange in asked:
        if exchange.answer.id not in known:
            name = exchange.call.model
            left_out[name] = left_out.get(name, 0) + 1
    if not findings:
        return None
    sums = tally(conversation.id, conversation.format, findings)
    kept = {finding.forecast.exchange.answer.id for finding in findings}
    compacted = tuple(compactions_of(conversation, find, since, known - kept))
    return Audited(findings, sums, left_out, len(every) - len(findings), compacted)


def name_by_pattern(audits: Iterable[Audited]) -> list[Audited]:
    """Name the causes that only all sessions of a client show; see :func:`by_pattern`."""
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
