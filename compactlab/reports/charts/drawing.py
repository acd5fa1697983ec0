"""From matplotlib to SVG that can stand inside a page: small, without scripts, in its colours."""

from __future__ import annotations

import html
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from io import StringIO
from typing import TYPE_CHECKING

from compactlab.reports.charts.markup import tidied
from compactlab.reports.charts.palette import light

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.transforms import Transform

_STYLE = {
    "svg.fonttype": "none",  # text stays text: it can be searched, and takes the page's font
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    "text.usetex": False,
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "text.color": light("ink"),
    "axes.labelcolor": light("muted"),
    "axes.edgecolor": light("grid"),
    "axes.facecolor": "none",
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": light("grid"),
    "grid.linewidth": 0.6,
    "xtick.color": light("grid"),
    "ytick.color": light("grid"),
    "xtick.labelcolor": light("muted"),
    "ytick.labelcolor": light("muted"),
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "hatch.linewidth": 1.5,
}

_VARIABLE = re.compile(r"var\(--(\w+)\)")
# Foreign text, between tags and in labels, may look like a colour's name: it is none.
_TAG = re.compile(r"<[^>]+>")
_STYLED = re.compile(r'(?<= style=")[^"]*')
# The first of these is what letters were measured in; each system has one of them.
_FONTS = "DejaVu Sans, Verdana, Arial, Helvetica, sans-serif"
_HEAD = f'<svg xmlns="http://www.w3.org/2000/svg" font-family="{_FONTS}" '
_PAPER = f'<rect width="100%" height="100%" fill="{light("paper")}"/>'


@contextmanager
def canvas() -> Iterator[None]:
    """Draw by our rules, whatever matplotlib is told on this machine."""
    from matplotlib import rc_context, style

    with warnings.catch_warnings(), rc_context():
        # The page's fonts have signs that matplotlib's own lacks: no news for anybody.
        warnings.simplefilter("ignore")
        style.use(["default", _STYLE])
        yield


def figure(width: float, height: float) -> Figure:
    """An empty figure of a size in inches; nothing is shared with others or kept."""
    from matplotlib.figure import Figure

    # At 72 dots an inch, a pixel is a point: what SVG counts in as well.
    return Figure(figsize=(width, height), dpi=72, facecolor="none")


def in_points(drawn: Figure) -> Transform:
    """Places in a figure in points from its lower left corner, whatever it is drawn on."""
    from matplotlib.transforms import Affine2D

    return Affine2D().scale(1 / 72) + drawn.dpi_scale_trans


@cache
def width_of(text: str, size: float) -> float:
    """How wide a text is, in points, in the font that charts are drawn in."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family="DejaVu Sans", size=size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as on the canvas
        return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0])


def svg(drawn: Figure, name: str, description: str) -> str:
    """Write a figure as an element of a page.

    Parameters
    ----------
    drawn
        The figure.
    name
        Unique in the page: ids within the drawing begin with it.
    description
        What it shows, for those who do not see it.

    Returns
    -------
    str
        Markup: whatever text stands in the figure is escaped.
    """
    from matplotlib import rc_context

    out = StringIO()
    with rc_context({"svg.hashsalt": name}):
        drawn.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = tidied(text[text.index("<svg") :])
    head = f'<svg role="img" aria-label="{html.escape(description)}"'
    return re.sub(r'<svg(?: (?:width|height)="[^"]*")*', lambda _: head, text, count=1)


def free_standing(markup: str) -> str:
    """Make an element of a page a file: with its name space, fonts, light colours and paper."""
    text = _TAG.sub(lambda tag: _STYLED.sub(_in_light, tag[0]), markup)
    head, rest = text.replace("<svg ", _HEAD, 1).split(">", 1)
    return f"{head}>{_PAPER}{rest}\n"


def _in_light(style: re.Match[str]) -> str:
    return _VARIABLE.sub(lambda found: light(found[1]), style[0])
