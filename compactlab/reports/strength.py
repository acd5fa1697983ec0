"""How far the figures of a comparison carry: intervals, tests, and what could have been seen."""

from __future__ import annotations

from collections.abc import Iterator

from compactlab.reports.advice import Advice
from compactlab.reports.difference import least
from compactlab.reports.statistics.bootstrap import FEWEST
from compactlab.reports.statistics.contrast import ALPHA, Contrast
from compactlab.reports.statistics.sign_flip import EXACT, FLIPS, conversations_needed
from compactlab.reports.text import counted

# From so many conversations on, "no worse" is about as seldom wrong as is promised, also where
# losses are rare: measured in ``docs/statistics.md``.
ENOUGH = 30


def strength(advice: Advice, these: str) -> Iterator[str]:
    """Say what the figures tell of other conversations.

    Parameters
    ----------
    advice
        Of the comparison.
    these
        What its conversations are called.
    """
    number = advice.comparison.conversations
    others = [row for row in advice.comparison.rows if row is not advice.reference]
    if advice.reference is None or not others or number == 1:
        yield f"These are figures of {these}: they tell nothing of others."
        return
    few = f"These are figures of {these}, too few for intervals."
    told = _told(advice, number) if number >= FEWEST else few
    told += _needs(advice, number) + _shown(advice, number)
    yield f"{told}{_floor(len(others), number)}{_detectable(advice)}"


def _shown(advice: Advice, number: int) -> str:
    """What "shown" is worth, where it is less than is promised."""
    if number >= ENOUGH or not (advice.advised and advice.shown):
        return ""
    return (
        f" What fewer than {ENOUGH} conversations show holds for others only where losses are "
        "much alike."
    )


def _told(advice: Advice, number: int) -> str:
    spent = [c for row in advice.comparison.rows if (c := advice.cost(row))]
    lost = [c for row in advice.comparison.rows if (c := advice.forgotten(row)) and c.conversations]
    reference = advice.reference
    assert reference is not None
    method = next((c.method for c in spent if c.method), "")
    words = (
        f"In brackets are 95% intervals (bootstrap over {number:,} conversations, {method}). Held "
        f"against {reference.label}, {_share(spent)} bills"
    )
    if lost:
        words += f" and {_share(lost)} shares of forgotten needs"
    return f"{words} are told from chance (sign-flip tests, Holm over strategies, 5%)."


def _needs(advice: Advice, number: int) -> str:
    """In how many conversations anything is needed, where these are not all of them."""
    known = [c.conversations for row in advice.comparison.rows if (c := advice.forgotten(row))]
    some = max(known)
    if some == number:
        return ""
    return f" Needs are known of {some:,} of them." if some else " No needs of them are known."


def _floor(strategies: int, number: int) -> str:
    """Whether so many strategies on so few conversations can be told apart at all."""
    smallest = strategies * (2.0 / 2**number if number <= EXACT else 1 / (FLIPS + 1))
    hopeless = smallest >= ALPHA
    if not hopeless and number >= FEWEST:
        return ""
    can = "cannot" if hopeless else "can"
    told = (
        f" A sign-flip test of {counted(strategies, 'strategy')} on {number} conversations "
        f"{can} tell a difference from chance: no p is below {min(1.0, smallest):.2g} (Holm)"
    )
    needed = conversations_needed(strategies)
    if needed is not None and needed > number:
        told += f"; it takes at least {needed} conversations, or fewer strategies"
    return f"{told}."


def _share(found: list[Contrast]) -> str:
    return f"{sum(c.determined for c in found):,} of {len(found):,}"


def _detectable(advice: Advice) -> str:
    """The smallest differences that would have been seen, for the strategy that is advised."""
    best = advice.advised or advice.cheapest
    if best is None:
        return ""
    found = [c for c in (advice.cost(best), advice.forgotten(best)) if c]
    told = [least(c, c.detectable) for c in found if c.detectable is not None]
    if not told:
        return ""
    return f" The smallest difference to be seen at 80% power, before Holm: {', '.join(told)}."
