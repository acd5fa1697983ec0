"""A chart: a drawing with its title and caption, for a page or as files."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from compactlab.reports.charts.catalogue import FORMS, NAMES
from compactlab.reports.charts.drawing import canvas, free_standing, svg, width_of
from compactlab.reports.charts.kit import WIDTH, Sheet, Values
from compactlab.reports.render.text import shorten
from compactlab.sim.core.files import replace_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# A chart as a standalone picture: title above, caption below.

_MARGIN, _TITLE, _SUBJECT, _TEXT, _LINE = 8.0, 13.0, 9.0, 7.5, 1.45
# Enough for a sentence and for the comparison; the rest is cut off.
_LINES = 5
_SIZE = re.compile(r'<svg role="img" aria-label="[^"]*"')
# Dots per inch of pixels: on screens, and at a size for print.
DOTS_PER_INCH, _PRINTED = 200, 300
# Narrow pictures are laid out anew, and their letters have at least this share of the usual size.
_SMALLEST = 0.82
# Embedded as they are, because journals refuse Type 3; uncompressed, because zlib's bytes differ.
_PDF: Any = {"pdf.fonttype": 42, "pdf.compression": 0}
_UNSIGNED: dict[str, Any] = {"CreationDate": None, "Creator": None, "Producer": None}


@dataclass(frozen=True)
class Look:
    """The look of charts as files: formats, width in inches (by default as on a page), title."""

    forms: Sequence[str] = FORMS[:2]
    width: float | None = None
    titled: bool = True

    @property
    def layout(self) -> float:
        """The width in points for which charts are laid out; files are scaled to theirs."""
        return WIDTH if self.width is None else min(WIDTH, 72 * self.width / _SMALLEST)


USUAL = Look()


class Slide:
    """A chart as files: with its title and subject above, and its caption and scope below."""

    def __init__(self, chart: Chart, look: Look = USUAL) -> None:
        self._name = chart.name
        self._label = f"{chart.title}: {chart.subject}" if chart.subject else chart.title
        self._width = 72 * chart.figure.get_figwidth()
        self._size = look.width
        self._scale = 72 * look.width / self._width if look.width else 1.0
        self._parts = self._titled(chart) if look.titled else [chart.figure]

    def _titled(self, chart: Chart) -> list[Figure]:
        room = self._width - 2 * _MARGIN
        above = [(fitted(chart.title, _TITLE, room), _TITLE, "ink")]
        if chart.subject:
            above.append((fitted(chart.subject, _SUBJECT, room), _SUBJECT, "muted"))
        sentence, end, _ = chart.caption.partition(". ")
        remarks = (f"{sentence}{end.strip()}", chart.scope)
        below = [line for text in remarks for line in wrapped(text, _TEXT, room)][:_LINES]
        with canvas():
            head = _block(self._width, above)
            foot = _block(self._width, [(line, _TEXT, "muted") for line in below])
        return [head, chart.figure, *([foot] if below else [])]

    def written(self, form: str) -> bytes:
        """The content of a file; equal charts give equal bytes."""
        if form == "svg":
            return free_standing(self.markup()).encode()
        if form == "pdf":
            return self.document()
        # If a size is given, per inch of the file, not of the layout.
        return self.pixels(DOTS_PER_INCH if self._size is None else _PRINTED * self._scale)

    def markup(self) -> str:
        """An SVG element in a page's colours; external text is escaped."""
        out, y = [], 0.0
        for number, part in enumerate(self._parts):
            height = 72 * part.get_figheight()
            place = f'<svg y="{y:.1f}" width="{self._width:.1f}" height="{height:.1f}"'
            out.append(_SIZE.sub(place, svg(part, f"{self._name}-{number}", ""), count=1))
            y += height
        size = f'viewBox="0 0 {self._width:.1f} {y:.1f}"'
        if self._size is not None:
            size += f' width="{self._size:.4g}in" height="{y * self._scale / 72:.4g}in"'
        head = f'<svg role="img" aria-label="{html.escape(self._label)}" {size}>'
        return f"{head}{''.join(out)}</svg>"

    def pixels(self, dots: float) -> bytes:
        """A PNG on white paper, with a resolution in dots per inch of the layout."""
        from matplotlib.image import imsave

        with canvas():
            rows = np.concatenate([_painted(part, dots) for part in self._parts])
            out = BytesIO()
            unsigned: dict[str, Any] = {"Software": None}
            imsave(out, rows, format="png", dpi=round(dots / self._scale), metadata=unsigned)
        return out.getvalue()

    def document(self) -> bytes:
        """A PDF page of the size of the picture, with its fonts and without a date."""
        from matplotlib import rc_context
        from matplotlib.backends import backend_pdf

        pdf: Any = backend_pdf  # it has no types
        out, scale = BytesIO(), self._scale
        heights = [scale * part.get_figheight() for part in self._parts]
        with canvas(), rc_context(_PDF):
            file = pdf.PdfFile(out, metadata=_UNSIGNED)
            file.newPage(scale * self._width / 72, sum(heights))
            for number, part in enumerate(self._parts, 1):
                low = 72 * sum(heights[number:])
                file.output(pdf.Op.gsave, scale, 0, 0, scale, 0, low, pdf.Op.concat_matrix)
                renderer = pdf.RendererPdf(file, 72, part.get_figheight(), part.get_figwidth())
                part.draw(renderer)
                renderer.finalize()
                file.output(pdf.Op.grestore)
            file.finalize()
            file.close()
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


def _painted(part: Figure, dots: float) -> NDArray[np.uint8]:
    """Rows of pixels: red, green, blue and opacity."""
    out = BytesIO()
    # A whole number of pixels, so that all parts are equally wide.
    width = int(part.get_figwidth() * dots)
    dots = (width + 0.01) / part.get_figwidth()
    part.savefig(out, format="rgba", dpi=dots, facecolor="white")
    return np.frombuffer(out.getvalue(), np.uint8).reshape(-1, width, 4)


# The chart itself.

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
    subject: str = ""  # what it shows if there are several of a kind: a conversation
    short: str = ""  # the subject in names of files
    scope: str = ""  # the comparison in one line, for standalone pictures
    narrow: Figure | None = field(default=None, repr=False, compare=False)  # for small screens
    # What is drawn, as a table: heads with their units, and then rows.
    values: Values = field(default=(), repr=False, compare=False)

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"{self.name!r} is not a name for a chart")
        if self.kind and self.kind not in NAMES:
            raise ValueError(f"{self.kind!r} is not among CHARTS of charts/catalogue.py: name it")

    def markup(self) -> str:
        """An SVG element in the page's colours and font; external text is escaped."""
        return svg(self.figure, self.name, self.title)

    def narrow_markup(self) -> str:
        """The SVG element for a small screen; "" without one."""
        return svg(self.narrow, f"{self.name}-narrow", self.title) if self.narrow else ""

    def save(self, folder: Path, look: Look = USUAL) -> list[Path]:
        """Write ``NAME.svg`` and the other formats, in light colours, each whole or not at all.

        Files have the title and the subject above the drawing, and the first sentence of the
        caption and the scope below, unless the look leaves them out.
        """
        slide = Slide(self, look)
        files = {folder / f"{self.name}.{form}": slide.written(form) for form in look.forms}
        for path, content in files.items():
            replace_file(path, content)
        return list(files)
