"""A baseline: the figures that one has agreed on, in a file that is reviewed in git."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from compactlab.reports.comparison import Case
from compactlab.reports.gate.names import some
from compactlab.reports.gate.provenance import Provenance, provenance
from compactlab.reports.gate.record import Record, Subject, record_of
from compactlab.reports.text import counted
from compactlab.sim.errors import UsageError, unknown
from compactlab.sim.metrics import FAMILIES, METRICS
from compactlab.sim.results import Results
from compactlab.sim.run import Run

GATED = (
    "cost_usd",
    "side_cost_usd",
    "cost_with_rework_usd",
    "tokens_uncached",
    "tokens_cache_read",
    "tokens_cache_write",
    "tokens_output",
    "write_spike_ratio",
    "calls",
    "compactions",
    "overflows",
    "amnesia_need",
    "structural_validity",
    "rejected_calls",
)
"""What a baseline holds if nothing else is asked for."""

# What a share over all conversations is put together from.
_WITH = {"over_window": ("calls", "overflows")}

Conversation = tuple[str, str]
"""Scenario and id."""


@dataclass(frozen=True)
class Baseline:
    """The figures of an experiment, run by run, and where they come from.

    Parameters
    ----------
    provenance
        Versions, prices, setting and seeds, see :mod:`compactlab.reports.gate.provenance`.
    metrics
        Names of the metrics that it holds.
    digests
        Of each conversation, by scenario and id.
    records
        By strategy, model and summariser, and by what was replayed.
    typed
        Whether it holds needs by type of fact.
    unreadable
        Names of the sources that could not be read.
    """

    provenance: Provenance
    metrics: tuple[str, ...]
    digests: Mapping[Conversation, str]
    records: Mapping[Subject, Mapping[Case, Record]]
    typed: bool = True
    unreadable: tuple[str, ...] = ()

    @classmethod
    def of(cls, results: Results, metrics: Iterable[str] = GATED) -> Baseline:
        """The figures of results as they are, whatever failed.

        Parameters
        ----------
        results
            The results.
        metrics
            What to hold; those that were not computed are left out.
        """
        runs = [run for run in results.runs if run.status != "unreadable"]
        held = computed(results)
        asked = {each for name in metrics for each in (name, *_WITH.get(name, ()))}
        names = tuple(name for name in METRICS if name in asked & held)
        found: dict[Subject, dict[Case, Record]] = {}
        labels = _labels(results, runs)
        for run in runs:
            subject = Subject(run.strategy, run.model, run.summarizer, labels[run.strategy])
            record = record_of(run, names)
            known = found.setdefault(subject, {})
            # As reports do: of two runs over the same, the first one that went well counts.
            if record.case not in known or (known[record.case].failed and not record.failed):
                known[record.case] = record
        return cls(
            provenance(results),
            names,
            _digests(runs),
            {subject: dict(sorted(found[subject].items())) for subject in sorted(found)},
            any(len(run.rows.get("facts", ())) for run in runs),
            tuple(sorted(run.conversation for run in results.runs if run.status == "unreadable")),
        )

    @property
    def failed(self) -> list[tuple[Subject, Record]]:
        """The runs that failed."""
        every = ((subject, r) for subject, held in self.records.items() for r in held.values())
        return [(subject, record) for subject, record in every if record.failed]

    @property
    def size(self) -> int:
        """How many runs it holds."""
        return sum(map(len, self.records.values()))

    @property
    def types(self) -> tuple[str, ...]:
        """The types of fact that anything needed, sorted."""
        every = (record for held in self.records.values() for record in held.values())
        return tuple(sorted({type for record in every for type in record.needs}))


def computed(results: Results) -> set[str]:
    """Names of the metrics that results have."""
    in_manifest = results.manifest.get("metrics")
    if in_manifest is not None:
        return set(in_manifest) & set(METRICS)
    return {name for run in results.runs for name in run.metrics} & set(METRICS)


def metrics_named(names: Iterable[str]) -> tuple[str, ...]:
    """Metrics by their names and by those of families, in the order of the table.

    Raises
    ------
    UsageError
        If there is neither metric nor family of a name.

    Examples
    --------
    >>> metrics_named(["time", "cost_usd"])
    ('cost_usd', 'ttft_proxy_p50', 'ttft_proxy_p95')
    """
    families = {family.name: {metric.name for metric in family.metrics} for family in FAMILIES}
    wanted: set[str] = set()
    for name in names:
        if name not in families and name not in METRICS:
            raise UsageError(
                unknown("metric", name, (*families, *METRICS), "compactlab list metrics")
            )
        wanted |= families.get(name, {name})
    return tuple(name for name in METRICS if name in wanted)


def fit_to_keep(results: Results, named: Sequence[str], *, allow_failed: bool) -> None:
    """See that results are whole, so that a baseline of them is worth a review.

    Parameters
    ----------
    results
        The results.
    named
        The metrics that were asked for by name: they must have been computed.
    allow_failed
        Whether failed runs may be among them.

    Raises
    ------
    UsageError
        If anything is missing; it says what.
    """
    if not results.runs:
        raise UsageError("no baseline was written: the store holds no runs")
    if results.missing:
        told = f"{counted(results.missing, 'cell')} of the experiment are not in the store yet"
        raise UsageError(f"no baseline was written: {told}; run it to its end first")
    lacking = [name for name in named if name not in computed(results)]
    if lacking:
        told = some(lacking)
        raise UsageError(f"no baseline was written: the store has no figures of {told}")
    failed = results.failed
    if failed and not allow_failed:
        names = [f"{run.conversation} ({run.strategy or 'unreadable'})" for run in failed]
        raise UsageError(
            f"no baseline was written: {counted(len(failed), 'run')} failed: "
            f"{some(names)}; --allow-failed records them as failed"
        )


def _labels(results: Results, runs: Iterable[Run]) -> dict[str, str]:
    """Short names of strategies; their full ones, where two would be called the same."""
    told = results.manifest.get("strategies", {})
    labels = {run.strategy: str(told.get(run.strategy, run.strategy)) for run in runs}
    names = list(labels.values())
    return {spec: name if names.count(name) == 1 else spec for spec, name in labels.items()}


def _digests(runs: Iterable[Run]) -> dict[Conversation, str]:
    found: dict[Conversation, set[str]] = {}
    for run in runs:
        held = found.setdefault((run.scenario, run.conversation), set())
        held.update([run.digest] if run.digest else ())
    return {key: " ".join(sorted(found[key])) for key in sorted(found)}
