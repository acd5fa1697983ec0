"""The two sides of a compaction, and which message of the one is which of the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from compactlab.sim.message import Message
from compactlab.sim.trace import Step


class Pair(NamedTuple):
    """A message before and what stands for it after; None where there is none."""

    before: Message | None
    after: Message | None


class Sides(NamedTuple):
    """What would have been sent, what was sent, and which messages had been said in between."""

    before: list[Message]
    after: list[Message]
    new: list[Message]


def sides(steps: Sequence[Step], index: int) -> Sides:
    """The two sides of the call at an index, which is not the first."""
    last, step = steps[index - 1], steps[index]
    same = last.log.shared(step.log)
    new, before = list(step.log[same:]), prompt_of(steps, index - 1)
    if same < len(last.log):  # the script went back: it took those away, and no strategy
        back = set(map(id, last.log[same:]))
        before = [message for message in before if id(message) not in back]
    return Sides(before + new, prompt_of(steps, index), new)


def prompt_of(steps: Sequence[Step], index: int) -> list[Message]:
    """The messages of one prompt, put together from its end on: the others are not looked at."""
    pieces: list[Iterable[Message]] = []
    wanted = steps[index].shared + len(steps[index].added)
    while wanted:
        step = steps[index]
        if wanted > step.shared:
            pieces.append(step.added[: wanted - step.shared])
            wanted = step.shared
        index -= 1
    return [message for piece in reversed(pieces) for message in piece]


def paired(before: Sequence[Message], after: Sequence[Message]) -> list[Pair]:
    """Which message of the one side is which of the other, row by row.

    Each message of both stands in one row. A row with both has the same message twice, or one and
    what the strategy has made of it, by its id. Rows are in the order of the side after; what has
    no counterpart there stands where it stood before, and above whatever was written instead.

    Examples
    --------
    >>> one, two, three, short = (Message(i, "user", ()) for i in ("1", "2", "3", "2"))
    >>> rows = paired([one, two, three], [short, three])
    >>> [(row.before and row.before.id, row.after and row.after.id) for row in rows]
    [('1', None), ('2', '2'), ('3', '3')]
    """
    twins = _twins(before, after)
    taken = {twin for twin in twins if twin >= 0}
    rows: list[Pair] = []
    waiting: list[Pair] = []
    done = 0
    for message, twin in zip(after, twins, strict=True):
        if twin < 0:
            waiting.append(Pair(None, message))
            continue
        rows += (Pair(before[n], None) for n in range(done, twin) if n not in taken)
        done = max(done, twin + 1)
        rows += waiting
        waiting = []
        rows.append(Pair(before[twin], message))
    rows += (Pair(before[n], None) for n in range(done, len(before)) if n not in taken)
    return rows + waiting


def _twins(before: Sequence[Message], after: Sequence[Message]) -> list[int]:
    """Of each message after, the place of its counterpart before; -1 where there is none."""
    same = 0
    for one, two in zip(before, after, strict=False):
        if one is not two:
            break
        same += 1
    places: dict[int, list[int]] = defaultdict(list)
    for n in range(len(before) - 1, same - 1, -1):
        places[id(before[n])].append(n)
    twins = [*range(same)]
    for message in after[same:]:
        mine = places.get(id(message))
        twins.append(mine.pop() if mine else -1)
    if -1 in twins:
        taken = set(twins)
        named: dict[str, list[int]] = defaultdict(list)
        for n in range(len(before) - 1, same - 1, -1):
            if n not in taken:
                named[before[n].id].append(n)
        for place, twin in enumerate(twins):
            if twin < 0:
                mine = named.get(after[place].id)
                twins[place] = mine.pop() if mine else -1
    return twins
