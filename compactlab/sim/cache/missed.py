"""What a request would have read but for this and that: causes in the order of the prompt."""

from __future__ import annotations

from operator import itemgetter

_UPTO = itemgetter(1)


def ascending(read: int, *causes: tuple[str, int]) -> tuple[tuple[str, int], ...]:
    """Those causes that reach beyond what was read, and beyond one another.

    Parameters
    ----------
    read
        Tokens that were read.
    causes
        Pairs of a cause and the tokens up to where the prompt would have been read but for it; of
        two that reach as far the first counts.

    Examples
    --------
    >>> ascending(10, ("grid", 40), ("ttl_expired", 30), ("eviction", 10), ("ttl_expired", 20))
    (('ttl_expired', 30), ('grid', 40))
    """
    missed: list[tuple[str, int]] = []
    for cause, upto in sorted(causes, key=_UPTO):
        if upto > read:
            if missed and missed[-1][0] == cause:
                missed.pop()
            missed.append((cause, upto))
            read = upto
    return tuple(missed)
