"""What is left of a conversation in a compacted context: as a table, as Markdown, for programs."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from io import StringIO
from typing import Any

from compactlab.reports.comma import harmless
from compactlab.reports.figures import plain, show
from compactlab.reports.markdown import code
from compactlab.reports.text import clean, counted
from compactlab.sim.alignment import LEAST
from compactlab.sim.facts import STATES
from compactlab.sim.metrics import METRICS
from compactlab.sim.sanity import FAULTS
from compactlab.sim.score import Found, Score

_NEED = "needs of facts that the context does not hold"
_COLUMNS = ("fact", "kind", "key", "value", "state", "where", "needs")


def scored_as_table(score: Score) -> str:
    """Set a score as plain text: what it stands on, states by type, figures."""
    lines = [*_about(score, clean), ""]
    if score.found:
        lines += [*_columns(_states(score)), ""]
    lines += _columns([("figure", "value", "meaning"), *_figures(score)], right=(1,))
    return "\n".join([*lines, "", *_verdict(score)])


def scored_as_markdown(score: Score) -> str:
    """Write the same as GitHub's Markdown."""
    first, *rest = _about(score, code)
    lines = [f"### {first}", "", *(f"- {line}" for line in rest), ""]
    if score.found:
        lines += [*_grid(_states(score)), ""]
    lines += _grid([("figure", "value", "meaning"), *_figures(score)])
    return "\n".join([*lines, "", *(f"- {line}" for line in _verdict(score))])


def scored_as_json(score: Score) -> str:
    """Write all of a score, with every fact, as strict JSON in ASCII."""
    context = score.context
    data = {
        "original": score.original.id,
        "provenance": "inferred" if context.inferred else "declared",
        "words": context.words,
        "words_found": context.found,
        "aligned": _aligned(score) if context.inferred else None,
        "labels": "given" if score.labelled else "inferred",
        "needs": "after the end" if score.later else "in the original",
        "model": score.model.name,
        "tokens_before": score.before,
        "tokens_after": score.after,
        "tokens_ratio": _ratio(score),
        "figures": {name: plain(value) for name, value in score.figures.items()},
        "states": {kind: {s: counts[s] for s in STATES} for kind, counts in score.states.items()},
        "summary_faults": None if score.faults is None else list(score.faults),
        "facts": [_plain(found) for found in score.found],
    }
    return json.dumps(data, indent=2, allow_nan=False)


def found_as_csv(found: Iterable[Found]) -> str:
    """Write a row for each fact: its state, and the messages from which it follows."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for each in found:
        values = {**_plain(each), "where": " ".join(each.where)}
        writer.writerow([harmless(v) if isinstance(v, str) else v for v in values.values()])
    return out.getvalue()


def _plain(found: Found) -> dict[str, Any]:
    values = {name: getattr(found, name) for name in _COLUMNS}
    return values | {"where": list(found.where)}


def _ratio(score: Score) -> float | None:
    return score.after / score.before if score.before else None


def _aligned(score: Score) -> float | None:
    return score.context.found / score.context.words if score.context.words else None


def _about(score: Score, quote: Callable[[str], str]) -> list[str]:
    context = score.context
    if context.inferred:
        share = show(_aligned(score), "share")
        provenance = (
            f"provenance inferred, not declared: {share} of {counted(context.words, 'word')} were "
            f"found in the original, in equal messages or in runs of {LEAST} words and more"
        )
    else:
        provenance = "provenance declared: the context says which messages it stands for"
    facts = "labels" if score.labelled else "inferred: what the recorded actions go on to use"
    needs = "after the end" if score.later else "as often as in the original"
    due = f"facts {facts}; {counted(len(score.found), 'fact')} due at the end, needed {needs}"
    tokens = (
        f"tokens {score.before:,} before, {score.after:,} after "
        f"({show(_ratio(score), 'share')}), as {quote(score.model.name)} counts"
    )
    return [quote(score.original.id), provenance, due, tokens]


def _states(score: Score) -> list[tuple[str, ...]]:
    """How many facts of each type are in each state, and the share that is not kept."""
    rows: list[tuple[str, ...]] = [("type", "due", *STATES, "amnesia")]
    for kind, states in score.states.items():
        lost = show(score.figures[f"amnesia_{kind}"], "share")
        rows.append((kind, f"{states.total():,}", *(f"{states[s]:,}" for s in STATES), lost))
    together = sum(score.states.values(), Counter[str]())
    mean = show(score.figures["amnesia"], "share")
    numbers = (f"{together[s]:,}" for s in STATES)
    return [*rows, ("all; mean over types", f"{together.total():,}", *numbers, mean)]


def _figures(score: Score) -> list[tuple[str, str, str]]:
    """The figures that have a value; those by type stand with the states."""
    return [
        (name, show(value, METRICS[name].unit), _meaning(name))
        for name, value in score.figures.items()
        if value is not None and name.removeprefix("amnesia_") not in score.states
    ]


def _meaning(name: str) -> str:
    return _NEED if name == "amnesia_need" else METRICS[name].meaning


def _verdict(score: Score) -> list[str]:
    if score.faults is None:
        return ["There is no summary in it."]
    if not score.faults:
        return ["Its summary is one, as far as can be told."]
    return [f"Its summary may be none: {FAULTS[fault]}" for fault in score.faults]


def _columns(rows: Sequence[Sequence[str]], right: Sequence[int] | None = None) -> list[str]:
    """Rows with their cells below each other; numbers end where their heads end."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    numeric = range(1, len(widths)) if right is None else right
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if place in numeric else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def _grid(rows: Sequence[Sequence[str]]) -> list[str]:
    head, *rest = rows
    line = [":--" if name in ("type", "figure", "meaning") else "--:" for name in head]
    return [f"| {' | '.join(cells)} |" for cells in (head, line, *rest)]
