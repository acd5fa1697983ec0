"""A match: one strategy compared with another over their common conversations."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

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
from compactlab.reports.analysis.distance import distance_of
from compactlab.reports.analysis.significance import benjamini_hochberg, holm
from compactlab.reports.gate.rules import bare, same_kind
from compactlab.reports.render.text import clean, counted, enumerated, listed, shorten
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
    specs = list(dict.fromkeys(spec for name in names for spec in chosen(results, name)))
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
    for name in names:
        matches = []
        for results in (a, b):
            with suppress(UsageError):
                matches += chosen(results, name)
        # If neither has one, the error lists the strategies of the first.
        specs |= set(matches or chosen(a, name))
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
    measured = [name for name in METRICS if reference.figures[name] is not None]
    primary = [name for name in comparison.primary if name in measured]
    rest = [name for name in measured if name not in primary]
    estimates = {
        **contrasts(comparison, reference, primary),
        **contrasts(comparison, reference, rest),
    }
    for row in comparison.rows:
        if row is not reference:
            own = {name: estimates[row.spec, name] for name in measured}
            yield Match(comparison, row, reference, own)


def _adjusted(matches: list[Match]) -> list[Match]:
    """Adjust p values over all matches together, as multiple comparisons."""
    new: list[dict[str, Contrast]] = [dict(match.contrasts) for match in matches]
    primary = dict.fromkeys(name for match in matches for name in match.comparison.primary)
    for name in primary:
        held = [(own, own[name]) for own in new if name in own]
        for (own, contrast), p in zip(held, holm([c.p for _, c in held]), strict=True):
            own[name] = replace(contrast, adjusted=p)
    rest = [(own, name) for own in new for name in own if name not in primary]
    chances = benjamini_hochberg([own[name].p for own, name in rest])
    for (own, name), p in zip(rest, chances, strict=True):
        own[name] = replace(own[name], adjusted=p)
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
    for name in despite:
        if name not in MUST_AGREE:
            raise UsageError(unknown("entry of a manifest", name, list(MUST_AGREE)))
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
