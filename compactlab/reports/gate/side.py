"""One side of a gate, what was or what is: figures put together as reports do it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from compactlab.reports.aggregate import figures_of
from compactlab.reports.comparison import Case
from compactlab.reports.gate.baseline import Baseline
from compactlab.reports.gate.demand import Demand
from compactlab.reports.gate.record import Record, Subject
from compactlab.sim.run import Run

Records = Mapping[Case, Record]


class Side:
    """Figures of a baseline, each reckoned once.

    Parameters
    ----------
    held
        The baseline; None if there is none.
    """

    def __init__(self, held: Baseline | None) -> None:
        self.held = held
        self._figures: dict[tuple[Subject, tuple[str, ...], str], dict[str, float | None]] = {}

    @property
    def subjects(self) -> list[Subject]:
        """The strategies, with model and summariser."""
        return list(self.held.records) if self.held else []

    def records(self, subject: Subject, demand: Demand) -> Records:
        """The runs of a subject that a demand is asked of, and that went well."""
        found = self.held.records.get(subject, {}) if self.held else {}
        return {
            case: record
            for case, record in found.items()
            if not record.failed and demand.covers(record)
        }

    def figure(self, subject: Subject, demand: Demand, type: str) -> float | None:
        """The figure of a subject, over all runs that a demand is asked of."""
        key = subject, demand.scenario, type
        if key not in self._figures:
            records = self.records(subject, demand).values()
            self._figures[key] = figures_of([record.run(type) for record in records])
        return self._figures[key].get(demand.rule.metric)

    def lacks(self, metric: str, type: str) -> bool:
        """Whether a figure is not in it at all."""
        if self.held is None:
            return True
        # Needs by type come from the table of facts, whatever metrics were kept.
        return not self.held.typed if type else metric not in self.held.metrics


def by_conversation(records: Iterable[Record]) -> dict[tuple[str, str], list[Record]]:
    """Runs by scenario and conversation: several where it was replayed with several seeds."""
    found: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        found.setdefault(record.case[:2], []).append(record)
    return found


def value_of(records: Sequence[Record], metric: str, type: str) -> float | None:
    """The figure of a conversation, from its replays."""
    runs: list[Run] = [record.run(type) for record in records]
    return figures_of(runs)[metric] if runs else None
