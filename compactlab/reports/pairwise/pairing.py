"""Which strategy of a store is held against which of another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compactlab.reports.gate.demand import bare


@dataclass(frozen=True)
class Pairing:
    """Strategies of two stores, side by side.

    Parameters
    ----------
    pairs
        Specs that are held against each other.
    before, after
        Specs for which there is none on the other side.
    """

    pairs: tuple[tuple[str, str], ...]
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    @classmethod
    def of(cls, before: Sequence[str], after: Sequence[str]) -> Pairing:
        """Pair strategies with themselves, and those whose parameters have changed by their names.

        Parameters
        ----------
        before, after
            Specs of the two stores.

        Examples
        --------
        >>> Pairing.of(["keep_all()", "cut(most=3)"], ["cut(most=5)", "keep_all()"]).pairs
        (('keep_all()', 'keep_all()'), ('cut(most=3)', 'cut(most=5)'))
        """
        if len(before) == len(after) == 1:
            return cls(((before[0], after[0]),))
        same = [(spec, spec) for spec in before if spec in after]
        gone = [spec for spec in before if spec not in after]
        new = [spec for spec in after if spec not in before]
        changed = list(_changed(gone, new))
        paired = {spec for pair in changed for spec in pair}
        left = (tuple(spec for spec in specs if spec not in paired) for specs in (gone, new))
        return cls((*same, *changed), *left)


def _changed(gone: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Those of which there is one of a name on each side: of several, nobody knows which is it."""
    for spec in gone:
        ours = [each for each in gone if bare(each) == bare(spec)]
        theirs = [each for each in new if bare(each) == bare(spec)]
        if len(ours) == len(theirs) == 1:
            yield spec, theirs[0]
