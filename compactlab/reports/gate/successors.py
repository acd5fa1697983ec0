"""Which strategy of a baseline one is held against whose fields are others than they were."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from compactlab.reports.gate.baseline import Baseline
from compactlab.reports.gate.demand import bare
from compactlab.reports.gate.names import brief, some
from compactlab.reports.gate.record import Subject
from compactlab.reports.text import clean, shorten

# Specs as long as this are told whole, and those that are longer if nothing else tells them apart.
_BRIEF, _SPEC = 80, 240
Kind = tuple[str, str, str]


@dataclass(frozen=True)
class Successors:
    """Strategies of a store that a baseline knows under other fields.

    Parameters
    ----------
    pairs
        By what is in the store and not in the baseline, what it is held against: what is in the
        baseline and not in the store, of the same name, model and summariser, if there is one of
        each. The name of a pipeline is those of its parts.
    doubts
        Where there are several, so that nobody knows which became which.
    """

    pairs: Mapping[Subject, Subject]
    doubts: tuple[str, ...] = ()

    @classmethod
    def of(cls, before: Baseline, after: Baseline) -> Successors:
        """Find them.

        Parameters
        ----------
        before
            What was.
        after
            What is.
        """
        gone = _kinds(subject for subject in before.records if subject not in after.records)
        new = _kinds(subject for subject in after.records if subject not in before.records)
        pairs, doubts = {}, []
        for kind, ours in new.items():
            theirs = gone.get(kind, [])
            if len(ours) == len(theirs) == 1:
                pairs[ours[0]] = theirs[0]
            elif theirs:
                was, is_ = (some([subject.label for subject in each]) for each in (theirs, ours))
                doubts.append(f"which is which cannot be told: was {was}, is {is_}")
        return cls(pairs, tuple(dict.fromkeys(doubts)))

    def applied(self, before: Baseline) -> Baseline:
        """A baseline in which what they were has the names that it has now."""
        now = {was: is_ for is_, was in self.pairs.items()}
        moved = {now.get(subject, subject): held for subject, held in before.records.items()}
        return replace(before, records={subject: moved[subject] for subject in sorted(moved)})

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is held against what, a sentence each, whatever the models."""
        told = (_against(is_, was) for is_, was in self.pairs.items())
        return tuple(dict.fromkeys(told))


def _kinds(subjects: Iterable[Subject]) -> dict[Kind, list[Subject]]:
    """Strategies by what does not change with their fields."""
    found: dict[Kind, list[Subject]] = {}
    for subject in subjects:
        key = bare(subject.strategy), subject.model, subject.summarizer
        found.setdefault(key, []).append(subject)
    return found


def _against(is_: Subject, was: Subject) -> str:
    """A short name leaves out what is usual, and that may be the very thing that has changed."""
    now, once = (shorten(clean(subject.strategy), _SPEC) for subject in (is_, was))
    if is_.label != was.label and max(len(now), len(once)) > _BRIEF:
        now, once = brief(is_.label), brief(was.label)
    return f"{now} is held against {once} of the baseline"
