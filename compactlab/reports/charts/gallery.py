"""All charts of a comparison, in reading order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any

from compactlab.reports.analysis.advice import Advice
from compactlab.reports.analysis.comparison import Case, Comparison, Row, case_of, comparisons
from compactlab.reports.analysis.scope import (
    scope,
    sweep_title,
    sweeps,
    title_of,
    told_apart,
    without_recall,
)
from compactlab.reports.charts.catalogue import CHARTS, NAMES, kinds_of, short_names, stem
from compactlab.reports.charts.chart import USUAL, Chart, Look
from compactlab.reports.charts.drawing import own_specs, strategy_colours
from compactlab.reports.charts.kit import WIDTH, Colours
from compactlab.reports.charts.sessions import Panel
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
    kinds: Collection[str] = NAMES,
    width: float = WIDTH,
) -> list[Chart]:
    """All charts of a comparison with figures, in reading order.

    Their names begin with ``name``. Charts of single conversations come last and have a
    ``subject``: the given cases, or the largest. All charts but the first show only some
    strategies, see :func:`drawn`. Only charts of the given kinds are computed.
    """
    own = own_specs(results)
    some = replace(comparison, rows=tuple(drawn(comparison, own, most)))
    given = {
        "whole": comparison, "comparison": some, "colours": colours, "own": own, "width": width,
    }  # fmt: skip
    charts = drawings("comparison", given, name, kinds=kinds)
    of_one = {entry.kind for entry in CHARTS.values() if entry.subject == "conversation"}
    shown = largest(some, cases) if of_one & {*kinds} else []
    short = short_names(case_of(next(iter(runs.values())))[:2] for runs in shown)
    for number, runs in enumerate(shown, 1):
        rows = [row for row in some.rows if row.spec in runs]
        first = runs[rows[0].spec]
        panels = [
            Panel(row.label, colours[row.spec], runs[row.spec], results.catalogue) for row in rows
        ]
        talk = {"rows": rows, "runs": runs, "panels": panels, "subject": title_of(first)}
        pair = drawings("conversation", {**given, **talk}, name, f"{number}", kinds=kinds)
        charts += [replace(each, short=short[case_of(first)[:2]]) for each in pair]
    return charts


def drawings(
    subject: str,
    given: Mapping[str, Any],
    *names: str,
    kinds: Collection[str] = NAMES,
) -> list[Chart]:
    """The charts of a subject that have something to show, in reading order.

    Each function is given those arguments that it names. The name of a chart is its kind between
    ``names``.
    """
    before, after = (*names, "", "")[:2]
    charts = []
    for entry in CHARTS.values():
        if entry.subject == subject and entry.kind in kinds:
            name = "-".join(filter(None, (before, entry.kind, after)))
            named = signature(entry.function).parameters.keys() & {"name", *given}
            charts.append(entry.function(**{each: {**given, "name": name}[each] for each in named}))
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
    results: Results,
    folder: Path,
    progress: Callable[[Path], None] | None = None,
    *,
    only: Collection[str] = (),
    look: Look = USUAL,
    conversation: str | None = None,
) -> list[Path]:
    """Write charts of all comparisons into a folder, and return their paths.

    Parameters
    ----------
    results
        The runs.
    folder
        Created if it is missing; other files in it stay.
    progress
        Called with each written file.
    only
        Names of charts, see :mod:`.catalogue`; by default all. Others are not computed.
    look
        Formats, width and titles of the files.
    conversation
        The id of the conversation that charts of one conversation show; by default the largest.

    Raises
    ------
    UsageError
        If there is no such folder or chart, or if one that is asked for has nothing to show.
    """
    kinds = kinds_of(only)
    compared = comparisons(results)
    charts = _all(results, compared, kinds=kinds, width=look.layout, conversation=conversation)
    if only:
        charts = iter(several := list(charts))
        if empty := [n for k, n in NAMES.items() if k in kinds - {each.kind for each in several}]:
            recall = compared and NAMES["pareto"] in empty
            why = [without_recall(compared[0])] if recall else []
            text = "; ".join(filter(None, [", ".join(empty), *why]))
            raise UsageError(f"nothing to draw in these results: {text}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: no folder for charts: {error.strerror}") from None
    written: list[Path] = []
    for chart in charts:
        for path in chart.save(folder, look):
            written.append(path)
            if progress:
                progress(path)
    return written


def _all(
    results: Results,
    compared: Sequence[Comparison],
    *,
    kinds: Collection[str],
    width: float,
    conversation: str | None,
) -> Iterator[Chart]:
    """All charts, each with the name of its files and its scope."""
    colours = strategy_colours(results, compared)
    taken: set[str] = set()
    for number, comparison in enumerate(compared, 1):
        under = told_apart(comparison, compared) if len(compared) > 1 else ""
        cases = [case for case in comparison.cases if case[1] == conversation]
        for chart in gallery(
            results, comparison, colours, f"comparison-{number}",
            None if conversation is None else cases, kinds=kinds, width=width,
        ):  # fmt: skip
            name = stem(NAMES[chart.kind], under, chart.short, taken)
            taken.add(name)
            yield replace(chart, name=name, scope=f"{capitalised(scope(comparison))}.")
    given = {"compared": compared, "colours": colours, "width": width}
    swept = sweeps(compared)
    loose = [
        (replace(chart, scope=f"{capitalised(sweep_title(sweep))}."), under)
        for sweep in swept
        for under in [told_apart(sweep[0], [s[0] for s in swept]) if len(swept) > 1 else ""]
        for chart in drawings("windows", {**given, "sweep": sweep}, kinds=kinds)
    ]
    loose += [(chart, "") for chart in drawings("results", given, kinds=kinds)]
    for chart, under in loose:
        name = stem(NAMES[chart.kind], under, "", taken)
        taken.add(name)
        yield replace(chart, name=name)


def largest(comparison: Comparison, cases: Sequence[Case] | None = None) -> list[dict[str, Run]]:
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
