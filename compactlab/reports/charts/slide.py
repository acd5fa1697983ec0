"""A drawing as a picture of its own: its title above, and below what it shows."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from compactlab.reports.charts.drawing import canvas, figure, in_points, svg, width_of
from compactlab.reports.charts.palette import light
from compactlab.reports.text import shorten

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARGIN, _TITLE, _TEXT, _LINE = 8.0, 13.0, 7.5, 1.45
# Enough for a sentence and for what was compared; what is longer is cut off.
_LINES = 5
_SIZE = re.compile(r'<svg role="img" aria-label="[^"]*"')

Line = tuple[str, float, str]
"""Text, size in points, and name of the colour."""


class Slide:
    """A drawing between its title and its caption.

    Parameters
    ----------
    drawn
        The drawing.
    name
        Ids within begin with it.
    title, subject
        What stands above: plain text, the second may be "".
    told
        What stands below: sentences, each of which begins a line.
    """

    def __init__(
        self, drawn: Figure, name: str, title: str, subject: str, told: Sequence[str]
    ) -> None:
        width = 72 * drawn.get_figwidth()
        room = width - 2 * _MARGIN
        above: list[Line] = [(fitted(title, _TITLE, room), _TITLE, "ink")]
        if subject:
            above.append((fitted(subject, 9.0, room), 9.0, "muted"))
        below = [line for text in told for line in wrapped(text, _TEXT, room)][:_LINES]
        with canvas():
            head = _block(width, above)
            foot = _block(width, [(line, _TEXT, "muted") for line in below])
        self._name, self._title = name, f"{title}: {subject}" if subject else title
        self._parts = [head, drawn, *([foot] if below else [])]

    def markup(self) -> str:
        """An SVG element, in the colours of a page; foreign text is escaped."""
        out, y = [], 0.0
        width = 72 * self._parts[0].get_figwidth()
        for number, part in enumerate(self._parts):
            height = 72 * part.get_figheight()
            with canvas():
                text = svg(part, f"{self._name}-{number}", "")
            place = f'<svg y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
            out.append(_SIZE.sub(place, text, count=1))
            y += height
        label = html.escape(self._title)
        head = f'<svg role="img" aria-label="{label}" viewBox="0 0 {width:.1f} {y:.1f}">'
        return f"{head}{''.join(out)}</svg>"

    def pixels(self, dots: int) -> bytes:
        """A PNG on white paper, the same bytes each time.

        Parameters
        ----------
        dots
            So many an inch.
        """
        from matplotlib.image import imsave

        with canvas():
            rows = np.concatenate([_painted(part, dots) for part in self._parts])
            out = BytesIO()
            unsigned: dict[str, Any] = {"Software": None}
            imsave(out, rows, format="png", dpi=dots, metadata=unsigned)
        return out.getvalue()


def fitted(text: str, size: float, room: float) -> str:
    """A text without its middle, if it is wider than there is room for, in points."""
    shown = text
    while len(shown) > 12 and width_of(shown, size) > room:
        shown = shorten(text, min(len(shown) - 1, int(len(shown) * 0.95)))
    return shown


def wrapped(text: str, size: float, room: float) -> list[str]:
    """The lines of a text, none of them wider than there is room for, in points."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width_of(longer, size) <= room:
            lines[-1] = longer
        else:
            lines.append(fitted(word, size, room))
    return lines


def _block(width: float, lines: Sequence[Line]) -> Figure:
    height = _MARGIN + sum(size * _LINE for _, size, _ in lines)
    drawn = figure(width / 72, height / 72)
    y = height - _MARGIN / 2
    for text, size, colour in lines:
        y -= size * _LINE
        drawn.text(
            _MARGIN, y + 0.3 * size, text, transform=in_points(drawn), fontsize=size,
            va="baseline", ha="left", color=light(colour),
        )  # fmt: skip
    return drawn


def _painted(part: Figure, dots: int) -> NDArray[np.uint8]:
    """Rows of dots, each of red, green, blue and opacity."""
    out = BytesIO()
    part.savefig(out, format="rgba", dpi=dots, facecolor="white")
    width, height = (int(inches * dots) for inches in part.get_size_inches())
    return np.frombuffer(out.getvalue(), np.uint8).reshape(height, width, 4)
