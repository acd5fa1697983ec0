"""The conversations of a comparison, of which a reader chooses one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from compactlab.reports.analysis.aggregate import models
from compactlab.reports.analysis.columns import COLUMNS
from compactlab.reports.analysis.comparison import (
    Case,
    Comparison,
    case_of,
    case_title,
    compare,
    kind_of,
    label,
    window_told,
    windows_of,
)
from compactlab.reports.page.grid import Line, best_of, cell_of, head_of, line_of
from compactlab.reports.render.document import Cell
from compactlab.reports.render.text import NONE, clean, counted, listed, show
from compactlab.sim.core.errors import UsageError, unknown
from compactlab.sim.experiment.results import Results
from compactlab.sim.experiment.run import Run

# Of one conversation, what was run is a row like the others.
_COLUMNS = tuple(column for column in COLUMNS if column.key != "of_as_recorded")
HEADS = tuple(map(head_of, _COLUMNS))

# So many names are told where the one that was asked for is not there.
_NAMED = 20


@dataclass(frozen=True)
class Conversation:
    """One conversation, in one replay, under all strategies.

    Parameters
    ----------
    comparison
        What it belongs to.
    case
        What it is called, where it is from, and its seed.
    runs
        A run a strategy, those that failed among them.
    """

    comparison: Comparison
    case: Case
    runs: tuple[Run, ...]

    @cached_property
    def peak(self) -> float:
        """Tokens of the largest prompt of all its runs."""
        return max((run.metrics.get("prompt_tokens_peak") or 0 for run in self.runs), default=0)

    @property
    def title(self) -> str:
        """What it is called."""
        return case_title(self.case)

    @property
    def told(self) -> str:
        """How long it is, and what it was replayed under."""
        longest = self._longest
        used = list(models([longest])) or [self.comparison.model]
        names = listed([clean(name) for name in used])
        peak = show(self.peak, "tokens")
        size = f"{counted(len(longest.calls), 'call')}, prompts of at most {peak} tokens"
        return f"{size}; {names}; {window_told(used, self.comparison)}"

    @property
    def windows(self) -> list[tuple[int, int]]:
        """From which call on which window held, in tokens; 0 where it is not known."""
        return windows_of(self._longest, self.comparison.catalogue)

    @property
    def _longest(self) -> Run:
        return max(self.runs, key=lambda run: len(run.calls))


def conversations(
    results: Results, comparison: Comparison, wanted: str | None = None
) -> list[Conversation]:
    """The conversations of which any run went well, the one that is wanted first, then by size.

    Parameters
    ----------
    results
        Where the comparison comes from: runs of conversations that it leaves out are told, too.
    comparison
        Which runs to look at.
    wanted
        The id of a conversation.
    """
    found: dict[Case, list[Run]] = {}
    for run in results.runs:
        if run.status != "unreadable" and kind_of(run) == comparison.kind:
            found.setdefault(case_of(run), []).append(run)
    listing = [
        Conversation(comparison, case, tuple(runs))
        for case, runs in found.items()
        if any(run.status == "ok" for run in runs)
    ]
    return sorted(listing, key=lambda each: (each.case[1] != wanted, -each.peak, each.case))


def lines_of(
    results: Results, each: Conversation, colours: Mapping[str, str]
) -> list[tuple[Run, Line]]:
    """The runs of a conversation with their figures: the cheapest first, failed ones last."""
    rows = {row.spec: row for row in compare(results, each.comparison.kind, each.runs).rows}
    choices = [row for row in rows.values() if row.choice]
    best = {column.key: best_of(column, choices) for column in _COLUMNS}
    found = []
    for run in sorted(each.runs, key=_by_cost):
        row = rows.get(run.strategy) if run.status == "ok" else None
        if row is None:
            cells = [Cell(NONE)] * len(_COLUMNS)
            name, spec = label(results, run.strategy), clean(run.strategy)
            line = Line(name, spec, "failed", colours[run.strategy], True, tuple(cells))
        else:
            own = best if row.choice else {}
            line = line_of(row, colours, [cell_of(c, row, own.get(c.key)) for c in _COLUMNS])
        found.append((run, line))
    return found


def _by_cost(run: Run) -> tuple[bool, float, str]:
    return run.status != "ok", run.metrics.get("cost_usd") or 0.0, run.strategy


def must_be_there(results: Results, wanted: str | None) -> None:
    """Refuse the id of a conversation that was not replayed.

    Raises
    ------
    UsageError
        If there is none, or no run of it went well; it names those whose ids are like it.
    """
    names = list(dict.fromkeys(run.conversation for run in results.runs if run.status == "ok"))
    if wanted is None or wanted in names:
        return
    if any(run.conversation == wanted for run in results.runs):
        raise UsageError(f"no run of the conversation {clean(wanted)!r} went well")
    like = [name for name in names if wanted in name] or names
    raise UsageError(unknown("conversation", clean(wanted), map(clean, like[:_NAMED])))
