"""What failed, an entry an error: a fault that has many runs is told once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compactlab.reports.notes import Failure
from compactlab.reports.text import enumerated

# So many conversations and strategies are named of each; the JSON and the CSV have all.
_NAMED = 20


@dataclass(frozen=True)
class Fault:
    """An error, how many runs it ended under a model, and which.

    Parameters
    ----------
    error, model
        What went wrong, and under which model.
    runs
        How many runs.
    conversations, strategies
        Which, in words.
    """

    error: str
    model: str
    runs: int
    conversations: str
    strategies: str


def faults(failures: Sequence[Failure]) -> list[Fault]:
    """Put the runs that failed together, those of an error in one entry.

    Examples
    --------
    >>> [found] = faults([Failure("a", "x", "m", "no"), Failure("b", "x", "m", "no")])
    >>> found.runs, found.conversations, found.strategies
    (2, 'a and b', 'x')
    """
    groups: dict[tuple[str, str], list[Failure]] = {}
    for each in failures:
        groups.setdefault((each.error, each.model), []).append(each)
    return [
        Fault(
            error,
            model,
            len(group),
            enumerated(list(dict.fromkeys(each.conversation for each in group)), _NAMED),
            enumerated(list(dict.fromkeys(each.strategy for each in group)), _NAMED),
        )
        for (error, model), group in groups.items()
    ]
