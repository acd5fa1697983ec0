"""Which compactions a page shows: it has room for some of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from compactlab.reports.analysis.comparison import Case, case_of, case_title, label
from compactlab.reports.explain.compaction import Piece, View, said_in, view_of
from compactlab.reports.render.text import clean
from compactlab.sim.experiment.parquet import NO_ROWS
from compactlab.sim.experiment.results import Results
from compactlab.sim.experiment.run import Run

# Characters of all views of a page together: it shall stay under 5 MB.
BUDGET = 1_000_000
# What stands around a message, and around a view, that is no text of theirs.
_AROUND, _ABOUT = 220, 800


@dataclass(frozen=True)
class Shown:
    """A view with the run that it is of.

    Parameters
    ----------
    conversation
        What the conversation is called.
    strategy, spec
        The strategy's short name and its full one.
    compactions
        How often the run was compacted; 0 where that was not written.
    inferred
        Whether its facts are not declared, but inferred from actions.
    view
        The compaction that is shown.
    """

    conversation: str
    strategy: str
    spec: str
    compactions: int
    inferred: bool
    view: View


@dataclass(frozen=True)
class Chosen:
    """The views of a page.

    Parameters
    ----------
    shown
        Those of the first conversation, and then those of others, the most forgetful first.
    idle
        Short names of the strategies that never compacted the first conversation.
    left_out
        How many runs have a view that has no room on the page.
    """

    shown: tuple[Shown, ...]
    idle: tuple[str, ...]
    left_out: int


def views(
    results: Results, runs: Iterable[Run], first: Case | None = None, budget: int = BUDGET
) -> Chosen:
    """Choose the compactions that a page shows."""
    done = [run for run in runs if run.status == "ok"]
    first = case_of(done[0]) if done and first is None else first
    held = [run for run in done if len(run.rows.get("views", NO_ROWS))]
    own = [run for run in held if case_of(run) == first]
    others = sorted((run for run in held if case_of(run) != first), key=_forgetfulness)
    shown: list[Shown] = []
    for run in [*own, *others]:
        each = _shown(results, run)
        budget -= size_of(each.view)
        if shown and budget < 0:
            break
        shown.append(each)
    acted = {run.strategy for run in own}
    idle = (run for run in done if case_of(run) == first and run.strategy not in acted)
    names = tuple(label(results, run.strategy) for run in idle) if held else ()
    return Chosen(tuple(shown), names, len(held) - len(shown))


def _forgetfulness(run: Run) -> tuple[int, int, int, Case, str]:
    rows = run.rows["views"]
    missed, lost, was, left = (
        int(rows.array(name).sum())
        for name in ("facts_missed", "facts_lost", "tokens_before", "tokens_after")
    )
    return -missed, -lost, left - was, case_of(run), run.strategy


def _shown(results: Results, run: Run) -> Shown:
    view = view_of(run.rows["views"], said_in(run))
    assert view is not None
    return Shown(
        case_title(case_of(run)),
        label(results, run.strategy),
        clean(run.strategy),
        len(run.rows.get("compactions", NO_ROWS)),
        run.labels == "inferred",
        view,
    )


def size_of(view: View) -> int:
    """About how many characters of HTML a view takes."""
    return _ABOUT + sum(_AROUND + sum(map(len, _texts(piece))) for piece in _pieces(view))


def _pieces(view: View) -> Iterator[Piece]:
    for pair in view.pairs:
        yield from pair.left + pair.right


def _texts(piece: Piece) -> Sequence[str]:
    facts = (fact.said + fact.told for fact in piece.facts)
    return [escape(text) for text in (piece.title, piece.text, *facts)]
