"""Caches of the longest common prefix by brute force: every prefix ever sent, in one list."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from compactlab.sim.cache import Lookup
from compactlab.sim.cache.prefixes import Automatic
from tests.sim.drawn import QUICK, Client, Request
from tests.sim.reference_cache import Block, sent_under, sizes_of


@dataclass
class Prefix:
    blocks: list[Block]
    touched: float
    visible: float


@dataclass
class Held:
    """Tokens of a prompt that can be read, that are stored, that were ever sent; and all."""

    readable: int
    stored: int
    ever: int
    tokens: int


@dataclass
class ReferencePrefixes:
    """An entry a prefix; who asks, reads all of them."""

    idle: float
    entries: list[Prefix] = field(default_factory=list)

    def request(self, request: Request, now: float) -> Held:
        # What stands behind the settings is whether there are images: not here.
        blocks: list[Block] = [
            (block, under[:3])  # type: ignore[index]
            for block, under in sent_under(request.view, request.settings)
        ]
        sizes = sizes_of(request.view, QUICK)

        def tokens(entries: Iterable[Prefix]) -> int:
            mine = [e for e in entries if e.blocks == blocks[: len(e.blocks)]]
            return max((sum(sizes[: len(e.blocks)]) for e in mine), default=0)

        alive = [e for e in self.entries if now - e.touched <= self.idle]
        held = Held(
            tokens(e for e in alive if e.visible <= now), tokens(alive), tokens(self.entries), 0
        )
        held.tokens = sum(sizes)
        for length in range(1, len(blocks) + 1):
            self._store(blocks[:length], alive, now, now + request.latency)
        return held

    def _store(self, blocks: list[Block], alive: list[Prefix], now: float, seen: float) -> None:
        for entry in alive:
            if entry.blocks == blocks:
                entry.touched, entry.visible = now, min(entry.visible, seen)
                return
        self.entries.append(Prefix(blocks, now, seen))


def on_grid(tokens: int, held: Held, grid: int, minimum: int) -> int:
    """What can be read of so many tokens, found by trying every length."""
    fits = [n for n in range(0, held.tokens, grid) if n <= tokens and n >= minimum]
    return max(fits, default=0)


def cause_of(token: int, held: Held, policy: Automatic, *, lost: bool) -> str:
    """Why a token was not read; "" where it was, or where the cache has nothing to say."""

    def within(length: int) -> bool:
        return token < on_grid(length, held, policy.grid, policy.minimum)

    if within(held.readable):
        return "eviction" if lost else ""
    if within(held.stored):
        return "concurrent_cold"
    if within(held.ever):
        return "ttl_expired"
    if token < held.ever:
        return "grid" if held.ever >= policy.minimum else "below_minimum"
    return ""


def told_of(token: int, lookup: Lookup) -> str:
    """The cause that a cache gives for a token."""
    named = [cause for cause, upto in lookup.missed if token < upto]
    return named[0] if named and token >= lookup.read else ""


def agree(policy: Automatic, session: list[Request]) -> None:
    """Hold a policy against the naive cache, at every call of a session."""
    client, naive = Client(policy.open()), ReferencePrefixes(policy.idle)
    for request in session:
        lookup = client.send(request)
        held = naive.request(request, client.now)
        read = on_grid(held.readable, held, policy.grid, policy.minimum)
        assert lookup.read == (0 if request.lost else read)
        assert lookup.write_5m == lookup.write_1h == lookup.storage == 0
        assert list(lookup.missed) == sorted(lookup.missed, key=lambda pair: pair[1])
        edges = {0, read, held.readable, held.stored, held.ever, held.tokens}
        edges |= {upto for _, upto in lookup.missed}
        for token in {near for edge in edges for near in (edge - 1, edge) if near >= 0}:
            assert told_of(token, lookup) == cause_of(token, held, policy, lost=request.lost)
