"""Colours that people with any colour vision can tell apart, for light pages and dark ones.

Charts are drawn in the light colours; the page replaces each by a CSS variable of its name, so
that one drawing serves both. The hues are those of Okabe and Ito, "Color Universal Design", 2008,
moved as little as keeps all of them, the greys and the ink apart for any colour vision (see
tests/reports/charts/test_palette.py, which simulates them).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from compactlab.reports.comparison import NULLS, Comparison, comparisons
from compactlab.sim.causes import CAUSES
from compactlab.sim.results import Results

# Name: on light, on dark.
COLOURS = {
    "ink": ("#1d2126", "#e8eaed"),
    "muted": ("#5b6470", "#a3acb8"),
    "grid": ("#dfe3e8", "#353c45"),
    "paper": ("#ffffff", "#14171b"),
    "slate": ("#56606c", "#b9c1cb"),
    "alarm": ("#b3261e", "#ff8a80"),
    "grey": ("#9aa1ab", "#757d88"),
    "blue": ("#0971b2", "#02a9ef"),
    "vermillion": ("#d57236", "#f07b26"),
    "green": ("#029e73", "#3da874"),
    "purple": ("#be6fa3", "#da8cb8"),
    "orange": ("#e5a112", "#efb42a"),
    "sky": ("#57b4e9", "#89d0fd"),
    "olive": ("#846f01", "#ede043"),
}
HUES = ("blue", "vermillion", "green", "purple", "orange", "sky")
_OWN = {"as_recorded": "ink", "keep_all": "slate"}


@dataclass(frozen=True)
class Line:
    """How lines of a colour are drawn, so that nobody needs to see the colour.

    Parameters
    ----------
    marker
        As matplotlib calls it; "" for none.
    dashes
        The first point, and the lengths of dashes and gaps in widths of the line; or its name.
    width
        In points.
    """

    marker: str
    dashes: Literal["-"] | tuple[float, tuple[float, ...]] = "-"
    width: float = 1.6


LINES = {
    "ink": Line("d", "-", 1.8),
    "slate": Line("|", (0, (4, 1.5)), 1.8),
    "blue": Line("o"),
    "vermillion": Line("s", (0, (5, 1.2))),
    "green": Line("^", (0, (3, 1, 1, 1))),
    "purple": Line("D", (0, (1.5, 1))),
    "orange": Line("v", (0, (7, 1.5, 1.5, 1.5))),
    "sky": Line("P", (0, (2.5, 1, 2.5, 3))),
    "grey": Line("", "-", 0.7),
    "olive": Line("X"),
    "alarm": Line("", (0, (4, 3)), 0.8),
    "muted": Line("", (0, (4, 3)), 1.0),
}

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
HATCHES = {"": None, "striped": "////", "dotted": "...."}
PATTERNS = tuple(HATCHES)


def light(name: str) -> str:
    """The colour that charts are drawn in."""
    return COLOURS[name][0]


def strategy_colours(
    results: Results, compared: Sequence[Comparison] | None = None
) -> dict[str, str]:
    """A colour for each strategy, the same in all charts, and no hue for two of them.

    What was run and ``keep_all`` have colours of their own. The strategies on the fronts have
    hues, and if there are hues enough, all the others that are no yardsticks; else these are grey.

    Parameters
    ----------
    results
        All runs.
    compared
        The comparisons of them, if one has them already.

    Returns
    -------
    dict
        Name of the colour by spec.
    """
    # The runs first: a manifest that was stored and read again has another order.
    specs = dict.fromkeys([*_run_specs(results), *results.manifest.get("strategies", ())])
    found = {spec: _OWN[name] for spec in specs if (name := _name(spec)) in _OWN}
    proposals = [spec for spec in specs if spec not in found and _name(spec) not in NULLS]
    if len(proposals) > len(HUES):
        proposals = _spread(_on_front(comparisons(results) if compared is None else compared))
    found |= zip(proposals, HUES, strict=False)
    return {spec: found.get(spec, "grey") for spec in specs}


def _on_front(compared: Sequence[Comparison]) -> list[str]:
    """The specs that are on a front, those of most fronts first, then by cost."""
    times = Counter(row.spec for comparison in compared for row in comparison.front)
    # Those that are seen equally often stay in the order in which they were seen.
    return [spec for spec, _ in times.most_common()]


def _spread(specs: list[str]) -> list[str]:
    """As many as there are hues, from the first to the last."""
    last = len(HUES) - 1
    if len(specs) <= last + 1:
        return specs
    return [specs[round(n * (len(specs) - 1) / last)] for n in range(last + 1)]


def _name(spec: str) -> str:
    return "" if " + " in spec else spec.partition("(")[0]


def cause_colours() -> Mapping[str, tuple[str, str]]:
    """Colour of each cause, and its pattern: none, stripes or dots."""
    causes = dict.fromkeys([*_SEEN_FIRST, *CAUSES])
    size = len(_CAUSES)
    return {cause: (_CAUSES[n % size], PATTERNS[n // size]) for n, cause in enumerate(causes)}


def _run_specs(results: Results) -> list[str]:
    return [run.strategy for run in results.runs if run.strategy]
