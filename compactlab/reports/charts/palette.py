"""Colours that people with any colour vision can tell apart, for light pages and dark ones.

Charts are drawn in the light colours; the page replaces each by a CSS variable of its name, so
that one drawing serves both. The hues are those of Okabe and Ito, "Color Universal Design", 2008.
"""

from __future__ import annotations

from collections.abc import Mapping

from compactlab.reports.comparison import NULLS
from compactlab.sim.causes import CAUSES
from compactlab.sim.results import Results

# Name: on light, on dark.
COLOURS = {
    "ink": ("#1d2126", "#e8eaed"),
    "muted": ("#5b6470", "#a3acb8"),
    "grid": ("#dfe3e8", "#353c45"),
    "paper": ("#ffffff", "#14171b"),
    "alarm": ("#b3261e", "#ff8a80"),
    "grey": ("#868e99", "#8b939e"),
    "blue": ("#0072b2", "#3b9bdc"),
    "vermillion": ("#d55e00", "#ef7a2a"),
    "green": ("#009e73", "#17b98c"),
    "purple": ("#cc79a7", "#d98bb7"),
    "orange": ("#e69f00", "#f0b429"),
    "sky": ("#56b4e9", "#8fd0f5"),
    "olive": ("#8a7a00", "#f0e442"),
}
_HUES = ("blue", "vermillion", "green", "purple", "orange", "sky", "olive")

# The causes that are seen most get the hues that differ most; the next have stripes as well, and
# the rest dots.
_CAUSES = ("grey", "sky", "vermillion", "purple", "orange", "olive", "blue", "green")
_SEEN_FIRST = (
    "append",
    "cold_start",
    "compaction",
    "history_edit",
    "system_changed",
    "model_switch",
    "ttl_expired",
    "lookback_miss",
    "compaction_call",
    "extra_turn",
)
PATTERNS = ("", "striped", "dotted")


def light(name: str) -> str:
    """The colour that charts are drawn in."""
    return COLOURS[name][0]


def strategy_colours(results: Results) -> dict[str, str]:
    """A colour for each strategy, the same in all charts: hues for proposals, grey for nulls."""
    # The runs first: a manifest that was stored and read again has another order.
    specs = dict.fromkeys([*_run_specs(results), *results.manifest.get("strategies", ())])
    found: dict[str, str] = {}
    hues = 0
    for spec in specs:
        if spec.partition("(")[0] in NULLS and " + " not in spec:
            found[spec] = "grey"
        elif spec == "as_recorded()":
            found[spec] = "ink"
        else:
            found[spec] = _HUES[hues % len(_HUES)]
            hues += 1
    return found


def cause_colours() -> Mapping[str, tuple[str, str]]:
    """Colour of each cause, and its pattern: none, stripes or dots."""
    causes = dict.fromkeys([*_SEEN_FIRST, *CAUSES])
    size = len(_CAUSES)
    return {cause: (_CAUSES[n % size], PATTERNS[n // size]) for n, cause in enumerate(causes)}


def _run_specs(results: Results) -> list[str]:
    return [run.strategy for run in results.runs if run.strategy]
