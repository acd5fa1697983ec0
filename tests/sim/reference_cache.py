"""Anthropic's cache by brute force: whole prefixes in a list, and a naive walk over them."""

from __future__ import annotations

from dataclasses import dataclass, field

from compactlab.sim.cache import Anthropic, Lookup
from compactlab.sim.message import Part
from compactlab.sim.prompt import CLIENT_CONTEXT
from compactlab.sim.tokens import Tokenizer
from compactlab.sim.view import View

Block = tuple[object, ...]
SECONDS = {"5m": 300, "1h": 3600}


def blocks_of(view: View) -> list[Block]:
    """What the model reads, block by block."""
    blocks = [_content("system", part) for part in view.system]
    return blocks + [_content(m.role, part) for m in view.messages for part in m.parts]


def sizes_of(view: View, tokenizer: Tokenizer) -> list[int]:
    """Tokens of each block."""
    parts = [*view.system, *(part for message in view.messages for part in message.parts)]
    return [tokenizer.part(part) for part in parts]


def _content(role: str, part: Part) -> Block:
    seen = (role, part.type, part.name, part.call_id, part.is_error, part.text)
    return (*seen, part.size, part.sources) if part.size else seen


def shared_blocks(one: list[Block], other: list[Block]) -> int:
    """How many leading blocks are equal."""
    count = 0
    while count < min(len(one), len(other)) and one[count] == other[count]:
        count += 1
    return count


@dataclass
class Entry:
    prefix: tuple[Block, ...]
    touched: float
    life: int


@dataclass
class ReferenceCache:
    policy: Anthropic
    tokenizer: Tokenizer
    entries: list[Entry] = field(default_factory=list)

    def request(self, view: View, at: float, ttl: str = "") -> Lookup:
        blocks, sizes = blocks_of(view), sizes_of(view, self.tokenizer)
        ttl = ttl or self.policy.ttl
        marked = self._marked(view, len(blocks))
        hits = [self._walk(blocks[:length], at) for length in marked]
        read = sum(sizes[: max(hits, default=0)])
        stored = [n for n in marked if sum(sizes[:n]) >= self.policy.minimum]
        for length in stored:
            if not self._live(blocks[:length], at):
                self.entries.append(Entry(tuple(blocks[:length]), at, SECONDS[ttl]))
        written = max([sum(sizes[:n]) - read for n in stored], default=0)
        written = max(written, 0)
        return Lookup(read, *((0, written) if ttl == "1h" else (written, 0)))

    def _marked(self, view: View, blocks: int) -> list[int]:
        """Lengths of the prefixes that end at a mark: the system prompt, and everything."""
        names = [part.name for part in view.system]
        system = names.index(CLIENT_CONTEXT) if CLIENT_CONTEXT in names else len(names)
        both = {system, blocks} if "system" in self.policy.marks else {blocks}
        return sorted(both - {0})

    def _walk(self, prefix: list[Block], at: float) -> int:
        """Length of the longest live prefix within the look-back; it lives on from now."""
        for length in range(len(prefix), max(len(prefix) - self.policy.lookback, 0), -1):
            live = self._live(prefix[:length], at)
            for entry in live:
                entry.touched = at
            if live:
                return length
        return 0

    def _live(self, prefix: list[Block], at: float) -> list[Entry]:
        wanted = tuple(prefix)
        return [e for e in self.entries if e.prefix == wanted and at <= e.touched + e.life]
