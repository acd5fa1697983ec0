"""A cache that reads the longest common prefix, cut down to what the provider's grid allows.

The finest thing that is known to be shared is a block, that is a part of a message: two parts
that begin alike count as different from their first token on. What a model wrote is stored only
when it comes back as part of a prompt, though a server may well hold it from when it was written.
"""

from __future__ import annotations

from compactlab.sim.cache.policy import Cache, Lookup, Request
from compactlab.sim.cache.prefixes import Lengths, Prefixes


class LongestPrefix(Cache):
    """Reads what it can of the longest prefix, writes for nothing, and says why it read no more.

    Parameters
    ----------
    prefixes
        What it holds.
    grid
        Tokens: reads are multiples of that.
    minimum
        Tokens below which nothing is read.
    gone
        The cause of not finding what was let go.
    """

    def __init__(self, prefixes: Prefixes, *, grid: int, minimum: int, gone: str) -> None:
        self._prefixes = prefixes
        self._grid, self._minimum, self._gone = grid, minimum, gone

    def request(self, request: Request) -> Lookup:
        """Look up, then store."""
        most = request.prompt.tokens - 1  # the answer hangs on the last: it is always computed
        if most < 0:
            return Lookup()
        held = self._prefixes.send(request)
        read = self._readable(min(held.readable, most))
        if request.lost or read < held.known:
            missed = self._missed(held, read, most, lost=request.lost)
            return Lookup(0 if request.lost else read, missed=missed)
        return Lookup(read)

    def _readable(self, tokens: int) -> int:
        points = tokens - tokens % self._grid
        return points if points >= self._minimum else 0

    def _missed(
        self, held: Lengths, read: int, most: int, *, lost: bool
    ) -> tuple[tuple[str, int], ...]:
        """Each cause with how far the prompt would have been read but for it."""
        last = "grid" if held.known >= self._minimum else "below_minimum"
        if not lost and held.readable == held.known:  # as nearly always
            return ((last, held.known),)
        stored, known = (self._readable(min(n, most)) for n in (held.stored, held.known))
        edge = 0 if lost else read
        missed = []
        for cause, upto in (
            ("eviction", read),
            ("concurrent_cold", stored),
            (self._gone, known),
            (last, held.known),
        ):
            if upto > edge:
                missed.append((cause, upto))
                edge = upto
        return tuple(missed)
