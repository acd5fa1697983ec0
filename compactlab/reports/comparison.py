"""Runs put together: one row a strategy, over the conversations where all of them succeeded."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from compactlab.reports.calls import total
from compactlab.reports.text import clean
from compactlab.sim.metrics import METRICS
from compactlab.sim.results import Results, Run

NULLS = frozenset({"keep_all", "keep_none", "random_keep"})

# A share of faults moves a little when the same faults stand among fewer messages; a strategy
# that tears calls from their results moves it by several points.
FAULT_MARGIN = 0.01

Case = tuple[str, str, int]


@dataclass(frozen=True)
class Row:
    """A strategy, over all conversations that it is compared on.

    Parameters
    ----------
    spec, label
        Its full name, and the short one for tables.
    runs
        Its runs, one a case.
    figures
        Value by metric, and ``of_keep_all`` and ``of_as_recorded``: its cost over theirs.
    sees_future
        Whether it knows what comes.
    breaks
        Rules of the contract that it breaks on purpose, with the reasons.
    faulty
        Whether its prompts have more faults that a provider would reject than ``keep_all``'s.
    """

    spec: str
    label: str
    runs: tuple[Run, ...]
    figures: Mapping[str, float | None]
    sees_future: bool
    breaks: Mapping[str, str]
    faulty: bool

    @property
    def name(self) -> str:
        """The name of the strategy without its fields."""
        return _name(self.spec)

    @property
    def null(self) -> bool:
        """Whether it is a yardstick and not a proposal."""
        return self.name in NULLS

    @property
    def hollow(self) -> bool:
        """Whether any of its prompts was larger than the window."""
        return bool(self.figures["overflows"])

    @property
    def valid(self) -> bool:
        """Whether one could use it: never over the window, not faulty, knows no future."""
        return not (self.hollow or self.faulty or self.sees_future)

    @property
    def acted(self) -> int:
        """In how many runs it changed a prompt or asked for something."""
        return sum(
            1
            for run in self.runs
            if run.metrics.get("rewrites") or run.metrics.get("side_cost_usd")
        )

    def value(self, metric: str) -> float:
        """A figure, 0 where there is none."""
        return self.figures[metric] or 0.0


@dataclass(frozen=True)
class Comparison:
    """What may be compared: strategies under the same model and window on the same conversations.

    Parameters
    ----------
    model, window
        As in the runs.
    rows
        A row a strategy, the cheapest first.
    cases
        The conversations, with format and seed, that the rows are over.
    left_out
        Those where a compared strategy did not succeed.
    dropped
        Labels of strategies that succeeded too seldom to be compared.
    """

    model: str
    window: int
    rows: tuple[Row, ...]
    cases: tuple[Case, ...]
    left_out: tuple[Case, ...]
    dropped: tuple[str, ...]

    def row(self, name: str) -> Row | None:
        """The row of a strategy, by its name without fields."""
        return next((row for row in self.rows if row.name == name), None)

    @property
    def recorded(self) -> bool:
        """Whether ``as_recorded`` says more than ``keep_all``."""
        played, kept = self.row("as_recorded"), self.row("keep_all")
        if played is None:
            return False
        same = kept is not None and kept.figures["cost_usd"] == played.figures["cost_usd"]
        return self.model == "recorded" or not same

    @property
    def front(self) -> tuple[Row, ...]:
        """Valid strategies that no other one beats in cost and in forward need at once."""
        front: list[Row] = []
        for row in self.rows:
            best = max((other.value("forward_need") for other in front), default=-1.0)
            if row.valid and not row.null and row.value("forward_need") > best:
                front.append(row)
        return tuple(front)


def comparisons(results: Results) -> list[Comparison]:
    """Sort runs by model and window, and put those of each strategy together."""
    groups: dict[tuple[str, int], list[Run]] = {}
    for run in results.runs:
        if run.status != "unreadable":
            groups.setdefault((run.model, run.window), []).append(run)
    return [_compare(results, model, window, runs) for (model, window), runs in groups.items()]


def label(results: Results, spec: str) -> str:
    """The short name of a strategy."""
    return clean(results.manifest.get("strategies", {}).get(spec, spec))


def together(metric: str) -> str:
    """How the figure of a strategy is put together from its runs, in words."""
    if metric in _POOLED:
        return _POOLED[metric]
    return _HOW[_rule(metric)]


def _compare(results: Results, model: str, window: int, runs: Sequence[Run]) -> Comparison:
    cases = list(dict.fromkeys(case_of(run) for run in runs))
    done: dict[str, dict[Case, Run]] = {run.strategy: {} for run in runs}
    for run in runs:
        if run.status == "ok":
            done[run.strategy].setdefault(case_of(run), run)
    compared = [spec for spec in done if 2 * len(done[spec]) >= max(len(cases), 1)]
    common = _common(cases, done, compared)
    while compared and not common:
        compared.remove(min(compared, key=lambda spec: len(done[spec])))
        common = _common(cases, done, compared)
    within = set(common)
    figures = {spec: _figures([done[spec][case] for case in common]) for spec in compared}
    _relate(figures)
    rows = [_row(results, spec, tuple(done[spec][c] for c in common), figures) for spec in compared]
    return Comparison(
        model,
        window,
        tuple(sorted(rows, key=lambda row: (row.value("cost_usd"), row.label))),
        tuple(common),
        tuple(case for case in cases if case not in within),
        tuple(label(results, spec) for spec in done if spec not in compared),
    )


def case_of(run: Run) -> Case:
    """What a run was over: the unit that strategies are compared on."""
    return run.scenario, run.conversation, run.seed


def _common(
    cases: Iterable[Case], done: Mapping[str, Mapping[Case, Run]], compared: Iterable[str]
) -> list[Case]:
    specs = list(compared)
    return [case for case in cases if specs and all(case in done[spec] for spec in specs)]


def _row(
    results: Results,
    spec: str,
    runs: tuple[Run, ...],
    figures: Mapping[str, Mapping[str, float | None]],
) -> Row:
    own = figures[spec]
    kept = next((f for other, f in figures.items() if _name(other) == "keep_all"), own)
    sound, usual = own["structural_validity"], kept["structural_validity"]
    return Row(
        spec,
        label(results, spec),
        runs,
        own,
        spec in results.manifest.get("sees_future", ()),
        results.manifest.get("breaks", {}).get(spec, {}),
        sound is not None and usual is not None and sound < usual - FAULT_MARGIN,
    )


def _figures(runs: Sequence[Run]) -> dict[str, float | None]:
    figures: dict[str, float | None] = {}
    for metric in METRICS:
        values = [v for run in runs if (v := run.metrics.get(metric)) is not None]
        figures[metric] = _RULES[_rule(metric)](values) if values else None
    figures["prefix_reuse"] = _reuse(runs)
    calls = figures["calls"]
    figures["over_window"] = (figures["overflows"] or 0) / calls if calls else None
    return figures


def _reuse(runs: Iterable[Run]) -> float | None:
    """Share of all prompt tokens that were read: a long conversation weighs as on the bill."""
    read = fresh = 0
    for run in runs:
        read += total(run, "cache_read")
        fresh += total(run, "uncached", "cache_write_5m", "cache_write_1h")
    return read / (read + fresh) if read + fresh else None


def _relate(figures: dict[str, dict[str, float | None]]) -> None:
    for reference in ("keep_all", "as_recorded"):
        found = [f["cost_usd"] for spec, f in figures.items() if _name(spec) == reference]
        cost = found[0] if found else None
        for own in figures.values():
            own[f"of_{reference}"] = (own["cost_usd"] or 0.0) / cost if cost else None


def _name(spec: str) -> str:
    return spec if " + " in spec else spec.partition("(")[0]


_RULES: dict[str, Callable[[list[float]], float]] = {
    "sum": math.fsum,
    "mean": fmean,
    "median": median,
    "maximum": max,
}
_HOW = {
    "sum": "sum over conversations",
    "mean": "mean over the conversations that have a value",
    "median": "median over the conversations that have a value",
    "maximum": "maximum over conversations",
}
_POOLED = {
    "prefix_reuse": "tokens read over prompt tokens, each summed over all calls",
    "over_window": "overflows over calls, each summed over conversations",
}


def _rule(metric: str) -> str:
    """By which rule runs are put together: amounts add up, shares do not."""
    if metric in ("prompt_tokens_peak", "write_spike_max", "write_spike_ratio_max"):
        return "maximum"
    if metric in ("write_spike", "write_spike_ratio"):
        return "median"
    return "mean" if METRICS[metric].unit in ("share", "ratio") else "sum"
