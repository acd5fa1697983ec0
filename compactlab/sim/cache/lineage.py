"""The earlier prompt that a prompt extends: all sent prompts as one tree.

Prompts with a common beginning share a path, and each block is in the tree once, as part of the
first request that contained it. So the common prefix of any two prompts follows from three numbers
per request, without whole prompts.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from compactlab.sim.cache.prompt import Prompt


class Place(msgspec.Struct, frozen=True, gc=False):
    """The place of a request among all requests of a replay, including side calls."""

    number: int = 0  # number of earlier requests
    # The number of the earlier request to the same model that shares most with its prompt; -1 if
    # none shares anything.
    stem: int = -1
    kept: int = 0  # tokens shared with that one


class _Tail(NamedTuple):
    """A request's own blocks from an index on, and the request of the previous block."""

    stem: int
    start: int
    symbols: list[int]


class Lineage:
    """The tree of all prompts that were sent to one model."""

    def __init__(self) -> None:
        self._tails: dict[int, _Tail] = {}
        # The request that added a block, by the request of the previous block, the index of the
        # block, and its symbol.
        self._forks: dict[tuple[int, int, int], int] = {}
        self._tips: dict[Prompt, int] = {}

    def place(self, number: int, prompt: Prompt) -> Place:
        """Add a prompt to the tree before it is marked as sent.

        The search starts at the last prompt sent with the same object, so only new blocks are
        compared.
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
    """Return how far a prompt follows a request's own blocks, from a block on."""
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
