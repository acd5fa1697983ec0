"""A compaction as it is shown: rows with two sides, and what they come to in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from compactlab.reports.figures import show
from compactlab.reports.text import counted, listed
from compactlab.reports.views.piece import (
    Fact,
    Piece,
    Row,
    Said,
    after,
    before,
    rows_of,
    sized,
    with_facts,
)
from compactlab.sim.diff.line import STILL
from compactlab.sim.run import Run
from compactlab.sim.tables import NO_ROWS, Rows

_CUT = ("gone", "written", "back")
# Facts that are told by name in the sentence on what was missed.
_NAMED = 4


@dataclass(frozen=True)
class Sum:
    """What became of the messages of a fate: how many, and their tokens on either side."""

    count: int = 0
    before: int = 0
    after: int = 0


@dataclass(frozen=True)
class Pair:
    """A row of the view: what stood there before, and what stands there after.

    Parameters
    ----------
    fate
        That of its messages; of several, that of what is gone.
    left, right
        The messages on either side; of what has not changed, only the left ones are filled in.
    """

    fate: str
    left: tuple[Piece, ...] = ()
    right: tuple[Piece, ...] = ()

    @property
    def still(self) -> bool:
        """Whether nothing has changed."""
        return self.fate in STILL


@dataclass(frozen=True)
class View:
    """One compaction, before and after.

    Parameters
    ----------
    call
        The number of the call before which it happened.
    pairs
        The rows.
    sums
        What became of the messages, by fate; the system blocks are left out.
    tokens
        Tokens that would have been sent, and that were sent, with the system blocks.
    lost, missed
        Facts that were lost, and of those the ones that were needed later and not found.
    facts
        The facts that are told by name, those that were missed first.
    """

    call: int
    pairs: tuple[Pair, ...]
    sums: Mapping[str, Sum]
    tokens: tuple[int, int]
    lost: int
    missed: int
    facts: tuple[Fact, ...]

    def _of(self, *fates: str) -> Sum:
        found = [self.sums[fate] for fate in fates if fate in self.sums]
        return Sum(
            sum(each.count for each in found),
            sum(each.before for each in found),
            sum(each.after for each in found),
        )

    @cached_property
    def head(self) -> str:
        """What it did to the prompt, in words."""
        kept, other = self._of(*STILL), self._of("shortened", "changed", "gone")
        come = self._of("written", "back").count
        was = kept.count + other.count
        now = was - self._of("gone").count + come
        one, two = (show(tokens, "tokens") for tokens in self.tokens)
        return (
            f"Before call {self.call:,}: {counted(was, 'message')} with {one} tokens became "
            f"{now:,} with {two}"
        )

    @property
    def short(self) -> str:
        """What it did, in a few words."""
        one, two = (show(tokens, "tokens") for tokens in self.tokens)
        facts = f"{counted(self.lost, 'fact')} lost" if self.lost else "no fact lost"
        needed = f", {self.missed:,} of them needed later" if self.missed else ""
        return f"before call {self.call:,}: {one} to {two} tokens, {facts}{needed}"

    @cached_property
    def deeds(self) -> str:
        """What became of the messages, in words."""
        told = []
        kept, gone = self._of(*STILL), self._of("gone")
        if kept.count:
            told.append(f"{counted(kept.count, 'message')} stayed ({sized(kept.before)})")
        if gone.count:
            told.append(f"{counted(gone.count, 'message')} left ({sized(gone.before)})")
        for fate, deed in (("shortened", "cut short"), ("changed", "changed")):
            if (each := self._of(fate)).count:
                told.append(f"{each.count:,} {deed} ({_from(each)})")
        for fate, deed in (("written", "written"), ("back", "put back")):
            if (each := self._of(fate)).count:
                told.append(f"{each.count:,} {deed} ({sized(each.after)})")
        return listed(told)

    @cached_property
    def losses(self) -> str:
        """What was forgotten, in words."""
        if not self.lost:
            return "No fact was lost"
        told = f"{counted(self.lost, 'fact')} {'was' if self.lost == 1 else 'were'} lost"
        if not self.missed:
            return f"{told}; no later call needed {'it' if self.lost == 1 else 'them'}"
        if self.missed == self.lost:
            return f"{told} and needed later: {self._names()}"
        return f"{told}, {self.missed:,} of them needed later: {self._names()}"

    def _names(self) -> str:
        missed = [fact for fact in self.facts if fact.missed]
        told = [f"{fact.said} (call {fact.missed:,})" for fact in missed[:_NAMED]]
        more = self.missed - len(told)
        return listed([*told, *([f"{more:,} more"] if more > 0 else [])])

    @property
    def words(self) -> tuple[str, ...]:
        """What happened, in sentences."""
        sentences = filter(None, (self.head, self.deeds, self.losses))
        return tuple(f"{sentence}." for sentence in sentences)


def _from(each: Sum) -> str:
    return f"from {show(each.before, 'tokens')} to {sized(each.after)}"


def view_of(rows: Rows, said: Said) -> View | None:
    """Make a view of rows of the table of views.

    Parameters
    ----------
    rows
        Those of one compaction.
    said
        What the messages say that stand in the table of messages.

    Returns
    -------
    View or None
        None if there are no rows.
    """
    if not len(rows):
        return None
    told = rows_of(rows)
    sums: dict[str, Sum] = {}
    for row in told:
        if row.role != "system":
            last = sums.get(row.fate, Sum())
            sums[row.fate] = Sum(
                last.count + row.count,
                last.before + row.tokens_before,
                last.after + row.tokens_after,
            )
    pairs = tuple(_pairs(told, said))
    facts = [fact for pair in pairs for piece in pair.left + pair.right for fact in piece.facts]
    return View(
        told[0].call,
        pairs,
        sums,
        (sum(row.tokens_before for row in told), sum(row.tokens_after for row in told)),
        sum(row.facts_lost for row in told),
        sum(row.facts_missed for row in told),
        tuple(sorted(facts, key=lambda fact: (not fact.missed, fact.missed))),
    )


def said_in(run: Run) -> Said:
    """What the messages of a run say that stand in its table of messages."""
    rows = run.rows.get("messages", NO_ROWS)
    return dict(zip(rows["message"], rows["text"], strict=True)) if len(rows) else {}


def _pairs(rows: Sequence[Row], said: Said) -> Iterator[Pair]:
    """The rows with their sides; what left stands beside what was written where it stood."""
    for cut, group in groupby(rows, lambda row: row.fate in _CUT):
        if cut:
            both = list(group)
            left = tuple(with_facts(before(r, said), r) for r in both if r.fate == "gone")
            right = tuple(with_facts(after(r, said), r) for r in both if r.fate != "gone")
            yield Pair("gone" if left else right[0].fate, left, right)
            continue
        for row in group:
            one = with_facts(before(row, said), row)
            right = () if row.fate in STILL else (after(row, said),)
            yield Pair(row.fate, (one,), right)
