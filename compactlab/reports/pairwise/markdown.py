"""Matches in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from compactlab.reports.markdown import code, line
from compactlab.reports.pairwise.match import Match
from compactlab.reports.pairwise.table import READING, grouped, left_out
from compactlab.reports.pairwise.told import HEADS, cells, named, reference_cells, seen, sentences
from compactlab.reports.scope import scope
from compactlab.reports.text import capitalised


def markdown(matches: Sequence[Match], differing: Sequence[str] = ()) -> str:
    """Write matches as GitHub's Markdown, with names in code spans.

    Parameters
    ----------
    matches
        What is compared.
    differing
        What differs between stores and was let pass.
    """
    lines: list[str] = []
    for _, group in grouped(matches):
        first = group[0]
        lines += [f"### {capitalised(scope(first.comparison, code))}", ""]
        lines += [line(HEADS), line([":--", *["--:"] * (len(HEADS) - 1)])]
        lines.append(line([code(named(first, reference=True)), *reference_cells(first)]))
        lines += [line([code(named(match)), *cells(match)]) for match in group]
        lines.append("")
        lines += [f"- {text}" for match in group for text in sentences(match, code)]
        lines += [f"- {told}" for told in (seen(group), left_out(group)) if told]
        lines.append("")
    return "\n".join([*lines, *(f"{text}" for text in (*differing, READING))])
