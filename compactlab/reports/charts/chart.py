"""A chart: a drawing with its title and caption, for a page or as files."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from compactlab.reports.charts.drawing import canvas, free_standing, svg, width_of
from compactlab.reports.charts.kit import Sheet
from compactlab.reports.render.text import shorten
from compactlab.sim.core.files import replace_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# Names of files, in portable characters.

_LETTERS = 60


def stem(shown: str, under: str, subject: str, taken: Collection[str]) -> str:
    """The unique name of a chart's files: comparison, content and subject.

    Examples
    --------
    >>> stem("context", "Model gpt-5", "Ünter/den:linden (pi)", ())
    'model-gpt-5-context-unter-den-linden-pi'
    >>> stem("cost-and-memory", "", "", {"cost-and-memory"})
    'cost-and-memory-2'
    """
    words = (safe(under), safe(shown), safe(subject))
    name = "-".join(filter(None, words)) or "chart"
    number, unique = 1, name
    while unique in taken:
        number += 1
        unique = f"{name}-{number}"
    return unique


def safe(text: str) -> str:
    """A text in lower case, with only letters, digits and hyphens; "" if nothing remains.

    Examples
    --------
    >>> safe("../A b"), safe("漢字")
    ('a-b', '')
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:_LETTERS].strip("-")


# A chart as a standalone picture: title above, caption below.

_MARGIN, _TITLE, _SUBJECT, _TEXT, _LINE = 8.0, 13.0, 9.0, 7.5, 1.45
# Enough for a sentence and for the comparison; the rest is cut off.
_LINES = 5
_SIZE = re.compile(r'<svg role="img" aria-label="[^"]*"')


class Slide:
    """A chart with its title and subject above, and its caption and scope below."""

    def __init__(self, chart: Chart) -> None:
        width = 72 * chart.figure.get_figwidth()
        room = width - 2 * _MARGIN
        above = [(fitted(chart.title, _TITLE, room), _TITLE, "ink")]
        if chart.subject:
            above.append((fitted(chart.subject, _SUBJECT, room), _SUBJECT, "muted"))
        sentence, end, _ = chart.caption.partition(". ")
        remarks = (f"{sentence}{end.strip()}", chart.scope)
        below = [line for text in remarks for line in wrapped(text, _TEXT, room)][:_LINES]
        with canvas():
            head = _block(width, above)
            foot = _block(width, [(line, _TEXT, "muted") for line in below])
        self._name, self._width = chart.name, width
        self._label = f"{chart.title}: {chart.subject}" if chart.subject else chart.title
        self._parts = [head, chart.figure, *([foot] if below else [])]

    def markup(self) -> str:
        """An SVG element in a page's colours; external text is escaped."""
        out, y = [], 0.0
        for number, part in enumerate(self._parts):
            height = 72 * part.get_figheight()
            place = f'<svg y="{y:.1f}" width="{self._width:.1f}" height="{height:.1f}"'
            out.append(_SIZE.sub(place, svg(part, f"{self._name}-{number}", ""), count=1))
            y += height
        size = f"{self._width:.1f} {y:.1f}"
        head = f'<svg role="img" aria-label="{html.escape(self._label)}" viewBox="0 0 {size}">'
        return f"{head}{''.join(out)}</svg>"

    def pixels(self, dots: int) -> bytes:
        """A PNG on white paper at a resolution in dots per inch; equal charts give equal bytes."""
        from matplotlib.image import imsave

        with canvas():
            rows = np.concatenate([_painted(part, dots) for part in self._parts])
            out = BytesIO()
            unsigned: dict[str, Any] = {"Software": None}
            imsave(out, rows, format="png", dpi=dots, metadata=unsigned)
        return out.getvalue()


def fitted(text: str, size: float, room: float) -> str:
    """A text, shortened in the middle if it is wider than ``room`` points."""
    shown = text
    while len(shown) > 12 and width_of(shown, size) > room:
        shown = shorten(text, min(len(shown) - 1, int(len(shown) * 0.95)))
    return shown


def wrapped(text: str, size: float, room: float) -> list[str]:
    """The lines of a text, none wider than ``room`` points."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width_of(longer, size) <= room:
            lines[-1] = longer
        else:
            lines.append(fitted(word, size, room))
    return lines


def _block(width: float, lines: Sequence[tuple[str, float, str]]) -> Figure:
    """Lines of text, each with its size in points and its colour."""
    sheet = Sheet(_MARGIN + sum(size * _LINE for _, size, _ in lines), width=width)
    y = sheet.height - _MARGIN / 2
    for text, size, colour in lines:
        y -= size * _LINE
        sheet.text((_MARGIN, y + 0.3 * size), text, colour, size=size, upright="baseline")
    return sheet.figure


def _painted(part: Figure, dots: int) -> NDArray[np.uint8]:
    """Rows of pixels: red, green, blue and opacity."""
    out = BytesIO()
    part.savefig(out, format="rgba", dpi=dots, facecolor="white")
    width, height = (int(inches * dots) for inches in part.get_size_inches())
    return np.frombuffer(out.getvalue(), np.uint8).reshape(height, width, 4)


# The chart itself.

DOTS_PER_INCH = 200
Section = Literal["front", "cost", "spikes", "memory", "conversation"]
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True)
class Chart:
    """A drawing, ready to be shown."""

    name: str  # unique among the charts shown together, and the stem of its files: [a-z0-9-]
    title: str
    caption: str  # what it shows and how that is computed: plain text with external names
    figure: Figure = field(repr=False, compare=False)
    kind: str = ""  # the same in every comparison: pareto, session, ...
    section: Section = "memory"  # the part of a comparison's page that contains it
    shown: str = ""  # its content in the names of its files; empty: its kind
    subject: str = ""  # what it shows if there are several of a kind: a conversation
    scope: str = ""  # the comparison in one line, for standalone pictures
    narrow: Figure | None = field(default=None, repr=False, compare=False)  # for small screens

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"{self.name!r} is no name for a chart")

    def markup(self) -> str:
        """An SVG element in the page's colours and font; external text is escaped."""
        return svg(self.figure, self.name, self.title)

    def narrow_markup(self) -> str:
        """The SVG element for a small screen; "" without one."""
        return svg(self.narrow, f"{self.name}-narrow", self.title) if self.narrow else ""

    def save(self, folder: Path) -> list[Path]:
        """Write ``NAME.svg`` in light colours and ``NAME.png``, each whole or not at all.

        Files have the title and the subject above the drawing, and the first sentence of the
        caption and the scope below. Equal charts give equal bytes.
        """
        slide = Slide(self)
        files = {
            folder / f"{self.name}.svg": free_standing(slide.markup()).encode(),
            folder / f"{self.name}.png": slide.pixels(DOTS_PER_INCH),
        }
        for path, content in files.items():
            replace_file(path, content)
        return list(files)
