"""A line of a compaction before and after: a message, or several that were put together."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from compactlab.sim.message import Message, Part

# What may have become of a message, and how it is said.
FATES = {
    "kept": "it stands in both prompts",
    "new": "it was said since the last call, and sent as it is",
    "gone": "it is no longer sent",
    "shortened": "less of it is sent",
    "changed": "it is sent otherwise, and not shorter",
    "back": "it is sent again, though it had not been in the last prompt",
    "written": "the strategy wrote it",
}
# Of these nothing has changed.
STILL = ("kept", "new")
# Facts that a line tells by name.
TOLD = 8


class Forgotten(msgspec.Struct, frozen=True):
    """A fact that the prompt after no longer holds.

    Parameters
    ----------
    id
        Its id.
    said
        Its key and value, shortened.
    state
        Its state in the prompt after, see :mod:`compactlab.sim.facts.states`.
    missed
        The number of the first call that needed it and did not find it; 0: none.
    """

    id: str
    said: str
    state: str
    missed: int = 0


class Line(msgspec.Struct, frozen=True):
    """A message before and after, or several of one fate that were put together.

    Parameters
    ----------
    fate
        One of :data:`FATES`.
    count
        How many messages it stands for.
    message, became
        The message before, and what stands for it after, where that is another one; None where
        there is none, of several, and of the system blocks.
    shown
        The parts by which it is shown; none of what was put together.
    system
        Whether it is the system blocks.
    before, after
        Tokens on either side.
    lost, missed
        How many facts the prompt lost with it, and how many of those were needed later and not
        found.
    facts
        The first of them, those that were missed before the others.
    """

    fate: str
    count: int = 1
    message: Message | None = None
    became: Message | None = None
    shown: tuple[Part, ...] = ()
    system: bool = False
    before: int = 0
    after: int = 0
    lost: int = 0
    missed: int = 0
    facts: tuple[Forgotten, ...] = ()


def together(lines: Iterable[Line]) -> list[Line]:
    """Put lines that stand side by side together: one line for each fate."""
    by_fate: dict[str, list[Line]] = {}
    for line in lines:
        by_fate.setdefault(line.fate, []).append(line)
    return [_sum(fate, by_fate[fate]) for fate in FATES if fate in by_fate]


def _sum(fate: str, lines: list[Line]) -> Line:
    if len(lines) == 1:
        return lines[0]
    facts = [fact for line in lines for fact in line.facts]
    return Line(
        fate,
        sum(line.count for line in lines),
        before=sum(line.before for line in lines),
        after=sum(line.after for line in lines),
        lost=sum(line.lost for line in lines),
        missed=sum(line.missed for line in lines),
        facts=tuple(sorted(facts, key=lambda fact: not fact.missed)[:TOLD]),
    )
