"""Accessible colours, lines and patterns, and those of causes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from compactlab.sim.cache.causes import CAUSES

# Colours that people with any colour vision can distinguish, on light and on dark pages.
# Charts are drawn in the light colours; the page replaces each by a CSS variable of its name, so
# that one drawing serves both. The hues are those of Okabe and Ito, "Color Universal Design",
# 2008, moved as little as keeps all of them, the greys and the ink apart for any colour vision
# (see tests/reports/charts/test_palette.py, which simulates them).

# Name: colour on light pages, on dark pages.
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


class LineStyle(NamedTuple):
    """The style of lines of a colour, which distinguishes them without the colour."""

    marker: str
    dashes: Literal["-"] | tuple[float, tuple[float, ...]] = "-"
    width: float = 1.6


LINES = {
    "ink": LineStyle("d", "-", 1.8),
    "slate": LineStyle("|", (0, (4, 1.5)), 1.8),
    "blue": LineStyle("o"),
    "vermillion": LineStyle("s", (0, (5, 1.2))),
    "green": LineStyle("^", (0, (3, 1, 1, 1))),
    "purple": LineStyle("D", (0, (1.5, 1))),
    "orange": LineStyle("v", (0, (7, 1.5, 1.5, 1.5))),
    "sky": LineStyle("P", (0, (2.5, 1, 2.5, 3))),
    "grey": LineStyle("", "-", 0.7),
    "olive": LineStyle("X"),
    "alarm": LineStyle("", (0, (4, 3)), 0.8),
    "muted": LineStyle("", (0, (4, 3)), 1.0),
}

# The most frequent causes get the most distinct hues; the next also have stripes, the rest dots.
_CAUSES = ("grey", "sky", "vermillion", "purple", "orange", "olive", "blue", "green")
_SEEN_FIRST = (
    "append", "cold_start", "compaction", "history_edit", "system_changed", "model_switch",
    "ttl_expired", "lookback_miss", "compaction_call", "extra_turn",
)  # fmt: skip
PATTERNS = ("", "striped", "dotted")


def light(name: str) -> str:
    """The colour for light pages."""
    return COLOURS[name][0]


def cause_colours() -> Mapping[str, tuple[str, str]]:
    """Colour of each cause, and its pattern: none, stripes or dots."""
    causes = dict.fromkeys([*_SEEN_FIRST, *CAUSES])
    size = len(_CAUSES)
    return {cause: (_CAUSES[n % size], PATTERNS[n // size]) for n, cause in enumerate(causes)}
