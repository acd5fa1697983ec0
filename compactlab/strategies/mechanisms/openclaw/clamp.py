"""How much of what was found in memory is shown."""

from __future__ import annotations

from collections.abc import Sequence

from compactlab.sim.tokens import utf16_length
from compactlab.strategies.mechanisms.units import head


def clamp(snippets: Sequence[str], budget: float | None) -> list[str]:
    r"""Keep the first snippets that fit a budget of characters, as OpenClaw does (2026.2.17).

    The first that does not fit is cut, and is the last. Empty ones cost nothing, but pass only
    while something of the budget is left. The cut may go through a pair of code units.

    Parameters
    ----------
    snippets
        What was found, best first.
    budget
        UTF-16 code units that may be shown; None, 0, less than that, and NaN are no limit.

    Returns
    -------
    list of str
        The snippets that are shown: the first so many, the last of them perhaps shortened.

    Examples
    --------
    >>> clamp(["abc", "defg", "h"], 5), clamp(["abc"], 0)
    (['abc', 'de'], ['abc'])
    """
    if budget is None or not budget > 0:
        return list(snippets)
    kept: list[str] = []
    for snippet in snippets:
        if budget <= 0:
            break
        length = utf16_length(snippet)
        if length > budget:
            kept.append(head(snippet, int(budget)))
            break
        kept.append(snippet)
        budget -= length
    return kept
