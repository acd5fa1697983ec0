"""Texts as the originals see them: in UTF-16 code units."""

from __future__ import annotations

import re

# What JavaScript takes for white space; Python's own list is another one.
BLANKS = "\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)
_BLANK_RUN = re.compile(f"[{BLANKS}]+")
# Where Python and JavaScript do not agree on what a blank is.
_DISPUTED = "\x1c\x1d\x1e\x1f\x85\ufeff"
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


def collapsed(text: str, words: int = -1) -> str:
    r"""A text with one blank for every run of blanks, and none around it.

    Parameters
    ----------
    text
        The text.
    words
        How many words are wanted, if not all; of a long text the rest is not looked at.

    Examples
    --------
    >>> collapsed("  a\n b "), collapsed("a b c d", words=2)
    ('a b', 'a b')
    """
    if any(map(text.__contains__, _DISPUTED)):
        text = _BLANK_RUN.sub(" ", text).strip(" ")
        return text if words < 0 else " ".join(text.split(" ", words)[:words])
    found = text.split(None, words)
    return " ".join(found if words < 0 else found[:words])


def whole(text: str) -> str:
    r"""A text without halves of pairs: pi takes them out of everything that it sends.

    Examples
    --------
    >>> whole("a\ud83d...")
    'a...'
    """
    return text if text.isascii() else _LONE.sub("", text)
