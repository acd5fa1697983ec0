"""Texts as the originals see them: in UTF-16 code units."""

from __future__ import annotations

import re

# What JavaScript takes for white space; Python's own list is another one.
BLANKS = "\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)
_LONE = re.compile("[\ud800-\udfff]")


def head(text: str, units: int) -> str:
    r"""The first so many code units of a text; half of a pair may be left at the end.

    Examples
    --------
    >>> head("hello", 2), head("a\N{ROCKET}", 2)
    ('he', 'a\ud83d')
    """
    begins = text[: max(units, 0)]
    if begins.isascii():
        return begins
    cut = begins.encode("utf-16-le", "surrogatepass")[: 2 * units]
    return cut.decode("utf-16-le", "surrogatepass")


def whole(text: str) -> str:
    r"""A text without halves of pairs: pi takes them out of everything that it sends.

    Examples
    --------
    >>> whole("a\ud83d...")
    'a...'
    """
    return text if text.isascii() else _LONE.sub("", text)
