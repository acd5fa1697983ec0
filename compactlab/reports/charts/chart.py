"""A chart: a drawing with its title and caption, for a page or as files of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from compactlab.reports.charts.drawing import canvas, free_standing, svg
from compactlab.reports.charts.slide import Slide
from compactlab.sim.whole_file import replace_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOTS_PER_INCH = 200
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True)
class Chart:
    """A drawing, ready to be shown.

    Parameters
    ----------
    name
        Unique among the charts that are shown together, and the stem of its files: small letters,
        digits and hyphens.
    title
        What it is, as a heading.
    caption
        What it shows and how that is reckoned: plain text, which may hold foreign names.
    figure
        The drawing, made under :func:`~compactlab.reports.charts.drawing.canvas`.
    kind
        Which chart it is, the same in every comparison: ``pareto``, ``session``, ...
    subject
        What it is of, where there are several of a kind: a conversation. Plain text, as captions.
    scope
        What was compared, in a line, for those who see the chart alone.

    Raises
    ------
    ValueError
        If the name cannot be that of a file on every machine.
    """

    name: str
    title: str
    caption: str
    figure: Figure = field(repr=False, compare=False)
    kind: str = ""
    subject: str = ""
    scope: str = ""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"{self.name!r} is no name for a chart")

    def markup(self) -> str:
        """An SVG element for a page, in the page's colours and font; foreign text is escaped."""
        with canvas():
            return svg(self.figure, self.name, self.title)

    def save(self, folder: Path) -> list[Path]:
        """Write the drawing to files of its own, each of which is whole or not there.

        There its title and its subject stand above it, and below it the first sentence of its
        caption and what was compared.

        Parameters
        ----------
        folder
            Where to. It must be there.

        Returns
        -------
        list of Path
            ``NAME.svg``, in light colours and the same bytes each time, and ``NAME.png``, with 200
            dots an inch.
        """
        slide = self._slide()
        drawn = {
            folder / f"{self.name}.svg": free_standing(slide.markup()).encode(),
            folder / f"{self.name}.png": slide.pixels(DOTS_PER_INCH),
        }
        for path, content in drawn.items():
            replace_file(path, content)
        return list(drawn)

    def _slide(self) -> Slide:
        first, end, _ = self.caption.partition(". ")
        told = [text for text in (f"{first}{end.strip()}", self.scope) if text]
        return Slide(self.figure, self.name, self.title, self.subject, told)
