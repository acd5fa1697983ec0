"""Facts that one strategy forgot and the other did not: a check on what conversations say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from compactlab.reports.comparison import Case, Row, case_of
from compactlab.reports.statistics.detectable import effective, smallest_share
from compactlab.reports.statistics.effect import mcnemar
from compactlab.sim.run import Run

_TABLE = "facts"


@dataclass(frozen=True)
class Discordance:
    """Facts that were needed, by whether each of two strategies had forgotten them.

    Parameters
    ----------
    facts, conversations
        How many there are, and in how many conversations.
    subject, reference
        How many the subject alone had forgotten at any call that needed them, and the reference
        alone.
    p
        Of McNemar's exact test, which takes facts for independent of each other: too small where
        facts of a conversation stand or fall together.
    correlation
        How much they do: the intraclass correlation of the differences, from 0 to 1.
    detectable
        The smallest difference of shares that so many facts could have shown, that correlation
        taken into account; None where there are too few.
    """

    facts: int
    conversations: int
    subject: int
    reference: int
    p: float
    correlation: float
    detectable: float | None


def discordance(subject: Row, reference: Row) -> Discordance | None:
    """Compare two strategies fact by fact.

    Parameters
    ----------
    subject, reference
        Rows over the same cases, with their tables of facts.

    Returns
    -------
    Discordance or None
        None where no fact was needed in both, or no table of facts was stored. Of a conversation
        with several seeds the first is taken.
    """
    ours, theirs = (_first_of_each(row) for row in (subject, reference))
    differences = {}
    for conversation, run in ours.items():
        mine, yours = _missed(run), _missed(theirs[conversation])
        found = [mine[fact] - yours[fact] for fact in mine if fact in yours]
        if found:
            differences[conversation] = found
    groups = list(differences.values())
    facts = sum(map(len, groups))
    if not facts:
        return None
    worse, better = (sum(group.count(sign) for group in groups) for sign in (1, -1))
    alike = correlation(groups)
    pairs = effective(facts, len(groups), alike)
    least = smallest_share(pairs, (worse + better) / facts)
    return Discordance(
        facts, len(groups), worse, better, mcnemar(worse, better), round(alike, 9), least
    )


def correlation(groups: Sequence[Sequence[float]]) -> float:
    """The intraclass correlation of values in groups, one-way, from 0 to 1.

    The estimate by the analysis of variance (Donner 1986, International Statistical Review 54:67);
    below 0 it is taken for 0.

    Examples
    --------
    >>> correlation([[1, 1, 1], [0, 0, 0]]), correlation([[1, 0], [0, 1]])
    (1.0, 0.0)
    """
    sizes = np.array([len(group) for group in groups], np.float64)
    count, total = len(groups), sizes.sum()
    if count < 2 or total == count:
        return 0.0
    means = np.array([np.mean(group) for group in groups])
    middle = (sizes * means).sum() / total
    between = (sizes * (means - middle) ** 2).sum() / (count - 1)
    pairs = zip(groups, means, strict=True)
    within = sum(((np.array(group) - mean) ** 2).sum() for group, mean in pairs) / (total - count)
    size = (total - (sizes**2).sum() / total) / (count - 1)
    spread = between + (size - 1) * within
    return float(max(0.0, (between - within) / spread)) if spread > 0 else 0.0


def _first_of_each(row: Row) -> dict[tuple[str, str], Run]:
    found: dict[tuple[str, str], Run] = {}
    runs: dict[Case, Run] = {case_of(run): run for run in row.runs}
    for case in sorted(runs):
        found.setdefault(case[:2], runs[case])
    return found


def _missed(run: Run) -> dict[str, int]:
    """Of each fact that was needed, whether it was gone at a call that needed it."""
    table = run.rows.get(_TABLE)
    if not table:
        return {}
    columns = (table[name] for name in ("fact", "needs", "first_missed"))
    return {
        fact: int(missed > 0) for fact, needs, missed in zip(*columns, strict=True) if needs > 0
    }
