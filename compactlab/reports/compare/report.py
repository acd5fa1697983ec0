"""The report of matches: for each reference a table and sentences, and all figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from compactlab.reports.analysis.advice import COST
from compactlab.reports.analysis.columns import marks
from compactlab.reports.analysis.contrast import Contrast
from compactlab.reports.analysis.scope import scope
from compactlab.reports.analysis.significance import discordance
from compactlab.reports.analysis.strength import bill, detected, points, signed
from compactlab.reports.compare.match import Match
from compactlab.reports.gate.record import NEED
from compactlab.reports.render.document import (
    Block,
    Column,
    Document,
    Heading,
    Table,
    name,
    rows,
    sentences,
)
from compactlab.reports.render.fields import as_data
from compactlab.reports.render.text import (
    NONE,
    capitalised,
    counted,
    enumerated,
    lag_from,
    plain,
    show,
)
from compactlab.sim.metrics import METRICS

_BILL, _MEMORY = ("USD", "bill", "p"), ("points", "p", "cheaper / same / more expensive")
# The legend of the figures.
_READING = (
    "Bill and points are differences to the first row, with 95% intervals (of bills by bootstrap "
    "over conversations, of points by Student's t over pairs). p comes from sign-flip tests, after "
    "Holm over the strategies of a table, or over all comparisons of stores."
)
# How many of the other figures are named.
_OTHERS = 8


def report(matches: Sequence[Match], differing: Sequence[str] = ()) -> Document:
    """Report matches, and the permitted differences between their stores."""
    blocks = [block for group in _grouped(matches) for block in _group(group)]
    blocks.append(sentences((*differing, _READING), "quiet", bullets=False))
    return Document(tuple(blocks), data=partial(_data, matches, differing))


def _grouped(matches: Sequence[Match]) -> Iterator[list[Match]]:
    """Matches against the same reference under the same model."""
    for _, group in groupby(matches, lambda match: id(match.reference)):
        yield list(group)


def _group(group: Sequence[Match]) -> Iterator[Block]:
    first = group[0]
    yield Heading(capitalised(scope(first.comparison, name)))
    heads = (*_BILL, f"recall {lag_from(first.comparison.lag)}", *_MEMORY)
    columns = (Column("strategy", words=True), *map(Column, heads))
    yield Table(columns, rows([_reference(first), *map(_cells, group)]))
    statements = [text for match in group for text in statements_of(match)]
    yield sentences([*statements, seen(group), _left_out(group)])


# The row of a match.


def _cells(match: Match) -> list[str]:
    cost, recalled = match.contrasts.get(COST), _recalled(match)
    return [
        name(f"{match.subject.label} {marks(match.subject)}".strip()),
        show(match.subject.figures[COST], "USD"),
        (signed(cost) if cost else "") or NONE,
        chance(cost),
        show(match.subject.recall, "share"),
        _points(recalled),
        chance(recalled),
        f"{cost.wins} / {cost.ties} / {cost.losses}" if cost else NONE,
    ]


def _reference(match: Match) -> list[str]:
    """The row of the reference."""
    row, figures = match.reference, match.reference.figures
    title = name(f"{row.label} {marks(row)}".strip())
    cost, recall = show(figures[COST], "USD"), show(row.recall, "share")
    return [title, cost, NONE, NONE, recall, NONE, NONE, NONE]


def _recalled(match: Match) -> Contrast | None:
    return match.contrasts.get(match.comparison.headline)


def chance(contrast: Contrast | None) -> str:
    """An adjusted p value as text."""
    if contrast is None or contrast.adjusted is None:
        return NONE
    return _probability(contrast.adjusted)


def _probability(p: float) -> str:
    return "<0.001" if p < 0.001 else f"{p:.2g}"


# The sentences on a match.


def statements_of(match: Match) -> Iterator[str]:
    """Say what a match shows: the bill, recall, detectable differences, and the rest."""
    ours, theirs = name(match.subject.label), name(match.reference.label)
    cost, recalled = match.contrasts.get(COST), _recalled(match)
    if text := bill(cost, theirs):
        yield f"{ours} costs {text}: {_verdict(cost, ('cheaper', 'more expensive'))}."
    if recalled is not None and recalled.estimate is not None:
        yield (
            f"{ours} recalls {show(match.subject.recall, 'share')} of the facts needed "
            f"{match.comparison.lag:,} tokens or more after they were last stated ({theirs}: "
            f"{show(match.reference.recall, 'share')}){_of(recalled, match)}. Difference in "
            f"points: {_points(recalled)}, {_verdict(recalled, ('better', 'worse'))}."
        )
    elif match.subject.figures[NEED] is not None and match.reference.figures[NEED] is not None:
        # Short conversations have no needs at this distance.
        yield (
            f"{ours}: recall {lag_from(match.comparison.lag)} is not known of both; miss rate, all "
            f"needs: {show(match.subject.figures[NEED], 'share')} ({theirs}: "
            f"{show(match.reference.figures[NEED], 'share')})."
        )
    if text := _facts(match):
        yield text
    if others := _others(match):
        text = enumerated(others, _OTHERS)
        yield f"Other significant differences (exploratory, Benjamini-Hochberg at 5%): {text}."


def seen(matches: Sequence[Match]) -> str:
    """The smallest detectable differences; "" where they are unknown."""
    contrasts = [c for m in matches for c in (m.contrasts.get(COST), _recalled(m)) if c]
    if not (sizes := detected(contrasts)):
        return ""
    return (
        "Smallest detectable difference of each comparison (80% power, before Holm): "
        f"{' or '.join(sizes)}."
    )


def _of(contrast: Contrast, match: Match) -> str:
    """The number of conversations with needs, unless it is all."""
    some, number = contrast.conversations, match.comparison.conversations
    return f" in the {some:,} of {number:,} conversations with needs" if some < number else ""


def _verdict(contrast: Contrast | None, words: tuple[str, str]) -> str:
    """Whether a difference is statistically significant, and in which direction."""
    assert contrast is not None
    if contrast.estimate == contrast.same and not contrast.wins and not contrast.losses:
        return "the same in every conversation"
    text = f"not statistically significant (p {chance(contrast)})"
    if contrast.better or contrast.worse:
        text = f"significantly {words[0] if contrast.better else words[1]} (p {chance(contrast)})"
    if contrast.no_worse and not contrast.better:
        margin = contrast.margin or 0.0
        within = f"{margin:.0%}" if contrast.kind == "ratio" else f"{100 * margin:.0f} points"
        text += f", but non-inferior within {within}"
    return text


def _facts(match: Match) -> str:
    """A check by fact: facts that only one of the two misses."""
    result = discordance(match.subject, match.reference)
    if result is None or not result.subject + result.reference:
        return ""
    return (
        f"Of {counted(result.facts, 'needed fact')}, {name(match.subject.label)} alone misses "
        f"{result.subject:,} and {name(match.reference.label)} alone {result.reference:,} (McNemar "
        f"p {_probability(result.p)}, as if facts were independent; their correlation is "
        f"{result.correlation:.2f})."
    )


def _points(contrast: Contrast | None) -> str:
    return points(contrast) or NONE


def _others(match: Match) -> list[str]:
    """Other figures that differ significantly, the largest effects first."""
    contrasts = [
        contrast
        for metric, contrast in match.contrasts.items()
        if metric not in match.comparison.primary and contrast.determined
    ]
    contrasts.sort(key=lambda contrast: (-abs(contrast.effect), contrast.metric))
    return [_change(match, contrast.metric) for contrast in contrasts]


def _change(match: Match, metric: str) -> str:
    unit = METRICS[metric].unit
    before, after = match.reference.figures[metric], match.subject.figures[metric]
    return f"{metric} {show(before, unit)} to {show(after, unit)}"


def _left_out(group: Sequence[Match]) -> str:
    """The number of conversations left out; "" if none."""
    missing = {case for match in group for case in match.comparison.left_out}
    if not missing:
        return ""
    return f"Excluded: {counted(len(missing), 'conversation')} with a failed run."


# All contrasts of all matches, for JSON.


def _data(matches: Sequence[Match], differing: Sequence[str]) -> dict[str, Any]:
    return {"differing": list(differing), "matches": [_match(match) for match in matches]}


def _match(match: Match) -> dict[str, Any]:
    return {
        "model": match.comparison.model,
        "window": match.comparison.window,
        "summarizer": match.comparison.summarizer,
        "conversations": match.comparison.conversations,
        "headline": match.comparison.headline,
        "subject": match.subject.spec,
        "reference": match.reference.spec,
        "contrasts": [
            {
                **as_data(contrast),
                "determined": contrast.determined,
                "before": plain(match.reference.figures[metric]),
                "after": plain(match.subject.figures[metric]),
            }
            for metric, contrast in match.contrasts.items()
        ],
    }
