"""The comparison in Markdown, for pull requests and notes."""

from __future__ import annotations

from collections.abc import Iterator

from compactlab.reports.analysis.columns import columns, marks
from compactlab.reports.analysis.comparison import Comparison, comparisons, scope
from compactlab.reports.page.notes import (
    failures,
    legend,
    notes,
    passed_over,
    summaries,
    unfinished,
)
from compactlab.reports.page.verdict import verdict
from compactlab.reports.render.text import capitalised, code, counted, line
from compactlab.sim.experiment.results import Results


def markdown(results: Results) -> str:
    """Write all comparisons as GitHub's Markdown.

    Names that come from outside stand in code spans, where nothing is a link, an image, a mention
    or HTML.
    """
    if not results.runs:
        return "No runs: there is nothing to compare."
    compared = comparisons(results)
    lines = [text for each in compared for text in _comparison(each)]
    lines += [f"- {sentence}" for sentence in legend(compared, code)]
    lines += [f"- {capitalised(summaries(results, code))}."] if compared else []
    said = (unfinished(results), passed_over(results, code))
    lines += [f"- {sentence}" for sentence in said if sentence]
    return "\n".join([*lines, *_failed(results)]).strip("\n")


def _comparison(comparison: Comparison) -> Iterator[str]:
    yield f"### {capitalised(scope(comparison, code))}"
    yield ""
    if comparison.rows:
        shown = columns(comparison)
        yield line(["strategy", *(column.heading for column in shown)])
        yield line([":--", *("--:" for _ in shown)])
        for row in comparison.rows:
            name = f"{code(row.label)} {marks(row)}".strip()
            yield line([name, *(column.cell(row.figures) for column in shown)])
        yield ""
    for sentence in (*verdict(comparison, code), *notes(comparison, code)):
        yield f"- {sentence}"
    yield ""


def _failed(results: Results) -> Iterator[str]:
    failed = failures(results)
    if not failed:
        return
    yield ""
    yield f"### {counted(len(failed), 'run')} failed"
    yield ""
    yield line(["conversation", "strategy", "model", "error"])
    yield line([":--"] * 4)
    for each in failed:
        yield line(map(code, (each.conversation, each.strategy, each.model, each.error)))
