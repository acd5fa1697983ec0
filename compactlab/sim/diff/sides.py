"""The two sides of a compaction, and which message of the one is which of the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from compactlab.sim.blocks import blocks_of
from compactlab.sim.message import Message
from compactlab.sim.model import Model
from compactlab.sim.trace import Step


class Pair(NamedTuple):
    """The place of a message before and that of what stands for it after; None: there is none."""

    before: int | None
    after: int | None


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


def sizes(messages: Sequence[Message], model: Model) -> list[int]:
    """Tokens of each message of a prompt: some models drop the thinking of earlier turns."""
    blocks = blocks_of(model.tokenizer)
    found = list(map(blocks.tokens, messages))
    if model.strips_thinking and blocks.thoughts:
        last = len(messages) - 1
        turn = next((n for n in range(last, 0, -1) if messages[n].starts_turn), 0)
        for place, message in enumerate(messages[:turn]):
            if bare := blocks.thoughts.get(id(message)):
                found[place] = sum(bare[1])
    return found


def paired(before: Sequence[Message], after: Sequence[Message]) -> list[Pair]:
    """Which message of the one side is which of the other, row by row, by their places.

    Each message of both stands in one row. A row with both has the same message twice, or one and
    what the strategy has made of it, by its id. Rows are in the order of the side after; what has
    no counterpart there stands where it stood before, and above whatever was written instead.

    Examples
    --------
    >>> one, two, three, short = (Message(i, "user", ()) for i in ("1", "2", "3", "2"))
    >>> paired([one, two, three], [short, three])
    [Pair(before=0, after=None), Pair(before=1, after=0), Pair(before=2, after=1)]
    """
    twins = _twins(before, after)
    taken = {twin for twin in twins if twin >= 0}
    rows: list[Pair] = []
    waiting: list[Pair] = []
    done = 0
    for place, twin in enumerate(twins):
        if twin < 0:
            waiting.append(Pair(None, place))
            continue
        rows += (Pair(n, None) for n in range(done, twin) if n not in taken)
        done = max(done, twin + 1)
        rows += waiting
        waiting = []
        rows.append(Pair(twin, place))
    rows += (Pair(n, None) for n in range(done, len(before)) if n not in taken)
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
