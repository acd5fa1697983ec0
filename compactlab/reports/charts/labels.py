"""Short names of strategies that can still be told apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from compactlab.reports.text import shorten

_CUT = "…"
# A name, an argument, or what stands between them.
_PIECE = re.compile(r"[(,+] ?|[^(,+]+")
_PUNCTUATION = "(,+) "


def told_apart(names: Sequence[str], size: int) -> list[str]:
    """Shorten names that are too long, first by what they have in common.

    Parameters
    ----------
    names
        Names of strategies, with their fields.
    size
        Characters that there is room for, at least 12.

    Returns
    -------
    list of str
        In the same order. Names that differ stay different; what had room is as it was.

    Examples
    --------
    >>> told_apart(["window(keep=20, turns=5)", "window(keep=9, turns=5)"], 20)
    ['window(keep=20, …)', 'window(keep=9, …)']
    >>> told_apart(["sliding_window", "a_strategy_with_a_very_long_name"], 20)
    ['sliding_window', 'a_strategy…long_name']
    """
    families: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        if len(name) > size:
            families.setdefault(name.partition("(")[0], []).append(name)
    cut = {name: name for name in names}
    for family in families.values():
        cut.update({name: shorten(_without(name, family), size) for name in family})
    found = _numbered(cut, size)
    return [found[name] for name in names]


def _without(name: str, family: Sequence[str]) -> str:
    """A name without the arguments that all of a family have."""
    common = set.intersection(*(set(_PIECE.findall(each)) for each in family))
    if len(family) == 1:
        return name
    first, *rest = _PIECE.findall(name)
    kept = [piece if _says(piece, common) else _CUT for piece in rest]
    text = first + "".join(kept)
    text = re.sub(rf"{_CUT}(?:[,+] ?{_CUT})*", _CUT, text)
    return text if text.endswith(")") or not name.endswith(")") else f"{text})"


def _says(piece: str, common: set[str]) -> bool:
    return piece not in common or not piece.strip(_PUNCTUATION)


def _numbered(cut: dict[str, str], size: int) -> dict[str, str]:
    """Names that have become alike, with a number behind them."""
    times = Counter(cut.values())
    taken = {text for text, number in times.items() if number == 1}
    found: dict[str, str] = {}
    for name, text in cut.items():
        told, number = text, 1
        while times[text] > 1 and (told := _with(text, number, size)) in taken:
            number += 1
        taken.add(told)
        found[name] = told
    return found


def _with(text: str, number: int, size: int) -> str:
    mark = f" #{number}"
    return shorten(text, size - len(mark)) + mark
