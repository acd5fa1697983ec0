"""All charts of a comparison, in reading order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from compactlab.reports.analysis.advice import Advice
from compactlab.reports.analysis.comparison import Case, Comparison, Row, case_of, comparisons
from compactlab.reports.analysis.scope import scope, title_of, told_apart
from compactlab.reports.charts.chart import Chart, stem
from compactlab.reports.charts.drawing import own_specs, strategy_colours
from compactlab.reports.charts.kit import Colours
from compactlab.reports.charts.lines import by_lag, by_round, cumulative
from compactlab.reports.charts.pareto import pareto
from compactlab.reports.charts.profile import by_type, continuity
from compactlab.reports.charts.sensitivity import sensitivity
from compactlab.reports.charts.sessions import Panel, session
from compactlab.reports.charts.setbacks import loops, spikes
from compactlab.reports.charts.stacked import breakdown, classes, occupancy
from compactlab.reports.charts.thrash import thrash
from compactlab.reports.render.text import capitalised
from compactlab.sim.core.errors import UsageError
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import Run

# How many conversations, the largest ones, have their own charts.
SESSIONS = 6
# How many strategies a chart shows; the tables have all.
ROWS = 20


def gallery(
    results: Results,
    comparison: Comparison,
    colours: Colours,
    name: str,
    cases: Sequence[Case] | None = None,
    *,
    most: int = ROWS,
) -> list[Chart]:
    """All charts of a comparison with figures, in reading order.

    Their names begin with ``name``. Charts of single conversations come last and have a
    ``subject``: the given cases, or the largest. All charts but the first show only some
    strategies, see :func:`drawn`.
    """
    own = own_specs(results)
    some = replace(comparison, rows=tuple(drawn(comparison, own, most)))
    charts = [
        pareto(comparison, colours, f"{name}-pareto", own),
        classes(some, f"{name}-classes"),
        breakdown(some, f"{name}-causes"),
        spikes(some, f"{name}-spikes"),
        thrash(some, f"{name}-thrash"),
        by_lag(some, colours, f"{name}-lag"),
        by_type(some, f"{name}-type"),
        by_round(some, colours, f"{name}-survival"),
        occupancy(some, f"{name}-states"),
        continuity(some, f"{name}-continuity"),
        loops(some, f"{name}-loops"),
    ]
    for number, runs in enumerate(_largest(some, cases), 1):
        rows = [row for row in some.rows if row.spec in runs]
        title = title_of(runs[rows[0].spec])
        panels = [
            Panel(row.label, colours[row.spec], runs[row.spec], results.catalogue) for row in rows
        ]
        charts += [
            session(panels, f"{name}-session-{number}", title),
            cumulative(rows, runs, colours, f"{name}-cumulative-{number}", title),
        ]
    return [chart for chart in charts if chart]


def drawn(comparison: Comparison, own: Collection[str] = (), most: int = ROWS) -> list[Row]:
    """The strategies that charts show, in order: those that matter, then the cheapest.

    The front, the recommendation, the reference, controls and the user's own strategies matter.
    """
    advice = Advice(comparison)
    first = [*comparison.front, advice.advised, advice.reference]

    def matters(row: Row) -> bool:
        return row.bound or row.as_recorded or row.spec in own or row in first

    order = sorted(comparison.rows, key=lambda row: (not matters(row), not row.choice))
    shown = {row.spec for row in order[:most]}
    return [row for row in comparison.rows if row.spec in shown]


def save_charts(
    results: Results, folder: Path, progress: Callable[[Path], None] | None = None
) -> list[Path]:
    """Write all charts of all comparisons into a folder, and return their paths.

    Creates the folder if it is missing, or raises a UsageError; keeps other files in it.
    ``progress`` is called with each written file.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: no folder for charts: {error.strerror}") from None
    compared = comparisons(results)
    colours = strategy_colours(results, compared)
    written: list[Path] = []
    for chart in _all(results, compared, colours):
        for path in chart.save(folder):
            written.append(path)
            if progress:
                progress(path)
    return written


def _all(results: Results, compared: Sequence[Comparison], colours: Colours) -> Iterator[Chart]:
    """All charts, each with the name of its files and its scope."""
    taken: set[str] = set()
    for number, comparison in enumerate(compared, 1):
        under = told_apart(comparison, compared) if len(compared) > 1 else ""
        for chart in gallery(results, comparison, colours, f"comparison-{number}"):
            name = stem(chart.shown or chart.kind, under, chart.subject, taken)
            taken.add(name)
            yield replace(chart, name=name, scope=f"{capitalised(scope(comparison))}.")
    if ranks := sensitivity(compared, colours):
        yield replace(ranks, name=stem(ranks.shown, "", "", taken))


def _largest(comparison: Comparison, cases: Sequence[Case] | None) -> list[dict[str, Run]]:
    """The runs by spec of the conversations with the largest prompts, in their first replay."""
    replays: dict[tuple[str, str], tuple[Case, dict[str, Run]]] = {}
    for row in comparison.rows:
        for run in row.runs:
            case = case_of(run)
            if cases is not None and case not in cases:
                continue
            first, runs = replays.setdefault(case[:2], (case, {}))
            if first == case:
                runs[row.spec] = run
    return sorted((runs for _, runs in replays.values()), key=lambda runs: -_peak(runs))[:SESSIONS]


def _peak(runs: Mapping[str, Run]) -> float:
    return max((run.metrics.get("prompt_tokens_peak") or 0 for run in runs.values()), default=0)
