"""What a comparison advises: which strategy to take, and how surely that is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from compactlab.reports.comparison import WHOLE, Comparison, Row
from compactlab.reports.statistics.contrast import MARGINS, Contrast, contrasts, reference_of

COST, FORGOTTEN = "cost_usd", "amnesia_need"


@dataclass(frozen=True)
class Advice:
    """The strategies that a reader has to know of, picked by one rule.

    Advised is the cheapest choice that forgets no more than the reference, within the margin, if it
    costs no more either. That it does must be *shown* (non-inferiority); where no choice is shown
    to, the cheapest whose figure lies within the margin is named, and called not determined.

    Where nothing need be done, or where neither ``keep_all`` nor ``as_recorded`` is there to tell
    what forgets no more than it must, nothing is advised.

    Parameters
    ----------
    comparison
        What is compared.
    """

    comparison: Comparison

    @cached_property
    def reference(self) -> Row | None:
        """What the others are held against."""
        return reference_of(self.comparison)

    @property
    def unheld(self) -> bool:
        """Whether nothing was run that tells how much has to be forgotten."""
        return self.reference is None or self.reference.name not in WHOLE

    @cached_property
    def _against(self) -> Mapping[tuple[str, str], Contrast]:
        return contrasts(self.comparison, self.reference) if self.reference else {}

    def cost(self, row: Row) -> Contrast | None:
        """How its bill compares with that of the reference."""
        return self._against.get((row.spec, COST))

    def forgotten(self, row: Row) -> Contrast | None:
        """How much more it forgets of what calls need than the reference does."""
        return self._against.get((row.spec, FORGOTTEN))

    @cached_property
    def choices(self) -> list[Row]:
        """What one could use, the cheapest first."""
        return [row for row in self.comparison.rows if row.choice]

    @property
    def cheapest(self) -> Row | None:
        """The cheapest choice, whatever it forgets."""
        return self.choices[0] if self.choices else None

    @cached_property
    def keenest(self) -> Row | None:
        """The choice that forgets least, to a tenth of a point; of several, the cheapest."""
        known = [row for row in self.choices if row.remembered is not None]
        return min(known, key=lambda row: round(row.value(FORGOTTEN), 3), default=None)

    @cached_property
    def steps(self) -> list[Row]:
        """The front, without what is dearer and forgets as much, to a tenth of a point."""
        found: dict[float, Row] = {}
        for row in self.comparison.front:
            found.setdefault(round(row.value(FORGOTTEN), 3), row)
        return list(found.values())

    @cached_property
    def _safe(self) -> list[Row]:
        """Choices that are shown to forget no more than the reference, within the margin."""
        found = [row for row in self.choices if (c := self.forgotten(row)) and c.no_worse]
        return [] if self.unheld else found

    @property
    def shown(self) -> bool:
        """Whether what is advised is shown to forget no more."""
        return self.sound in self._safe

    @cached_property
    def sound(self) -> Row | None:
        """The cheapest choice that forgets no more than the reference, within the margin."""
        if self._safe:
            return self._safe[0]
        return next((row for row in self.choices if self._within(row)), None)

    @property
    def advised(self) -> Row | None:
        """The same, if it costs no more than the reference: else it is a trade, and no advice."""
        best, reference = self.sound, self.reference
        if best is None or reference is None or self.idle is not None:
            return None
        return best if best.value(COST) <= reference.value(COST) else None

    @cached_property
    def idle(self) -> Row | None:
        """Who kept everything, or never acted, and costs no more than the cheapest choice.

        It has to be usable; where there is one, nothing need be done.
        """
        best, kept = self.cheapest, self.comparison.row("keep_all")
        rows = [*([kept] if kept else []), *self.comparison.rows]
        still = (row for row in rows if row is kept or not (row.null or row.played or row.acted))
        sound = (row for row in still if row.usable)
        return next((r for r in sound if best and r.value(COST) <= best.value(COST)), None)

    @property
    def nearest(self) -> Row | None:
        """Where there is no choice: the sound proposal with the fewest calls over the window."""
        rows = (row for row in self.comparison.rows if not (row.null or row.played))
        sound = [row for row in rows if not (row.faulty or row.sees_future)]
        return min(sound, key=lambda row: (row.value("over_window"), row.value(COST)), default=None)

    def _within(self, row: Row) -> bool:
        contrast = self.forgotten(row)
        if self.unheld or contrast is None or contrast.estimate is None:
            return row.remembered is None  # Nothing is needed, so nothing can be forgotten.
        return round(contrast.estimate, 9) <= MARGINS[FORGOTTEN]

    @cached_property
    def alike(self) -> list[tuple[Row, Contrast]]:
        """Choices as sound as the advised one whose bills cannot be told from its own."""
        best = self.advised
        if best is None:
            return []
        beside = contrasts(self.comparison, best, (COST,))
        others = [row for row in self.choices if row is not best and self._as_sound(row)]
        found = [(row, beside[row.spec, COST]) for row in others]
        return [(row, contrast) for row, contrast in found if not contrast.determined]

    def _as_sound(self, row: Row) -> bool:
        return row in self._safe if self.shown else self._within(row)
