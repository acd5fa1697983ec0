"""The choice of compactions that a page has space for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from types import MappingProxyType

from compactlab.reports.analysis.comparison import Case, case_of, label
from compactlab.reports.analysis.scope import title_of
from compactlab.reports.explain.compaction import Piece, View, said_in, view_of
from compactlab.reports.render.text import clean
from compactlab.sim.store.parquet import NO_ROWS
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import Run

# Characters of all views of a page: it shall stay under 1 MB.
BUDGET = 200_000
# Characters of markup around a message, and around a view.
_AROUND, _ABOUT = 220, 800


@dataclass(frozen=True)
class Compaction:
    """The view of a compaction, and its run."""

    conversation: str
    strategy: str  # the strategy's label
    spec: str
    compactions: int  # how many the run has; 0 if unknown
    inferred: bool  # whether its facts are inferred from actions instead of declared
    view: View


@dataclass(frozen=True)
class Compactions:
    """The compactions of a page: of the first conversation, then others by facts missed."""

    title: str = ""  # of the first conversation
    own: tuple[Compaction, ...] = ()
    others: tuple[Compaction, ...] = ()
    idle: tuple[str, ...] = ()  # labels of strategies that never compacted the first conversation
    left_out: int = 0  # runs whose compaction did not fit
    name: str = "part-1"  # prefix of the ids of its parts

    @property
    def shown(self) -> tuple[Compaction, ...]:
        """All compactions of the page."""
        return self.own + self.others


def views(
    results: Results,
    runs: Iterable[Run],
    first: Case | None = None,
    budget: int = BUDGET,
    titles: Mapping[Case, str] = MappingProxyType({}),
) -> Compactions:
    """Choose the compactions of a page; ``titles`` may replace the conversations' own."""
    done = [run for run in runs if run.status == "ok"]
    if not done:
        return Compactions()
    first = first or case_of(done[0])
    held = [run for run in done if len(run.rows.get("views", NO_ROWS))]
    own = [run for run in held if case_of(run) == first]
    others = sorted((run for run in held if case_of(run) != first), key=_missed_most)
    shown: list[Compaction] = []
    for run in [*own, *others]:
        each = _compaction(results, run, titles.get(case_of(run)) or title_of(run))
        budget -= size_of(each.view)
        if shown and budget < 0:
            break
        shown.append(each)
    acted = {run.strategy for run in own}
    idle = (run for run in done if case_of(run) == first and run.strategy not in acted)
    return Compactions(
        titles.get(first) or title_of(next(run for run in done if case_of(run) == first)),
        tuple(shown[: len(own)]),
        tuple(shown[len(own) :]),
        tuple(label(results, run.strategy) for run in idle) if held else (),
        len(held) - len(shown),
    )


def _missed_most(run: Run) -> tuple[int, int, int, Case, str]:
    rows = run.rows["views"]
    missed, lost, was, left = (
        int(rows.array(name).sum())
        for name in ("facts_missed", "facts_lost", "tokens_before", "tokens_after")
    )
    return -missed, -lost, left - was, case_of(run), run.strategy


def _compaction(results: Results, run: Run, title: str) -> Compaction:
    view = view_of(run.rows["views"], said_in(run))
    assert view is not None
    return Compaction(
        title,
        label(results, run.strategy),
        clean(run.strategy),
        len(run.rows.get("compactions", NO_ROWS)),
        run.labels == "inferred",
        view,
    )


def size_of(view: View) -> int:
    """The approximate size of a view in characters of HTML."""
    return _ABOUT + sum(_AROUND + sum(map(len, _texts(piece))) for piece in _pieces(view))


def _pieces(view: View) -> Iterator[Piece]:
    for pair in view.pairs:
        yield from pair.left + pair.right


def _texts(piece: Piece) -> Sequence[str]:
    facts = (fact.statement + fact.told for fact in piece.facts)
    return [escape(text) for text in (piece.title, piece.text, *facts)]
