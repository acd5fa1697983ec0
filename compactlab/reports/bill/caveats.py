"""Caveats of a recorded bill: what it lacks, and what it estimates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from compactlab.reports.bill.spent import Spending, Spent
from compactlab.reports.render.document import name
from compactlab.reports.render.text import counted, dollars, enumerated, listed
from compactlab.sim.core.conversation import PassedOver

_KINDS = 5  # how many kinds of skipped records are named

# What was skipped and why, by the reason's key in the JSON.
REASONS = {
    "no_known_format": ("file", "of unknown format"),
    "no_usage": ("session", "without recorded usage"),
    "counted_elsewhere": ("session", "whose calls are all in other files"),
    "too_old": ("session", "from before the day that was named"),
    "other_project": ("session", "of other projects"),
}


def passed_over(reasons: Mapping[str, int]) -> list[str]:
    """What was skipped, in words.

    Examples
    --------
    >>> passed_over({"no_usage": 2})
    ['2 sessions without recorded usage']
    """
    pairs = ((counted(n, REASONS[reason][0]), REASONS[reason][1]) for reason, n in reasons.items())
    return [" ".join(each) for each in pairs]


def skipped(reasons: Mapping[str, int]) -> list[str]:
    """The same as a sentence; empty if nothing was skipped."""
    return [f"Skipped: {listed(passed_over(reasons))}."] if reasons else []


def of_models(spending: Spending, unexplained: Mapping[str, int]) -> Iterator[str]:
    """What is unknown about models, and which models' billed calls have no explanation."""
    if spending.unpriced:
        yield (
            f"No price is known for {_models(spending.unpriced)}. Sums of dollars are without "
            "them. To include them, write the prices into a file and name it with --models. An "
            "entry there replaces the built-in model, so copy its other figures (list models "
            "--format json)."
        )
    yield from (f"{said}." for said in spending.inferred)
    if unexplained:
        yield (
            f"Billed, but not explained, as it is not known how their models cache: "
            f"{_models(unexplained)}. Write these models into a file and name it with --models."
        )


def _models(calls: Mapping[str, int]) -> str:
    names = [
        f"{name(each) if each else '(not named)'} ({counted(n, 'call')})"
        for each, n in calls.items()
    ]
    return enumerated(names, 5)


def not_understood(kinds: Sequence[PassedOver]) -> list[str]:
    """Which records were skipped, in words.

    Examples
    --------
    >>> from compactlab.reports.render.document import with_names
    >>> with_names(*not_understood([PassedOver("record 'poem'", 2, 40)]))
    "Not understood and passed over: 2 x record 'poem' (40 characters)."
    """
    if not kinds:
        return []
    most = sorted(kinds, key=lambda each: (-each.tokens, -each.characters, each.kind))
    words = [name(str(each)) for each in most[:_KINDS]]
    words += [counted(len(most) - _KINDS, "other kind")] * (len(most) > _KINDS)
    tokens = sum(each.tokens for each in kinds)
    lacking = f" The bill lacks the {tokens:,} tokens that it counts." if tokens else ""
    return [f"Not understood and passed over: {listed(words)}.{lacking}"]


def estimates(spent: Spent) -> Iterator[str]:
    """Which parts of a bill are estimates, or belong to other sessions."""
    if spent.estimated:
        yield (
            f"The log counted some answers before they had ended. Their texts are counted instead: "
            f"{spent.estimated:,} tokens of output, ${dollars(spent.estimated_output)} of this "
            "bill, are estimated."
        )
    if spent.inherited:
        yield (
            f"The bill includes {counted(spent.inherited, 'request')} "
            f"(${dollars(spent.inherited_total)}) of sessions that were forked and whose own logs "
            "were not read. On which days is not known."
        )
