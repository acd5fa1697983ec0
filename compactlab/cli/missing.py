"""What is said where nothing was found."""

from __future__ import annotations

from collections.abc import Iterable

from compactlab.reports.text import counted, listed


def nothing_found(names: Iterable[object], skipped: int) -> str:
    """Say where no transcript was found, and what was there instead.

    Parameters
    ----------
    names
        Where it was looked.
    skipped
        How many files there are of no known format.

    Examples
    --------
    >>> nothing_found(["sessions", "more"], 2)
    'no transcript was found in sessions and more, only 2 files of no known format'
    """
    told = f"no transcript was found in {listed(list(map(str, names)))}"
    return f"{told}, only {counted(skipped, 'file')} of no known format" if skipped else told
