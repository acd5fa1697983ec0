"""A record: the figures of one run that a gate compares, and its needs and needs met."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from compactlab.reports.analysis.calls import total
from compactlab.reports.analysis.comparison import RECALL, Case
from compactlab.reports.render.text import clean, enumerated, shorten
from compactlab.sim.metrics import METRICS
from compactlab.sim.store.run import Run
from compactlab.sim.store.tables import CALLS

# External names as they are shown: short and harmless.

_LONGEST = 80
_NAMED = 3


def brief(name: str) -> str:
    r"""A truncated name without invisible characters.

    Examples
    --------
    >>> len(brief("a" * 1_000)), brief("a\nb")
    (80, 'a b')
    """
    return clean(shorten(name, _LONGEST))


def some(names: list[str]) -> str:
    """The first names of a list, and the number of further ones."""
    return enumerated([*map(brief, names[:_NAMED]), *names[_NAMED:]], _NAMED)


Needs = Mapping[str, tuple[int, int]]
"""Needs, and needs met, by type of fact."""

NEED = "amnesia_need"
# The primary metric of memory and related ones; see compactlab.reports.analysis.comparison.
HEADLINE = RECALL[20_000]
BESIDE = RECALL[10_000], RECALL[40_000]
REUSE = "prefix_reuse"


@dataclass(frozen=True, order=True)
class Subject:
    """The unit of judgement: a strategy under a model and a summariser."""

    strategy: str
    model: str
    summarizer: str
    label: str = field(compare=False)  # not part of the identity


@dataclass(frozen=True)
class Record:
    """What a baseline holds of a run."""

    scenario: str
    conversation: str
    seed: int
    figures: Mapping[str, float | None] = field(default_factory=dict)
    needs: Needs = field(default_factory=dict)  # without types that nothing needed
    prompt: tuple[int, int] = (0, 0)  # tokens read from the cache, and not read
    failed: str = ""  # an error; a failed run has no figures

    @property
    def case(self) -> Case:
        return self.scenario, self.conversation, self.seed

    def value(self, metric: str, type: str = "") -> float | None:
        """One of its figures; for a type of fact, the share of needs that are not met."""
        if not type:
            return self.figures.get(metric)
        needs, met = self.needs.get(type, (0, 0))
        return (needs - met) / needs if needs else None

    def run(self, type: str = "") -> Run:
        """The record as a run, so that it is aggregated like runs in reports."""
        figures = {NEED: self.value(NEED, type)} if type else dict(self.figures)
        rows = {}
        if REUSE in figures:
            read, cache_misses = self.prompt
            rows["calls"] = CALLS.filled({"cache_read": [read], "uncached": [cache_misses]})
        return Run(
            self.conversation,
            self.scenario,
            "",
            "",
            0,
            self.seed,
            metrics=figures,
            rows=rows,
        )


def record_of(run: Run, metrics: Iterable[str]) -> Record:
    """The record of a run."""
    if run.status != "ok":
        return Record(run.scenario, run.conversation, run.seed, failed=run.error or run.status)
    figures = {name: _figure(name, run.metrics.get(name)) for name in metrics}
    prompt = (0, 0)
    if REUSE in figures:
        cache_misses = total(run, "uncached", "cache_write_5m", "cache_write_1h")
        prompt = total(run, "cache_read"), cache_misses
    return Record(run.scenario, run.conversation, run.seed, figures, _needs(run), prompt)


def _figure(name: str, value: float | None) -> float | None:
    """A figure in its form in files: counts are integers, even those of plug-in metrics."""
    if value is None or math.isnan(value):
        return None
    counted = METRICS[name].unit in ("tokens", "calls", "compactions", "summaries", "messages")
    return int(value) if counted and float(value).is_integer() else float(value)


def _needs(run: Run) -> Needs:
    facts = run.rows.get("facts")
    if facts is None or not len(facts):
        return {}
    counts: dict[str, tuple[int, int]] = {}
    for type, needs, met in zip(facts["type"], facts["needs"], facts["needs_met"], strict=True):
        if needs:
            before = counts.get(type, (0, 0))
            counts[type] = before[0] + int(needs), before[1] + int(met)
    return counts
