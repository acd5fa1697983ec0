"""Names that come from outside, as they are told: short, and harmless."""

from __future__ import annotations

from compactlab.reports.text import clean, enumerated, shorten

_LONGEST = 80
_NAMED = 3


def brief(name: str) -> str:
    r"""A name that is no longer than helps, without anything that is not seen.

    Examples
    --------
    >>> len(brief("a" * 1_000)), brief("a\nb")
    (80, 'a b')
    """
    return clean(shorten(name, _LONGEST))


def some(names: list[str]) -> str:
    """The first names of a list, and how many more there are."""
    return enumerated([*map(brief, names[:_NAMED]), *names[_NAMED:]], _NAMED)
