"""Matches on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from compactlab.reports.pairwise.match import Match
from compactlab.reports.pairwise.told import HEADS, cells, named, reference_cells, seen, sentences
from compactlab.reports.scope import scope
from compactlab.reports.setting import open_console
from compactlab.reports.text import capitalised, counted

# Notes on how figures are to be read; the same in every format.
READING = (
    "Bill and points are against what stands first, with 95% intervals by bootstrap over "
    "conversations; p by sign-flip tests, after Holm over the strategies of a table, or over all "
    "that stores are compared in."
)


def table(matches: Sequence[Match], differing: Sequence[str] = ()) -> str:
    """Draw matches, with what they say.

    Parameters
    ----------
    matches
        What is compared.
    differing
        What differs between stores and was let pass.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    console = open_console()
    with console.capture() as capture:
        for title, group in grouped(matches):
            console.print(Text(title, style="bold"))
            grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
            for number, head in enumerate(HEADS):
                grid.add_column(head, justify="right" if number else "left", overflow="fold")
            grid.add_row(Text(named(group[0], reference=True)), *reference_cells(group[0]))
            for match in group:
                grid.add_row(Text(named(match)), *cells(match))
            console.print(grid)
            for sentence in said(group):
                console.print(Text(sentence), soft_wrap=not console.is_terminal)
            console.print()
        for sentence in (*differing, READING):
            console.print(Text(sentence, style="dim"), soft_wrap=not console.is_terminal)
    return "\n".join(line.rstrip() for line in capture.get().splitlines()).strip("\n")


def grouped(matches: Sequence[Match]) -> Iterator[tuple[str, list[Match]]]:
    """Matches against the same reference under the same model, with their title."""
    for _, group in groupby(matches, lambda match: id(match.reference)):
        together = list(group)
        yield capitalised(scope(together[0].comparison)), together


def said(group: Sequence[Match]) -> Iterator[str]:
    """All sentences of matches that stand together."""
    for match in group:
        yield from sentences(match)
    if told := seen(group):
        yield told
    if told := left_out(group):
        yield told


def left_out(group: Sequence[Match]) -> str:
    """How many conversations were not looked at; "" if none."""
    missing = {case for match in group for case in match.comparison.left_out}
    if not missing:
        return ""
    return f"Left out: {counted(len(missing), 'conversation')} that did not go well under all."
