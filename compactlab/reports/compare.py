"""A match: one strategy compared with another over their common conversations."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from itertools import groupby
from typing import Any

from compactlab.reports.analysis.advice import COST
from compactlab.reports.analysis.calls import distance_of
from compactlab.reports.analysis.columns import marks, usd_head
from compactlab.reports.analysis.comparison import (
    BOUNDS,
    Comparison,
    Kind,
    Row,
    compare,
    comparisons,
    kind_of,
    label,
)
from compactlab.reports.analysis.contrast import Contrast, contrasts
from compactlab.reports.analysis.scope import scope
from compactlab.reports.analysis.significance import benjamini_hochberg, discordance, holm
from compactlab.reports.analysis.strength import bill, detected, points, signed
from compactlab.reports.gate.record import NEED
from compactlab.reports.gate.rules import bare, same_kind
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
    clean,
    counted,
    enumerated,
    lag_from,
    listed,
    plain,
    shorten,
    show,
)
from compactlab.sim.core.errors import UsageError, unknown
from compactlab.sim.metrics import METRICS
from compactlab.sim.store.manifest import windows_of
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import Run


@dataclass(frozen=True)
class Pairing:
    """Pairs of strategies of two stores."""

    pairs: tuple[tuple[str, str], ...]
    before: tuple[str, ...] = ()  # specs without a partner
    after: tuple[str, ...] = ()  # the same

    @classmethod
    def of(cls, before: Sequence[str], after: Sequence[str]) -> Pairing:
        """Pair equal specs, and strategies with changed parameters by their names.

        Examples
        --------
        >>> Pairing.of(["keep_all()", "cut(most=3)"], ["cut(most=5)", "keep_all()"]).pairs
        (('keep_all()', 'keep_all()'), ('cut(most=3)', 'cut(most=5)'))
        """
        if len(before) == len(after) == 1:
            return cls(((before[0], after[0]),))
        same = [(spec, spec) for spec in before if spec in after]
        gone = [spec for spec in before if spec not in after]
        new = [spec for spec in after if spec not in before]
        # If several share a name, the partner is unknown.
        kinds = same_kind(gone, new, bare)
        changed = [(was, is_) for (was, *a), (is_, *b) in kinds if not a and not b]
        paired = {spec for pair in changed for spec in pair}
        left = (tuple(spec for spec in specs if spec not in paired) for specs in (gone, new))
        return cls((*same, *changed), *left)


@dataclass(frozen=True)
class Match:
    """Two strategies, or one in two stores, on the same conversations."""

    comparison: Comparison
    subject: Row
    reference: Row
    contrasts: Mapping[str, Contrast]  # by metric


def within(results: Results, names: Sequence[str]) -> list[Match]:
    """Compare strategies of one store with the first of them."""
    specs = list(dict.fromkeys(spec for given in names for spec in chosen(results, given)))
    if len(specs) < 2:
        raise UsageError(f"one strategy cannot be compared: {', '.join(names)} names only one")
    retained = replace(results, runs=[run for run in results.runs if run.strategy in specs],
                       bounds=_bounds(results, specs))  # fmt: skip
    matches: list[Match] = []
    for comparison in comparisons(retained):
        reference = next((row for row in comparison.rows if row.spec == specs[0]), None)
        if reference is not None and len(comparison.rows) > 1:
            matches += _against(comparison, reference)
    if not matches:
        raise UsageError("they have no conversation in common without a failed run")
    return matches


def _bounds(results: Results, compared: Collection[str]) -> list[Run]:
    """All runs of bounds, except those that are compared themselves."""
    named = (run for run in results.runs if run.strategy.partition("(")[0] in BOUNDS)
    return [*results.bounds, *(run for run in named if run.strategy not in compared)]


def between(
    first: tuple[str, Results],
    others: Sequence[tuple[str, Results]],
    names: Sequence[str],
    *,
    windows: bool = True,
) -> tuple[list[Match], list[str]]:
    """Compare strategies of other stores with the same ones in the first store."""
    matches: list[Match] = []
    unpaired: list[str] = []
    for other in others:
        matches += _between(first, other, names, unpaired, windows=windows)
    if not matches:
        raise UsageError(
            "the stores have no strategy in common that succeeded on the same conversation, "
            f"model, window and summariser: {'; '.join(map(_held, (first, *others)))}"
        )
    return _adjusted(matches), list(dict.fromkeys(unpaired))


def _held(store: tuple[str, Results]) -> str:
    name, results = store
    labels = dict.fromkeys(label(results, run.strategy) for run in results.runs if run.strategy)
    kinds = dict.fromkeys(run.summarizer for run in results.runs if run.summarizer)
    return f"{name} has {enumerated(list(labels), 6)} with summaries by {listed(list(kinds))}"


def chosen(results: Results, name: str) -> list[str]:
    """The specs that match a name."""
    specs = list(dict.fromkeys(run.strategy for run in results.runs if run.strategy))
    labels = {spec: label(results, spec) for spec in specs}
    ways = (
        [spec for spec in specs if name in (spec, labels[spec])],
        [spec for spec in specs if spec.partition("(")[0] == name and " + " not in spec],
        [spec for spec in specs if fnmatchcase(labels[spec], name) or fnmatchcase(spec, name)],
    )
    for matches in ways:
        if matches:
            return matches
    raise UsageError(unknown("strategy", name, sorted(labels.values())))


def _between(
    first: tuple[str, Results],
    other: tuple[str, Results],
    names: Sequence[str],
    unpaired: list[str],
    *,
    windows: bool,
) -> Iterator[Match]:
    (ours, a), (theirs, b) = first, other
    held, new = _by_kind(a, windows=windows), _by_kind(b, windows=windows)
    wanted = _wanted(a, b, names)
    for kind in (kind for kind in held if kind in new):
        sides = ([s for s in side[kind] if wanted is None or s in wanted] for side in (held, new))
        pairing = Pairing.of(*sides)
        unpaired += (f"Only in {ours}: {label(a, spec)}." for spec in pairing.before)
        unpaired += (f"Only in {theirs}: {label(b, spec)}." for spec in pairing.after)
        for before, after in pairing.pairs:
            was, is_ = f"{before} in {ours}", f"{after} in {theirs}"
            old = [replace(run, strategy=was) for run in held[kind][before]]
            now = [replace(run, strategy=is_) for run in new[kind][after]]
            labels = {was: f"{label(a, before)} in {ours}", is_: f"{label(b, after)} in {theirs}"}
            manifest = {**b.manifest, "strategies": labels}
            both = Results([*old, *now], manifest, bounds=_bounds(b, [after]))
            distance = max(map(distance_of, (a, b)))
            comparison = compare(both, (kind[0], old[0].window, kind[2]), both.runs, distance)
            reference = next((row for row in comparison.rows if row.spec == was), None)
            if reference is not None:
                yield from _against(comparison, reference)


def _wanted(a: Results, b: Results, names: Sequence[str]) -> set[str] | None:
    """The specs that match names in either store."""
    if not names:
        return None
    specs: set[str] = set()
    for given in names:
        matches = []
        for results in (a, b):
            with suppress(UsageError):
                matches += chosen(results, given)
        # If neither has one, the error lists the strategies of the first.
        specs |= set(matches or chosen(a, given))
    return specs


def _by_kind(results: Results, *, windows: bool) -> dict[Kind, dict[str, list[Run]]]:
    by_kind: dict[Kind, dict[str, list[Run]]] = {}
    for run in results.runs:
        if run.status != "unreadable":
            model, window, summarizer = kind_of(run)
            kind = model, window if windows else 0, summarizer
            by_kind.setdefault(kind, {}).setdefault(run.strategy, []).append(run)
    return by_kind


def _against(comparison: Comparison, reference: Row) -> Iterator[Match]:
    measured = [metric for metric in METRICS if reference.figures[metric] is not None]
    primary = [metric for metric in comparison.primary if metric in measured]
    rest = [metric for metric in measured if metric not in primary]
    estimates = {
        **contrasts(comparison, reference, primary),
        **contrasts(comparison, reference, rest),
    }
    for row in comparison.rows:
        if row is not reference:
            own = {metric: estimates[row.spec, metric] for metric in measured}
            yield Match(comparison, row, reference, own)


def _adjusted(matches: list[Match]) -> list[Match]:
    """Adjust p values over all matches together, as multiple comparisons."""
    new: list[dict[str, Contrast]] = [dict(match.contrasts) for match in matches]
    primary = dict.fromkeys(metric for match in matches for metric in match.comparison.primary)
    for metric in primary:
        held = [(own, own[metric]) for own in new if metric in own]
        for (own, contrast), p in zip(held, holm([c.p for _, c in held]), strict=True):
            own[metric] = replace(contrast, adjusted=p)
    rest = [(own, metric) for own in new for metric in own if metric not in primary]
    chances = benjamini_hochberg([own[metric].p for own, metric in rest])
    for (own, metric), p in zip(rest, chances, strict=True):
        own[metric] = replace(own[metric], adjusted=p)
    return [replace(match, contrasts=own) for match, own in zip(matches, new, strict=True)]


# Differences of two stores that forbid a comparison of their figures.

# Entries of the manifest that must be equal, and their names in messages.
MUST_AGREE = {
    "prices": "price list",
    "tokenizer": "tokenizer",
    "window": "window",
    "loop": "closed loop",
    "churn": "churn",
    "own_models": "own models",
}
CONVERSATIONS = "conversations"
_SHOWN = 60


def refuse_unlike(
    first: tuple[str, Results], other: tuple[str, Results], despite: Collection[str] = ()
) -> list[str]:
    """Refuse stores that measure different things; return the permitted differences."""
    for entry in despite:
        if entry not in MUST_AGREE:
            raise UsageError(unknown("entry of a manifest", entry, list(MUST_AGREE)))
    (ours, a), (theirs, b) = first, other
    differences = {
        key: f"{noun}: {_shown(a.manifest, key)} in {clean(ours)}, {_shown(b.manifest, key)} in "
        f"{clean(theirs)}"
        for key, noun in MUST_AGREE.items()
        if a.manifest.get(key) != b.manifest.get(key)
        # Only runs under the same window are paired, so one in common is enough.
        and not (key == "window" and {*windows_of(a.manifest)} & {*windows_of(b.manifest)})
    }
    texts = [text for key, text in differences.items() if key not in despite]
    if changed := _changed_conversations(a, b):
        texts.append(f"{CONVERSATIONS}: {changed} of the same name with different content")
    if texts:
        hint = sorted(key for key in differences if key not in despite)
        way = f" (--despite {' --despite '.join(hint)} compares them anyway)" if hint else ""
        raise UsageError(f"{clean(ours)} and {clean(theirs)} differ in {'; '.join(texts)}{way}")
    return [f"The stores differ in the {text}." for text in differences.values()]


def _shown(manifest: Mapping[str, Any], key: str) -> str:
    value = manifest.get(key)
    if not value:
        return "none"
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return shorten(clean(text), _SHOWN)


def _changed_conversations(a: Results, b: Results) -> str:
    """Conversations with the same name but different content."""
    known = {_id(run): run.digest for run in a.runs if run.digest}
    odd = dict.fromkeys(
        clean(run.conversation)
        for run in b.runs
        if run.digest and known.get(_id(run), run.digest) != run.digest
    )
    if not odd:
        return ""
    return f"{counted(len(odd), 'conversation')} ({_some(list(odd))})"


def _some(names: Sequence[str]) -> str:
    return listed([*names[:3], "others"] if len(names) > 3 else list(names))


def _id(run: Any) -> tuple[str, str, int]:
    return run.scenario, run.conversation, run.seed


_BILL, _MEMORY = ("bill", "p"), ("points", "p", "cheaper / same / more expensive")
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
    heads = (
        usd_head(first.comparison),
        *_BILL,
        f"recall {lag_from(first.comparison.lag)}",
        *_MEMORY,
    )
    columns = (Column("strategy", words=True), *map(Column, heads))
    yield Table(columns, rows([_reference(first), *map(_cells, group)]))
    statements = [text for match in group for text in statements_of(match)]
    yield sentences([*statements, seen(group), _left_out(group)])


# The row of a match.


def _cells(match: Match) -> list[str]:
    cost, recalled = match.contrasts.get(COST), _recalled(match)
    return [
        name(f"{match.subject.label} {marks(match.subject)}".strip()),
        show(match.subject.mean(), "USD"),
        (signed(cost) if cost else "") or NONE,
        chance(cost),
        show(match.subject.recall, "share"),
        _points(recalled),
        chance(recalled),
        f"{cost.wins} / {cost.ties} / {cost.losses}" if cost else NONE,
    ]


def _reference(match: Match) -> list[str]:
    row = match.reference
    title = name(f"{row.label} {marks(row)}".strip())
    cost, recall = show(row.mean(), "USD"), show(row.recall, "share")
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
    known = result.conversations > 1  # else no correlation can be estimated
    alike = f"; their correlation is {result.correlation:.2f}" if known else ""
    return (
        f"Of {counted(result.facts, 'needed fact')}, {name(match.subject.label)} alone misses "
        f"{result.subject:,} and {name(match.reference.label)} alone {result.reference:,} (McNemar "
        f"p {_probability(result.p)}, as if facts were independent{alike})."
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
    before, after = match.reference.of_one[metric], match.subject.of_one[metric]
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
