"""The lives of facts: from being stated to being gone from the prompt for the first time."""

from __future__ import annotations

from collections import defaultdict
from typing import Literal

from compactlab.sim.conversation import FactType
from compactlab.sim.facts import STATES
from compactlab.sim.facts.ledger import numbers
from compactlab.sim.metrics.ages import Age
from compactlab.sim.metrics.course import ROUNDS, Course, course, share
from compactlab.sim.metrics.kaplan_meier import Curve, Life, kaplan_meier
from compactlab.sim.metrics.reading import Reading
from compactlab.sim.metrics.shared import shared

Clock = Literal["rounds", "tokens"]


@shared
def curves_by_rounds(reading: Reading) -> dict[FactType, Curve]:
    """The survival of each type of facts, in compactions since they were stated."""
    return _curves(course(reading), "rounds")


@shared
def curves_by_tokens(reading: Reading) -> dict[FactType, Curve]:
    """The survival of each type of facts, in tokens of the log since they were stated."""
    return _curves(course(reading), "tokens")


def _curves(found: Course, clock: Clock) -> dict[FactType, Curve]:
    lived: dict[FactType, list[Life]] = defaultdict(list)
    for number, life in lives(found, clock):
        lived[found.ledger.facts[number].kind].append(life)
    return {kind: kaplan_meier(each) for kind, each in lived.items()}


def lives(found: Course, clock: Clock) -> list[tuple[int, Life]]:
    """Of each fact that was due at a call of the script: its number and its life.

    It begins when the fact is stated first; what is said again while it lives goes on living. It
    dies at the first call at which it is due and neither verbatim nor intact, though it may come
    back later. It is lost from sight, alive at the call before, where it is superseded, deleted or
    over, where a rewind takes back that it was said, where its state is unknown, and at the end.

    Parameters
    ----------
    found
        What became of the facts.
    clock
        What time is measured in.
    """
    ended: list[tuple[int, Life]] = []
    born: dict[int, int] = {}
    alive, now = 0, 0
    at: list[Age] = [*getattr(found, clock).at]
    for age, known, kept in zip(at, found.known, found.kept, strict=True):
        new = found.ledger.mask(number for number, _ in age.began)
        born |= dict(age.began)
        # Whose state is unknown from the first has never been seen.
        alive |= new & known
        gone = alive & ~(known & kept)
        for number in numbers(gone):
            died = bool(known >> number & 1)
            ended.append((number, _life(born[number], age.now if died else now, died=died)))
        alive &= ~gone
        now = age.now
    return ended + [(number, _life(born[number], now, died=False)) for number in numbers(alive)]


def _life(born: int, seen: int, *, died: bool) -> Life:
    # A rewind may have turned the clock back to before it was born, and it have been said again.
    return Life(max(0, seen - born), died)


@shared
def occupancy_by_round(reading: Reading) -> list[dict[str, float | None]]:
    """Of facts stated 0, 1, 2, ... compactions ago: which share is in which state, up to five.

    What is recovered comes back to life, which survival cannot show, and this can.
    """
    found = course(reading)
    rows = []
    for low, high in zip((0, *ROUNDS), ROUNDS, strict=False):
        aged = zip(found.due, found.rounds.between(low, high), strict=True)
        due = [facts & among for facts, among in aged]
        rows.append({s: share((getattr(e, s) for e in found.states), due) for s in STATES})
    return rows
