"""DeepSeek's cache by brute force: requests and units in lists, all of them compared each time."""

from dataclasses import dataclass, field

from compactlab.sim.cache import Deepseek, Lookup
from compactlab.sim.core.message import Message
from tests.sim.drawn import QUICK, Request
from tests.sim.reference_cache import Block, shared_blocks, sizes_of
from tests.sim.reference_endings import plain_blocks


@dataclass
class Unit:
    blocks: list[Block]  # up to the one in which it ends
    tokens: int
    touched: float
    visible: float


@dataclass
class Sent:
    blocks: list[Block]
    at: float
    visible: float


@dataclass
class ReferenceUnits:
    policy: Deepseek
    sent: list[Sent] = field(default_factory=list)
    units: list[Unit] = field(default_factory=list)

    def request(self, request: Request, now: float) -> Lookup:
        blocks, sizes = plain_blocks(request), sizes_of(request.view, QUICK)
        this = Sent(blocks, now, now + request.latency)
        alike = self._answered(request, blocks, sizes, now)
        best = None if request.lost else self._longest(blocks, now)
        read = 0
        if best is not None:
            best.touched, read = now, best.tokens
        self._store(this, sizes, {alike, sum(sizes), *self._regular(read, sum(sizes))})
        self.sent.append(this)
        return Lookup(read - read % self.policy.grid)

    def _regular(self, above: int, upto: int) -> list[int]:
        interval = self.policy.interval
        return [n for n in range(above + 1, upto + 1) if interval and n % interval == 0]

    def _answered(self, request: Request, blocks: list[Block], sizes: list[int], now: float) -> int:
        """Tokens that are known of a prompt; an answer that is seen is stored as of its request."""
        recent = [s for s in self.sent if now - s.at <= self.policy.idle]
        most = max((shared_blocks(blocks, s.blocks) for s in recent), default=0)
        known = sum(sizes[:most])
        for length in range(len(blocks), 0, -1):
            asked = [s for s in self.sent if s.blocks == blocks[:length]]
            message = behind(request, length)
            if sum(sizes[:length]) == known and asked and message is not None:
                with_answer = sum(sizes[: length + len(message.parts)])
                former = Sent(blocks, asked[-1].at, asked[-1].visible)
                self._store(former, sizes, {with_answer, *self._regular(known, with_answer)})
                return with_answer
        return known

    def _longest(self, blocks: list[Block], now: float) -> Unit | None:
        found = [
            unit
            for unit in self.units
            if unit.visible <= now <= unit.touched + self.policy.idle
            and unit.blocks == blocks[: len(unit.blocks)]
        ]
        return max(found, key=lambda unit: unit.tokens, default=None)

    def _store(self, by: Sent, sizes: list[int], ends: set[int]) -> None:
        for tokens in ends - {0}:
            length = next(n for n in range(len(sizes) + 1) if sum(sizes[:n]) >= tokens)
            prefix = by.blocks[:length]
            alive = [u for u in self.units if by.at - u.touched <= self.policy.idle]
            same = [u for u in alive if (u.blocks, u.tokens) == (prefix, tokens)]
            for unit in same:
                unit.touched = max(unit.touched, by.at)
                unit.visible = min(unit.visible, by.visible)
            if not same:
                self.units.append(Unit(prefix, tokens, by.at, by.visible))


def behind(request: Request, length: int) -> Message | None:
    """The answer that begins right behind so many blocks."""
    before = len(request.view.system)
    for message in request.view.messages:
        if before == length:
            return message if message.role == "assistant" else None
        before += len(message.parts)
    return None
