"""Accessible colours and patterns, and drawings as SVG in a page's colours."""

from __future__ import annotations

import html
import math
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from io import StringIO
from typing import TYPE_CHECKING

from compactlab.reports.analysis.comparison import NULLS, Comparison, comparisons
from compactlab.reports.charts.palette import COLOURS, HUES, light
from compactlab.reports.render.text import clean
from compactlab.sim.store.results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.transforms import Transform

Point = tuple[float, float]
Box = tuple[float, float, float, float]
"""Left, bottom, right and top."""


# Charts are drawn in light colours; a page replaces each by a CSS variable.

_OWN = {"as_recorded": "ink", "keep_all": "slate"}


def strategy_colours(
    results: Results, compared: Sequence[Comparison] | None = None
) -> dict[str, str]:
    """The colour name of each spec: the same in all charts, without shared hues.

    ``as_recorded`` and ``keep_all`` have their own colours. All other strategies except controls
    have hues if there are enough; otherwise only those on the Pareto fronts, and the rest is grey.
    """
    # Runs first: the order of a manifest changes when it is stored.
    run = [run.strategy for run in results.runs if run.strategy]
    beside = [run.strategy for run in results.bounds]
    specs = dict.fromkeys([*run, *results.manifest.get("strategies", ()), *beside])
    colours = {spec: _OWN[name] for spec in specs if (name := _name(spec)) in _OWN}
    future = results.manifest.get("sees_future", ())
    bounds = {spec for spec in specs if _name(spec) in NULLS or spec in future}
    candidates = [spec for spec in specs if spec not in colours and spec not in bounds]
    if len(candidates) > len(HUES):
        front = _on_front(comparisons(results) if compared is None else compared)
        own = [spec for spec in own_specs(results) if spec in candidates][: len(HUES)]
        others = [spec for spec in front if spec not in own]
        candidates = [*own, *_spread(others, len(HUES) - len(own))]
    colours |= zip(candidates, HUES, strict=False)
    return {spec: colours.get(spec, "grey") for spec in specs}


def _on_front(compared: Sequence[Comparison]) -> list[str]:
    """The specs on a front, those of most fronts first, then by cost."""
    times = Counter(row.spec for comparison in compared for row in comparison.front)
    # Ties keep their order.
    return [spec for spec, _ in times.most_common()]


def own_specs(results: Results) -> list[str]:
    """The specs of strategies that are plug-ins or the user's own."""
    own: list[str] = results.manifest.get("own_strategies", [])
    return own


def _spread(specs: list[str], most: int) -> list[str]:
    """At most ``most`` specs, evenly spread."""
    if len(specs) <= most or most < 2:
        return specs[:most]
    return [specs[round(n * (len(specs) - 1) / (most - 1))] for n in range(most)]


def _name(spec: str) -> str:
    return "" if " + " in spec else spec.partition("(")[0]


# Reduce matplotlib's SVG, and apply the colours and the font of a page.

_DROPPED = re.compile(
    r"<!--.*?-->|<metadata>.*?</metadata>|<style.*?</style>|<g/>|<defs>\s*</defs>", re.DOTALL
)
# No text or attribute contains a bare angle bracket, so this matches only tags.
_TAG = re.compile(r"<[^>]+>")
_SPACE = re.compile(r"(?<=>)\s+(?=<)")
_SURPLUS = re.compile(
    r' xmlns(?::\w+)?="[^"]*"|(?<=<g) id="[^"]*"| transform="rotate\(-0 [^)]*\)"'
    r"|; stroke-linejoin: miter|; stroke-linecap: butt"
)
_NUMBERS = re.compile(r'(?<= )(?:x|y|points|transform|width|height)="[^"]*"')
_LONG = re.compile(r"-?\d+\.\d\d+|-?\d+e-\d+")
_PATH = re.compile(r'(?<= d=")[^"]*')
_POINT = re.compile(r"([MLz])(?: ([-.\de]+) ([-.\de]+))?")
_FONT = re.compile(r"font-family: [^;\"]*;? ?|font: ([\d.]+px) [^;\"]*")


# Separates the lines of a tooltip: no text or attribute contains it.
_BREAK = "\N{LINE SEPARATOR}"
_CLASS, _TIP = "class:", "tip:"
_CLASSED = re.compile(rf'<g id="{_CLASS}(\w+)"')
_TIPPED = re.compile(rf'<g id="{_TIP}([0-9a-f]*)">\s*<path d="([^"]*)"[^>]*/>\s*</g>')


def tidied(text: str) -> str:
    """An SVG element reduced to what a page needs, with colour names."""
    text = _CLASSED.sub(r'<g class="\1"', _TIPPED.sub(_with_title, text))
    return _SPACE.sub("", _ungrouped(_TAG.sub(_of_tag, _DROPPED.sub("", text)))).strip()


def _with_title(tip: re.Match[str]) -> str:
    """An area with a tooltip; without a script it is a title, which browsers show."""
    look = 'class="tip" fill="none" pointer-events="all"'
    text = html.escape(bytes.fromhex(tip[1]).decode())
    return f'<path {look} d="{tip[2]}"><title>{text}</title></path>'


def _ungrouped(text: str) -> str:
    """The SVG without groups that have no attributes."""
    bare: list[bool] = []  # for each open group, whether it has no attributes

    def without(tag: re.Match[str]) -> str:
        if tag[0] == "</g>":
            return "" if bare.pop() else tag[0]
        if tag[0].startswith(("<g ", "<g>")):
            bare.append(tag[0] == "<g>")
        return "" if tag[0] == "<g>" else tag[0]

    return _TAG.sub(without, text)


def _of_tag(tag: re.Match[str]) -> str:
    text = _SURPLUS.sub("", tag[0]).replace(" xlink:href=", " href=")
    text = _PATH.sub(lambda path: _steps(path[0]), text)
    text = _NUMBERS.sub(lambda numbers: _LONG.sub(_rounded, numbers[0]), text)
    text = _FONT.sub(lambda font: f"font-size: {font[1]}" if font[1] else "", text)
    for colour, (hexadecimal, _) in COLOURS.items():
        text = text.replace(f": {hexadecimal}", f": var(--{colour})")
        text = text.replace(f' fill="{hexadecimal}"', f' style="fill: var(--{colour})"')
    return text


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.1f}".removesuffix(".0")


def _steps(path: str) -> str:
    """A path of straight lines as relative steps in tenths.

    Each point is rounded separately, so that errors do not add up.

    Examples
    --------
    >>> _steps("M 0 1.04 L 10 1.04 L 10 3.5 L 12 4 z")
    'M0 1h10v2.5l2 .5z'
    """
    words = path.split()
    if not {"M", "L", "z"}.issuperset(word for word in words if word.isalpha()):
        return _LONG.sub(_rounded, " ".join(words))
    out: list[str] = []
    at = (0, 0)
    for letter, x, y in _POINT.findall(" ".join(words)):
        if letter == "z":
            out.append("z")
            continue
        to = round(10 * float(x)), round(10 * float(y))
        out.append(f"M{_pair(*to)}" if letter == "M" else _step(to[0] - at[0], to[1] - at[1]))
        at = to
    return "".join(out)


def _step(x: int, y: int) -> str:
    if not y:
        return f"h{_tenths(x)}" if x else ""
    return f"l{_pair(x, y)}" if x else f"v{_tenths(y)}"


def _pair(x: int, y: int) -> str:
    second = _tenths(y)
    return f"{_tenths(x)}{'' if second.startswith('-') else ' '}{second}"


def _tenths(value: int) -> str:
    whole, tenth = divmod(abs(value), 10)
    text = f"{whole or ''}.{tenth}" if tenth else f"{whole}"
    return f"-{text}" if value < 0 else text


# From matplotlib to inline SVG: small, without scripts, in the page's colours.

_STYLE = {
    "svg.fonttype": "none",  # text stays text: searchable, and in the page's font
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
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
}

_VARIABLE = re.compile(r"var\(--(\w+)\)")
# External text in labels may equal a colour's name, so only styles are replaced.
_STYLED = re.compile(r'(?<= style=")[^"]*')
# Text is measured in the first; each system has one of them.
_FONTS = "DejaVu Sans, Verdana, Arial, Helvetica, sans-serif"
_HEAD = f'<svg xmlns="http://www.w3.org/2000/svg" font-family="{_FONTS}" '
_PAPER = f'<rect width="100%" height="100%" fill="{light("paper")}"/>'


@contextmanager
def canvas() -> Iterator[None]:
    """Draw with our settings, independent of the machine's matplotlib configuration."""
    with settings(), warnings.catch_warnings():
        # The page's fonts have characters that matplotlib's lack, so its warning is irrelevant.
        warnings.simplefilter("ignore")
        yield


@contextmanager
def settings() -> Iterator[None]:
    """Put our settings in force; where they are already, they stay.

    To set them takes as long as a small chart: so a page sets them once for all of its charts.
    """
    from matplotlib import rc_context, style

    if _in_force.get():
        yield
        return
    before = _in_force.set(True)
    try:
        with rc_context():
            style.use(["default", _STYLE])
            yield
    finally:
        _in_force.reset(before)


_in_force: ContextVar[bool] = ContextVar("_in_force", default=False)


def figure(width: float, height: float) -> Figure:
    """An empty figure of a size in inches, without shared state."""
    from matplotlib.figure import Figure

    # At 72 dots per inch, a pixel is a point, the unit of the SVG.
    return Figure(figsize=(width, height), dpi=72, facecolor="none")


def in_points(drawn: Figure) -> Transform:
    """The transform from points from a figure's lower left corner."""
    from matplotlib.transforms import Affine2D

    return Affine2D().scale(1 / 72) + drawn.dpi_scale_trans


def classed(name: str) -> str:
    """The id of an artist, which becomes the class of its group on a page."""
    return f"{_CLASS}{name}"


def tip(drawn: Figure, box: Box, *lines: str) -> None:
    """Add a tooltip to an area of a figure, in points."""
    from matplotlib.patches import Rectangle

    left, low, right, high = box
    place = Rectangle((left, low), right - left, high - low, transform=in_points(drawn))
    # Hex digits are valid in every quoted attribute.
    text = _BREAK.join(map(clean, lines)).encode().hex()
    place.set(facecolor="none", edgecolor="none", gid=_TIP + text)
    drawn.add_artist(place)


@cache
def width_of(text: str, size: float) -> float:
    """The width of a text in points, in the charts' font."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family="DejaVu Sans", size=size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as in :func:`canvas`
        return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0])


def svg(drawn: Figure, name: str, description: str) -> str:
    """A figure as an element of a page; its ids derive from its name, and texts are escaped."""
    from matplotlib import rc_context

    out = StringIO()
    with canvas(), rc_context({"svg.hashsalt": name}):
        drawn.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = tidied(text[text.index("<svg") :])
    head = f'<svg role="img" aria-label="{html.escape(description)}"'
    return re.sub(r'<svg(?: (?:width|height)="[^"]*")*', lambda _: head, text, count=1)


def free_standing(markup: str) -> str:
    """Convert an element of a page to a file, with namespace, fonts, light colours and paper."""
    text = _TAG.sub(lambda tag: _STYLED.sub(_in_light, tag[0]), markup)
    head, rest = text.replace("<svg ", _HEAD, 1).split(">", 1)
    return f"{head}>{_PAPER}{rest}\n"


def _in_light(style: re.Match[str]) -> str:
    return _VARIABLE.sub(lambda variable: light(variable[1]), style[0])


# Stripes and dots, drawn as lines.
# Browsers print an SVG pattern as an image wherever it is used; lines stay lines.

_APART, _STRIPE = 5.0, 1.4
_DOT, _LINES = 1.5, 3.6


def draw_pattern(drawn: Figure, boxes: Sequence[Box], pattern: str) -> None:
    """Draw a pattern over filled boxes, in points of the figure."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    ways = {"striped": stripes, "dotted": rows_of_dots}
    lines = [line for box in boxes for line in ways[pattern](box)] if pattern else []
    if not lines:
        return
    path = Path(
        [point for line in lines for point in line], [Path.MOVETO, Path.LINETO] * len(lines)
    )
    path.should_simplify = False
    shape = PathPatch(path, transform=in_points(drawn), facecolor="none", edgecolor=light("paper"))
    shape.set(linewidth=_STRIPE if pattern == "striped" else _DOT, zorder=2)
    if pattern == "dotted":
        shape.set_linestyle((0, (1, _APART / _DOT - 1)))
    drawn.add_artist(shape)


def stripes(box: Box) -> Iterator[tuple[Point, Point]]:
    """Diagonal lines that rise to the right through a box, clipped to it.

    Examples
    --------
    >>> list(stripes((0, 0, 10, 4)))
    [((0.0, 0.0), (4.0, 4.0)), ((5.0, 0.0), (9.0, 4.0))]
    """
    left, low, right, high = box
    first = math.ceil((left - (high - low)) / _APART)
    for number in range(first, math.ceil(right / _APART)):
        foot = number * _APART
        start, end = max(foot, left), min(foot + high - low, right)
        if end - start > 1e-6:
            yield (start, low + start - foot), (end, low + end - foot)


def rows_of_dots(box: Box) -> Iterator[tuple[Point, Point]]:
    """Horizontal lines across a box, to be drawn as rows of dots.

    Examples
    --------
    >>> list(rows_of_dots((0, 0, 10, 4)))
    [((1.5, 2.0), (8.5, 2.0))]
    """
    left, low, right, high = box
    count = int((high - low) // _LINES) or 1
    if right - left < 3 * _DOT:
        return
    for number in range(count):
        y = low + (high - low) * (number + 0.5) / count
        shift = _APART / 2 * (number % 2)
        if left + _DOT + shift < right - _DOT:
            yield (left + _DOT + shift, y), (right - _DOT, y)
