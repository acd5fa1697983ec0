"""Matches on a terminal, in Markdown and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from compactlab.reports.analysis.advice import COST, FORGOTTEN
from compactlab.reports.analysis.columns import marks
from compactlab.reports.analysis.comparison import Name, scope
from compactlab.reports.analysis.contrast import PRIMARY, Contrast
from compactlab.reports.analysis.strength import bill, forgets, least, signed, signed_points
from compactlab.reports.analysis.tests import discordance
from compactlab.reports.compare.match import Match
from compactlab.reports.render.setting import open_console
from compactlab.reports.render.text import (
    NONE,
    capitalised,
    code,
    counted,
    enumerated,
    line,
    plain,
    show,
)
from compactlab.sim.metrics import METRICS

# What a match says: cells for tables, and sentences.

HEADS = (
    "strategy",
    "USD",
    "bill",
    "p",
    "needs forgotten",
    "points",
    "p",
    "cheaper / same / dearer",
)

# So many of the other figures are told.
_OTHERS = 8


def cells(match: Match) -> list[str]:
    """The figures of a match, for a row of a table; without the name."""
    cost, lost = match.contrasts.get(COST), match.contrasts.get(FORGOTTEN)
    return [
        show(match.subject.figures[COST], "USD"),
        (signed(cost) if cost else "") or NONE,
        chance(cost),
        show(match.subject.figures[FORGOTTEN], "share"),
        _points(lost),
        chance(lost),
        f"{cost.wins} / {cost.ties} / {cost.losses}" if cost else NONE,
    ]


def reference_cells(match: Match) -> list[str]:
    """The figures of what the others are held against."""
    figures = match.reference.figures
    told = [show(figures[COST], "USD"), NONE, NONE, show(figures[FORGOTTEN], "share")]
    return [*told, NONE, NONE, NONE]


def named(match: Match, *, reference: bool = False) -> str:
    """The strategy's short name with its marks."""
    row = match.reference if reference else match.subject
    return f"{row.label} {marks(row)}".strip()


def chance(contrast: Contrast | None) -> str:
    """An adjusted p as one writes it."""
    if contrast is None or contrast.adjusted is None:
        return NONE
    return _written(contrast.adjusted)


def _written(p: float) -> str:
    return "<0.001" if p < 0.001 else f"{p:.2g}"


def sentences(match: Match, name: Name = str) -> Iterator[str]:
    """Say what a match shows: the bill, the memory, what could have been seen, and the rest."""
    ours, theirs = name(match.subject.label), name(match.reference.label)
    cost, lost = match.contrasts.get(COST), match.contrasts.get(FORGOTTEN)
    if told := bill(cost, theirs):
        yield f"{ours} costs {told}: {_sure(cost, ('cheaper', 'dearer'))}."
    if told := forgets(lost, theirs):
        words = ("forgets less", "forgets more")
        yield f"{ours} has forgotten of what calls need {told}{_of(match)}: {_sure(lost, words)}."
    if told := _facts(match):
        yield told
    if others := _others(match):
        told = enumerated(others, _OTHERS)
        yield f"Also different (exploratory, Benjamini-Hochberg at 5%): {told}."


def seen(matches: Sequence[Match]) -> str:
    """The smallest differences that would have been seen; "" where that cannot be told."""
    found = [c for m in matches for name in (COST, FORGOTTEN) if (c := m.contrasts.get(name))]
    # A bill has a ratio under one match, and only dollars under another: each has its own unit.
    largest: dict[tuple[str, str], tuple[float, Contrast]] = {}
    for c in sorted(found, key=lambda c: PRIMARY[::-1].index(c.metric)):
        size, _ = largest.get((c.metric, c.kind), (0.0, c))
        if c.detectable is not None and c.detectable > size:
            largest[c.metric, c.kind] = c.detectable, c
    told = [least(c, size) for size, c in largest.values()]
    if not told:
        return ""
    return (
        f"A difference of {' or '.join(told)} would have been seen at 80% power in each match, "
        "before Holm."
    )


def _of(match: Match) -> str:
    """Of how many conversations needs are known, where these are not all of them."""
    some, number = match.contrasts[FORGOTTEN].conversations, match.comparison.conversations
    return f" in the {some:,} of {number:,} conversations that have needs" if some < number else ""


def _sure(contrast: Contrast | None, words: tuple[str, str]) -> str:
    """What is sure of a difference."""
    assert contrast is not None
    if contrast.estimate == contrast.same and not contrast.wins and not contrast.losses:
        return "the same in every conversation"
    told = f"not determined (p {chance(contrast)})"
    if contrast.better or contrast.worse:
        told = f"{words[0] if contrast.better else words[1]} (p {chance(contrast)})"
    if contrast.no_worse and not contrast.better:
        margin = contrast.margin or 0.0
        within = f"{margin:.0%}" if contrast.kind == "ratio" else f"{100 * margin:.0f} points"
        told += f", but no worse within {within}"
    return told


def _facts(match: Match) -> str:
    """The same fact by fact, as a check: facts that one of the two alone has forgotten."""
    found = discordance(match.subject, match.reference)
    if found is None or not found.subject + found.reference:
        return ""
    return (
        f"Of {counted(found.facts, 'fact')} that calls need, it alone has forgotten "
        f"{found.subject:,} and the other alone {found.reference:,} (McNemar p "
        f"{_written(found.p)}, as if facts were independent; they go together by "
        f"{found.correlation:.2f})."
    )


def _points(contrast: Contrast | None) -> str:
    if contrast is None or contrast.estimate is None:
        return NONE
    span = signed_points(contrast)
    return f"{100 * contrast.estimate:+.1f}{f' ({span})' if span else ''}"


def _others(match: Match) -> list[str]:
    """Other figures that differ beyond chance, the surest first."""
    found = [
        contrast
        for metric, contrast in match.contrasts.items()
        if metric not in PRIMARY and contrast.determined
    ]
    found.sort(key=lambda contrast: (-abs(contrast.effect), contrast.metric))
    return [_change(match, contrast.metric) for contrast in found]


def _change(match: Match, metric: str) -> str:
    unit = METRICS[metric].unit
    before, after = match.reference.figures[metric], match.subject.figures[metric]
    return f"{metric} {show(before, unit)} to {show(after, unit)}"


# Matches on a terminal.

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


# Matches in Markdown.


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


# Matches as JSON.


def machine(matches: Sequence[Match], differing: Sequence[str] = ()) -> str:
    """Write all contrasts of all matches as strict JSON in ASCII.

    Parameters
    ----------
    matches
        What is compared.
    differing
        What differs between stores and was let pass.
    """
    data = {"differing": list(differing), "matches": [_match(match) for match in matches]}
    return json.dumps(data, indent=2, allow_nan=False)


def _match(match: Match) -> dict[str, Any]:
    return {
        "model": match.comparison.model,
        "window": match.comparison.window,
        "summarizer": match.comparison.summarizer,
        "conversations": match.comparison.conversations,
        "subject": match.subject.spec,
        "reference": match.reference.spec,
        "contrasts": [
            {
                **{key: _strict(value) for key, value in asdict(contrast).items()},
                "determined": contrast.determined,
                "before": plain(match.reference.figures[metric]),
                "after": plain(match.subject.figures[metric]),
            }
            for metric, contrast in match.contrasts.items()
        ],
    }


def _strict(value: object) -> object:
    """A value without what JSON does not know."""
    return plain(value) if isinstance(value, float) else value
