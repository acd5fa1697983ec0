"""Caches by name, by brute force: a list of all that were ever made, each with its whole life."""

from dataclasses import dataclass, field

from compactlab.sim.cache import Explicit
from compactlab.sim.core.view import View
from tests.sim.drawn import QUICK, Request
from tests.sim.reference_cache import Block, ends_of, sizes_of
from tests.sim.reference_endings import plain_blocks


@dataclass
class Named:
    prefix: list[Block]
    tokens: int
    made: float
    ends: float


@dataclass
class ReferenceNamed:
    """One client's caches; it holds the last one, if any."""

    policy: Explicit
    all: list[Named] = field(default_factory=list)

    def request(self, request: Request, now: float) -> int:
        """Tokens that are read."""
        blocks, sizes = plain_blocks(request), sizes_of(request.view, QUICK)
        if not blocks:
            return 0
        stored = self._stored(request.view)
        tokens = sum(sizes[:stored])
        alive = [named for named in self.all if now <= named.ends]
        fit = [
            named
            for named in alive
            if blocks[: len(named.prefix)] == named.prefix
            and len(named.prefix) >= ends_of(request.view)["system"]
        ]
        if fit and tokens - fit[-1].tokens <= self.policy.renew * fit[-1].tokens:
            fit[-1].ends = now + self.policy.ttl
            return 0 if request.lost else fit[-1].tokens
        for named in alive:
            named.ends = now
            named.prefix = [("deleted",)]
        if tokens > 0 and tokens >= self.policy.minimum:
            self.all.append(Named(blocks[:stored], tokens, now, now + self.policy.ttl))
        return 0

    def _stored(self, view: View) -> int:
        """How many blocks the client would store."""
        if self.policy.what == "system":
            return ends_of(view)["system"]
        turns = [index for index, message in enumerate(view.messages) if message.starts_turn]
        whole = view.messages[: turns[-1]] if turns else []
        return len(view.system) + sum(len(message.parts) for message in whole)

    def held(self, now: float) -> float:
        """Token-seconds so far: of each cache its tokens times the time for which it was there."""
        return sum(named.tokens * (min(now, named.ends) - named.made) for named in self.all)
