"""All charts of a comparison, in the order in which they are read."""

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

# So many conversations have charts of their own: the largest.
SESSIONS = 6
# So many strategies have a row, a line or a panel in a chart; the tables have all.
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
    """All charts of a comparison for which there are figures, in the order in which they are read.

    Their names begin with the name. Those of single conversations come last, of the given cases or
    of the largest, the largest first, and have a ``subject``. But for the first one, charts have
    room for some strategies, see :func:`drawn`.
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
    """The strategies that charts have room for, in order: those that matter, then the cheapest.

    The front, what is advised, the reference, controls and one's own matter, whichever they are.
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
    """Write all charts of all comparisons as files into a folder, and return these.

    The folder is made if it is not there, else a UsageError; other files in it are left alone.
    ``progress`` is called with each file that has been written.
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
    """All charts, each with the name of its files and with what was compared."""
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
