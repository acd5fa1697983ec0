"""What matplotlib writes as SVG made small, and put into the colours and the font of a page."""

from __future__ import annotations

import re

from compactlab.reports.charts.palette import COLOURS

_DROPPED = re.compile(
    r"<!--.*?-->|<metadata>.*?</metadata>|<style.*?</style>|<g/>|<defs>\s*</defs>", re.DOTALL
)
# No text and no attribute holds a bare angle bracket, so this finds tags and nothing else.
_TAG = re.compile(r"<[^>]+>")
_SPACE = re.compile(r"(?<=>)\s+(?=<)")
_SURPLUS = re.compile(
    r' xmlns(?::\w+)?="[^"]*"|(?<=<g) id="[^"]*"| transform="rotate\(-0 [^)]*\)"'
    r"|; stroke-linejoin: miter|; stroke-linecap: butt"
)
_NUMBERS = re.compile(r'(?<= )(?:x|y|points|transform|width|height)="[^"]*"')
_LONG = re.compile(r"-?\d+\.\d\d+|-?\d+e-\d+")
_PATH = re.compile(r'(?<= d=")[^"]*')
_FONT = re.compile(r"font-family: [^;\"]*;? ?|font: ([\d.]+px) [^;\"]*")
# Dots, of which matplotlib draws each on a large tile: a small one will do.
_DOTS = re.compile(
    r'(<pattern id="\w+" patternUnits="userSpaceOnUse" )[^>]*>\s*<rect [^>]*fill="([^"]*)"/>\s*'
    r'<path d="[^"]*C[^"]*" style="(fill: [^;"]*)[^>]*>'
)
_TILE = (
    r'\1x="0" y="0" width="4" height="4"><rect width="4" height="4" fill="\2"/>'
    r'<circle cx="2" cy="2" r="0.9" style="\3"/>'
)


def tidied(text: str) -> str:
    """An SVG element without what a page does not need, its colours as names."""
    text = _DOTS.sub(_TILE, _DROPPED.sub("", text))
    return _SPACE.sub("", _ungrouped(_TAG.sub(_of_tag, text))).strip()


def _ungrouped(text: str) -> str:
    """The same without groups that say nothing of what is in them."""
    out: list[str] = []
    said: list[bool] = []
    end = 0
    for tag in _TAG.finditer(text):
        out.append(text[end : tag.start()])
        end = tag.end()
        if tag[0].startswith("<g") and tag[0][2] in " >":
            said.append(tag[0] != "<g>")
            out.append(tag[0] if said[-1] else "")
        elif tag[0] == "</g>":
            out.append(tag[0] if said.pop() else "")
        else:
            out.append(tag[0])
    return "".join([*out, text[end:]])


def _of_tag(tag: re.Match[str]) -> str:
    text = _SURPLUS.sub("", tag[0]).replace(" xlink:href=", " href=")
    text = _PATH.sub(lambda found: _steps(found[0]), text)
    text = _NUMBERS.sub(lambda found: _LONG.sub(_rounded, found[0]), text)
    text = _FONT.sub(lambda found: f"font-size: {found[1]}" if found[1] else "", text)
    for colour, (hexadecimal, _) in COLOURS.items():
        text = text.replace(f": {hexadecimal}", f": var(--{colour})")
        text = text.replace(f' fill="{hexadecimal}"', f' style="fill: var(--{colour})"')
    return text


def _rounded(found: re.Match[str]) -> str:
    return f"{float(found[0]):.1f}".removesuffix(".0")


def _steps(path: str) -> str:
    """A path of straight lines, in steps of tenths from each point to the next.

    Each point is rounded by itself, so that nothing adds up.

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
    place = 0
    while place < len(words):
        letter = words[place]
        if letter == "z":
            out.append("z")
            place += 1
            continue
        to = round(10 * float(words[place + 1])), round(10 * float(words[place + 2]))
        out.append(f"M{_pair(*to)}" if letter == "M" else _step(to[0] - at[0], to[1] - at[1]))
        at = to
        place += 3
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
