"""The columns of a comparison, the same on the terminal, in Markdown and on the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from compactlab.reports.analysis.comparison import Comparison, Row
from compactlab.reports.render.text import show
from compactlab.sim.metrics import METRICS

ARROWS = {"lower": "↓", "higher": "↑", "neither": ""}
TIMES = "\N{MULTIPLICATION SIGN}"
ARROWS_MEAN = "↓ lower is better, ↑ higher is better"

# Marks behind a strategy's name; notes.legend says what they stand for.
OVER, NULL, FAULTY, FUTURE, BREAKS, PLAYED, DOUBT = "○", "◇", "□", "☆", "‡", "†", "?"


@dataclass(frozen=True)
class FigureColumn:
    """A column of figures: of a metric, or ``of_reference``."""

    key: str
    title: str
    unit: str
    better: str
    rank: int  # where room is scarce, columns with a high one go first

    @property
    def heading(self) -> str:
        """The title with its unit, where cells do not show it, and its arrow."""
        unit = self.unit if self.unit in ("USD", "tokens", "rounds", "per 100 calls") else ""
        return " ".join(word for word in (self.title, unit, ARROWS[self.better]) if word)

    def cell(self, figures: Mapping[str, float | None]) -> str:
        """The figure as it is shown."""
        return show(figures.get(self.key), self.unit)


def _metric(key: str, title: str, rank: int) -> FigureColumn:
    return FigureColumn(key, title, METRICS[key].unit, METRICS[key].better, rank)


COLUMNS = (
    _metric("cost_usd", "cost", 0),
    FigureColumn("of_reference", f"{TIMES}reference", "ratio", "lower", 2),
    _metric("cost_with_recovery_usd", "with recovery", 3),
    FigureColumn("recall", "recall", "share", "higher", 1),
    FigureColumn("preserved", "preserved", "share", "higher", 3),
    _metric("amnesia_need", "miss rate, all needs", 9),
    _metric("forward_need", "forward need", 6),
    _metric("side_cost_usd", "side calls", 11),
    _metric("avoidable_cost_usd", "avoidable", 15),
    _metric("prefix_reuse", "prefix reuse", 4),
    _metric("write_spike", "write spike", 12),
    _metric("compactions", "compactions", 8),
    _metric("over_window", "exceeds window", 5),
    _metric("verbatim_recency", "verbatim recency", 13),
    _metric("structural_validity", "validity", 10),
    _metric("flushed_compactions", "flushed", 14),
)


# Fact recall and recovery, in a table of its own where there is room.
MEMORY = (
    FigureColumn("recall", "recall", "share", "higher", 0),
    FigureColumn("exposure", "exposure", "share", "lower", 0),
    FigureColumn("preserved", "preserved", "share", "higher", 0),
    FigureColumn("preserved_random", "by random", "share", "neither", 0),
    FigureColumn("preserved_oracle", "by oracle", "share", "neither", 0),
    _metric("recall_10k", "recall \N{GREATER-THAN OR EQUAL TO}10k", 0),
    _metric("recall_40k", "recall \N{GREATER-THAN OR EQUAL TO}40k", 0),
    _metric("amnesia_need", "miss rate, all needs", 0),
    _metric("amnesia", "mean of fact types", 0),
    _metric("amnesia_need_effective", "not retrievable", 0),
    _metric("amnesia_tool_detail", "tool details", 0),
    _metric("instruction_must", "rules: must", 0),
    _metric("instruction_must_not", "must not", 0),
    _metric("stale", "stale", 0),
    _metric("mutation", "mutated", 0),
    _metric("survival_5", "survival", 0),
    _metric("reference_closure", "references", 0),
    _metric("rereads_per_100_calls", "fetched again", 0),
    _metric("questions_per_100_calls", "asked again", 0),
    _metric("unmet_needs", "unmet needs", 0),
    _metric("cost_with_recovery_usd", "recovery, best case", 0),
    _metric("cost_with_recovery_worst_usd", "worst case", 0),
)


def columns(comparison: Comparison, choice: Sequence[FigureColumn] = COLUMNS) -> list[FigureColumn]:
    """The columns that say something: relations need what they relate to, shares their whole."""
    keys = {
        column.key
        for column in choice
        if column.key == "recall"
        or any(row.figures[column.key] is not None for row in comparison.rows)
    }
    titles = {"recall": recall_head(comparison)}
    if comparison.reference is not None:
        titles["of_reference"] = f"{TIMES}{against(comparison)}"
    named = (replace(each, title=titles.get(each.key, each.title)) for each in choice)
    return [each for each in named if each.key in keys and each.key != comparison.headline]


def recall_head(comparison: Comparison) -> str:
    """The head of a column of recall, which says at which distance."""
    return f"recall \N{GREATER-THAN OR EQUAL TO}{comparison.lag // 1000}k"


def against(comparison: Comparison) -> str:
    """What a column of differences calls the reference: its name, unless others have it, too."""
    reference = comparison.reference
    if reference is None:
        return ""
    alike = sum(row.name == reference.name for row in comparison.rows)
    return reference.name if alike < 2 else reference.label


def marks(row: Row) -> str:
    """The marks that a strategy carries."""
    carried = {
        OVER: row.exceeds_window,
        NULL: row.control,
        FAULTY: row.faulty,
        DOUBT: row.doubtful,
        FUTURE: row.sees_future,
        BREAKS: row.rejected_for,
        PLAYED: row.as_recorded and row.acted,
    }
    return "".join(mark for mark, carries in carried.items() if carries)
