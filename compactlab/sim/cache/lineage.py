"""Which earlier prompt a prompt goes on from: all that were sent, as one tree.

Prompts that begin alike share a path, and a block stands in the tree once, as part of the request
that brought it. So what any two prompts have in common can be told later from three numbers a
request, without keeping whole prompts.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from compactlab.sim.cache.prompt import Prompt


class Place(msgspec.Struct, frozen=True, gc=False):
    """Where a request stands among all requests of a replay, side calls among them."""

    number: int = 0  # how many requests were made before it
    # The number of the earlier request that shares most with its prompt, of those that went to the
    # same model; -1 if none shares anything.
    stem: int = -1
    kept: int = 0  # tokens that it shares with that one


class _Tail(NamedTuple):
    """What a request brought: its blocks from an index on, and who brought the one before."""

    stem: int
    start: int
    symbols: list[int]


class Lineage:
    """The tree of all prompts that were sent to one model."""

    def __init__(self) -> None:
        self._tails: dict[int, _Tail] = {}
        # By who brought the block before, the index of a block and what it is: who brought it.
        self._forks: dict[tuple[int, int, int], int] = {}
        self._tips: dict[Prompt, int] = {}

    def place(self, number: int, prompt: Prompt) -> Place:
        """Put a prompt into the tree before it is marked as sent.

        It is looked for from the prompt on that was sent last through the same object, so that
        only what is new is compared.
        """
        symbols, tails = prompt.symbols, self._tails
        at, owner = prompt.agreed, self._tips.get(prompt, -1)
        while owner >= 0 and at <= tails[owner].start:
            owner = tails[owner].stem
        while at < len(symbols):
            if owner >= 0:
                at = _follow(symbols, at, tails[owner])
            fork = self._forks.get((owner, at, symbols[at])) if at < len(symbols) else None
            if fork is None:
                break
            owner = fork
        place = Place(number, owner, prompt.totals[at - 1] if at else 0)
        if at < len(symbols):
            tails[number] = _Tail(owner, at, symbols[at:])
            self._forks[owner, at, symbols[at]] = owner = number
        self._tips[prompt] = owner
        return place


def _follow(symbols: list[int], at: int, tail: _Tail) -> int:
    """From a block on, how far a prompt goes along what a request brought."""
    own, index = tail.symbols, at - tail.start
    if index >= len(own) or own[index] != symbols[at]:
        return at
    rest = own[index:]
    ahead = symbols[at : at + len(rest)]
    if ahead == rest:
        return at + len(rest)
    for same, (one, other) in enumerate(zip(ahead, rest, strict=False)):
        if one != other:
            return at + same
    return at + len(ahead)
