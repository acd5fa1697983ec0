"""How a long text begins and ends."""

from __future__ import annotations

from collections.abc import Iterable
from string import ascii_letters, digits

from compactlab.sim.message import Part

GAP = " … "
# What a key, a path or an address may be made of.
_SIGNS = f"{ascii_letters}{digits}!#$%&*+-./:=?@\\^_`~"


def ends(text: str, head: int, tail: int) -> str:
    """The beginning and the end of a text, if it is longer than both.

    Words are not cut, so that nobody sees half of a key whose other half would tell what it is.

    Parameters
    ----------
    text
        The text.
    head, tail
        Characters that may be left of its beginning and of its end.

    Examples
    --------
    >>> ends("the key is sk-ant-0123456789 and the rest is prose", 20, 10)
    'the key is … is prose'
    """
    if len(text) <= head + tail + len(GAP):
        return text
    first, last = text[:head], text[len(text) - tail :]
    if text[head] in _SIGNS:
        first = first.rstrip(_SIGNS)
    if text[len(text) - tail - 1] in _SIGNS:
        last = last.lstrip(_SIGNS)
    return f"{first.rstrip()}{GAP}{last.lstrip()}".strip()


def excerpt(parts: Iterable[Part], head: int, tail: int) -> str:
    r"""The beginning and the end of what parts say, white space put together.

    Examples
    --------
    >>> from compactlab.sim.message import verbatim
    >>> excerpt([verbatim("m", "text", "one  two"), verbatim("m", "text", "three\n  four")], 8, 5)
    'one two … four'
    """
    # Of ten million characters only those are looked at that may be shown.
    room = 4 * (head + tail)
    texts = [part.text for part in parts if part.text]
    near = (t if len(t) <= 2 * room else f"{t[:room]}{t[-room:]}" for t in texts)
    return ends(" ".join(" ".join(near).split()), head, tail)
