"""The columns of the comparison, the same on the terminal, in Markdown and on the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compactlab.reports.analysis.comparison import Comparison, Row
from compactlab.reports.render.text import show
from compactlab.sim.metrics import METRICS

ARROWS = {"lower": "↓", "higher": "↑", "neither": ""}
TIMES = "\N{MULTIPLICATION SIGN}"
ARROWS_MEAN = "↓ lower is better, ↑ higher is better"

# Marks behind a strategy's name; notes.legend says what they stand for.
OVER, NULL, FAULTY, FUTURE, BREAKS, PLAYED = "○", "◇", "□", "☆", "‡", "†"


@dataclass(frozen=True)
class Column:
    """A column of figures.

    Parameters
    ----------
    key
        Which figure: a metric, ``of_keep_all`` or ``of_as_recorded``.
    title
        What stands above it.
    unit, better
        As in the table of metrics.
    rank
        Where room is scarce, columns with a high one go first.
    """

    key: str
    title: str
    unit: str
    better: str
    rank: int

    @property
    def heading(self) -> str:
        """The title with its unit, where cells do not show it, and its arrow."""
        unit = self.unit if self.unit in ("USD", "tokens", "rounds", "per 100 calls") else ""
        return " ".join(word for word in (self.title, unit, ARROWS[self.better]) if word)

    def cell(self, figures: Mapping[str, float | None]) -> str:
        """The figure as it is shown."""
        return show(figures.get(self.key), self.unit)


def _metric(key: str, title: str, rank: int) -> Column:
    return Column(key, title, METRICS[key].unit, METRICS[key].better, rank)


COLUMNS = (
    _metric("cost_usd", "cost", 0),
    Column("of_keep_all", f"{TIMES}keep_all", "ratio", "lower", 2),
    Column("of_as_recorded", f"{TIMES}as_recorded", "ratio", "lower", 7),
    _metric("cost_with_rework_usd", "with rework", 3),
    _metric("amnesia_need", "needs forgotten", 1),
    _metric("forward_need", "forward need", 6),
    _metric("side_cost_usd", "side calls", 11),
    _metric("premium_usd", "premium", 15),
    _metric("prefix_reuse", "prefix reuse", 4),
    _metric("write_spike", "write spike", 12),
    _metric("compactions", "compactions", 8),
    _metric("over_window", "over window", 5),
    _metric("verbatim_recency", "verbatim recency", 13),
    _metric("structural_validity", "validity", 10),
    _metric("flushed_compactions", "flushed", 14),
)


# What is forgotten, and what that leads to, in a table of its own where there is room.
MEMORY = (
    _metric("amnesia_need", "needs forgotten", 0),
    _metric("amnesia", "mean of types", 0),
    _metric("amnesia_need_effective", "not fetchable", 0),
    _metric("amnesia_tool_detail", "tool details", 0),
    _metric("instruction_must", "rules: must", 0),
    _metric("instruction_must_not", "must not", 0),
    _metric("stale", "stale", 0),
    _metric("mutation", "mutated", 0),
    _metric("survival_5", "survival", 0),
    _metric("reference_closure", "references", 0),
    _metric("rereads_per_100_calls", "fetched again", 0),
    _metric("questions_per_100_calls", "asked again", 0),
    _metric("unmet_needs", "unmet", 0),
    _metric("cost_with_rework_usd", "cost at best", 0),
    _metric("cost_with_rework_worst_usd", "at worst", 0),
)


def columns(comparison: Comparison, choice: Sequence[Column] = COLUMNS) -> list[Column]:
    """The columns that say something: relations need what they relate to, shares their whole."""
    useful = {
        "of_keep_all": comparison.row("keep_all") is not None,
        "of_as_recorded": comparison.recorded,
    }
    said = {
        column.key
        for column in choice
        if any(row.figures[column.key] is not None for row in comparison.rows)
    }
    return [each for each in choice if each.key in said and useful.get(each.key, True)]


def marks(row: Row) -> str:
    """The marks that a strategy carries."""
    carried = {
        OVER: row.hollow,
        NULL: row.null,
        FAULTY: row.faulty,
        FUTURE: row.sees_future,
        BREAKS: row.breaks,
        PLAYED: row.played and row.acted,
    }
    return "".join(mark for mark, carries in carried.items() if carries)
