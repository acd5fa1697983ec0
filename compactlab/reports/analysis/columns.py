"""The columns of a comparison, the same on the terminal, in Markdown and on the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from compactlab.reports.analysis.aggregate import combined_by
from compactlab.reports.analysis.comparison import JUDGING, Comparison, Row
from compactlab.reports.render.text import show
from compactlab.sim.metrics import METRICS

ARROWS = {"lower": "↓", "higher": "↑", "neither": ""}
TIMES = "\N{MULTIPLICATION SIGN}"
ARROWS_MEAN = "↓ lower is better, ↑ higher is better"

# Marks after a strategy's name; notes.legend explains them.
OVER, NULL, FAULTY, FUTURE, BREAKS, PLAYED, DOUBT = "○", "◇", "□", "☆", "‡", "†", "?"


@dataclass(frozen=True)
class FigureColumn:
    """A column of figures: of a metric, or of one of :data:`_OF_STRATEGIES`."""

    key: str
    title: str
    unit: str
    better: str
    meaning: str
    rank: int  # columns with high ranks are dropped first where space is scarce

    @property
    def heading(self) -> str:
        """The title with its unit (if cells do not show it) and its arrow."""
        unit = self.unit if self.unit in ("USD", "tokens", "rounds", "per 100 calls") else ""
        return " ".join(word for word in (self.title, unit, ARROWS[self.better]) if word)

    def cell(self, figures: Mapping[str, float | None]) -> str:
        return show(figures.get(self.key), self.unit)


# Figures of a strategy that are not metrics of runs: title, unit, direction, meaning.
_OF_STRATEGIES = {
    "of_reference": (f"{TIMES}reference", "ratio", "lower",
                     "cost over that of the reference on the same conversations"),
    "recall": ("recall", "share", "higher",
               "share of needed facts that the prompt holds, of those last stated so many tokens "
               "ago or earlier (mean over conversations)"),
    "exposure": ("exposure", "share", "lower",
                 "share of these that is missed with summaries without content: the strategy's "
                 "loss"),
    "preserved": ("preserved", "share", "higher",
                  "effect preservation: share of the exposure that its summaries keep"),
    "preserved_random": ("by random", "share", "neither",
                         "the same of summaries that quote at random"),
    "preserved_oracle": ("by oracle", "share", "neither",
                         "the same of summaries that state what later calls need"),
}  # fmt: skip


def column(key: str, rank: int = 0) -> FigureColumn:
    """The column of a figure, as its metric declares it."""
    if key in _OF_STRATEGIES:
        return FigureColumn(key, *_OF_STRATEGIES[key], rank)
    metric = METRICS[key]
    # Tables show sums as means: see Row.of_one.
    how = combined_by(key) if metric.aggregation != "sum" else "mean over conversations"
    meaning = f"{metric.meaning} ({how})"
    return FigureColumn(key, metric.label, metric.unit, metric.better, meaning, rank)


# The table of strategies, from left to right.
COLUMNS = tuple(
    column(key, rank)
    for key, rank in (
        ("cost_usd", 0), ("of_reference", 2), ("cost_with_recovery_usd", 3), ("recall", 1),
        ("preserved", 3), ("amnesia_need", 9), ("forward_need", 6), ("side_cost_usd", 11),
        ("avoidable_cost_usd", 15), ("prefix_reuse", 4), ("write_spike", 12), ("compactions", 8),
        ("over_window", 5), ("verbatim_recency", 13), ("structural_validity", 10),
        ("flushed_compactions", 14),
    )
)  # fmt: skip
# Recall and recovery, in a table of their own if there is space.
MEMORY = tuple(
    column(key)
    for key in (
        "recall", "exposure", "preserved", "preserved_random", "preserved_oracle", "recall_10k",
        "recall_40k", "amnesia_need", "amnesia", "amnesia_need_effective", "amnesia_tool_detail",
        "instruction_must", "instruction_must_not", "stale", "mutation", "survival_5",
        "reference_closure", "rereads_per_100_calls", "questions_per_100_calls", "unmet_needs",
        "cost_with_recovery_usd", "cost_with_recovery_worst_usd",
    )
)  # fmt: skip


def columns(comparison: Comparison, choice: Sequence[FigureColumn] = COLUMNS) -> list[FigureColumn]:
    """The columns with information: relative figures need a reference, shares a denominator."""
    if choice is COLUMNS:
        choice = (*COLUMNS, *_named(comparison))
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


def _named(comparison: Comparison) -> list[FigureColumn]:
    """Columns of other metrics, if not all were computed: those that ``run --metrics`` names."""
    if len(comparison.measured) >= len(METRICS):
        return []
    usual = {*JUDGING, *(each.key for each in COLUMNS)}
    return [column(key, 1) for key in METRICS if key in comparison.measured and key not in usual]


def recall_head(comparison: Comparison) -> str:
    """The header of the recall column, with its distance."""
    return f"recall \N{GREATER-THAN OR EQUAL TO}{comparison.lag // 1000}k"


def usd_head(comparison: Comparison) -> str:
    """The header of a cost: everywhere people read it, it is that of a conversation."""
    return "USD" if comparison.conversations == 1 else "USD per conversation"


def against(comparison: Comparison) -> str:
    """The reference's label in the headers of differences: its name, unless other rows share it."""
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
        FAULTY: row.faulty or row.bare,
        DOUBT: row.doubtful,
        FUTURE: row.sees_future,
        BREAKS: row.rejected_for,
        PLAYED: row.as_recorded and row.acted,
    }
    return "".join(mark for mark, carries in carried.items() if carries)
