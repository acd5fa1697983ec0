"""Which tokens were written to a cache for nothing: no later request has read them.

A request *k* reads `read` tokens and writes up to `end`. Of what it wrote, that is live which a
later request *j* has read, as far as its prompt is the same: up to the largest, over all *j*, of
the smaller of what *j* read and what *k* and *j* share. What two prompts share is the least that
is kept on the way from one to the other in the tree of :mod:`compactlab.sim.lineage`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from compactlab.sim.trace import SideCall, Step


def dead_writes(requests: Sequence[Step | SideCall]) -> list[int]:
    """Tokens that each request wrote and none after it has read.

    Parameters
    ----------
    requests
        All requests of a run, in the order in which they were made.

    Returns
    -------
    list of int
        Tokens, one figure a request; the last ones of what it wrote.
    """
    index = {request.place.number: i for i, request in enumerate(requests)}
    stems = [index.get(request.place.stem, -1) for request in requests]
    kept = [request.place.kept for request in requests]
    forks = _forks(stems, kept)
    # How far what a request sent has been read by later ones, as far as they go on from it.
    reached = [0] * len(requests)
    dead = [0] * len(requests)
    for i in range(len(requests) - 1, -1, -1):
        usage = requests[i].usage
        read, written = usage.cache_read, usage.cache_write
        if written:
            live = _live(i, reached, forks)
            dead[i] = max(0, read + written - max(read, live))
        reach, at = read, i
        while stems[at] >= 0:
            reach, at = min(reach, kept[at]), stems[at]
            if reached[at] >= reach:
                break  # and so has everything that this one goes on from
            reached[at] = reach
    return dead


def _live(i: int, reached: Sequence[int], forks: Sequence[tuple[int, int]]) -> int:
    """How far a request's prompt has been read later, by whom it shares it with."""
    live = reached[i]
    shared, above = forks[i]
    while above >= 0 and shared > live:
        live = max(live, min(shared, reached[above]))
        further, above = forks[above]
        shared = min(shared, further)
    return live


def _forks(stems: Sequence[int], kept: Sequence[int]) -> list[tuple[int, int]]:
    """For each request, the nearest that it goes on from and others do too; what it shares."""
    children = Counter(stems)
    forks: list[tuple[int, int]] = []
    for stem, shared in zip(stems, kept, strict=True):
        if stem < 0:
            forks.append((0, -1))
        elif children[stem] > 1:
            forks.append((shared, stem))
        else:
            further, above = forks[stem]
            forks.append((min(shared, further), above))
    return forks
