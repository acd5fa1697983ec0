"""Pieces of texts as JavaScript cuts them: by UTF-16 code units."""

from __future__ import annotations

import re

# What JavaScript's \s matches and its trim takes off.
SPACE = "\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_ENDS = re.compile(f"^[{SPACE}]+|[{SPACE}]+$")
_RUN = re.compile(f"[{SPACE}]+")


def first_units(text: str, count: int) -> str:
    """The beginning of a text; it may end in half of a pair of surrogates.

    Examples
    --------
    >>> first_units("abc", 2), len(first_units("a\N{ROCKET}", 2))
    ('ab', 2)
    """
    if text.isascii():
        return text[: max(count, 0)]
    units = text.encode("utf-16-le", "surrogatepass")[: 2 * max(count, 0)]
    return units.decode("utf-16-le", "surrogatepass")


def trimmed(text: str) -> str:
    """A text without white space around it."""
    return _ENDS.sub("", text)


def collapsed(text: str) -> str:
    """A text in which every run of white space is one blank, and none around it."""
    return trimmed(_RUN.sub(" ", text))
