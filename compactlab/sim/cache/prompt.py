"""A prompt as a provider's cache sees it: a chain of blocks, each named by all that leads to it.

Block *i* has a key that depends on the content of blocks 0 to *i*, so two prompts share a prefix
exactly as far as their keys are equal. Moving from one prompt to the next touches only what is
not shared, so a session that only grows costs the same at every call; and a key is computed when
a cache asks for it, which of most blocks none ever does.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache, partial
from itertools import accumulate, chain
from operator import mul

from compactlab.sim.core.blocks import PRIME, Blocks, Group, blocks_of
from compactlab.sim.core.message import Part
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.core.view import Edit, View

# Keys are values of a polynomial over a prime field, a block a coefficient: cheap to extend, and at
# a million blocks two different prefixes collide with a probability below 1e-12.
_BASE = 0x9E3779B97F4A7C1
_powers = [1]
# By what a sum of blocks is multiplied when they move; the inverse is expensive to compute.
_shift = lru_cache(maxsize=4096)(partial(pow, _BASE, mod=PRIME))
# Fewer blocks are added up anew as fast as what they came to can be moved.
_MANY = 50

# Name of a system part that holds what a client puts between the system prompt and the messages
# (project files, environment): sent with every prompt, but not marked for the cache on its own.
CLIENT_CONTEXT = "client context"
# Name of the system parts that define tools; they stand before all others.
TOOLS = "tools"


class Prompt:
    """The prompt of a session under one tokenizer, moved from view to view."""

    def __init__(
        self, tokenizer: Tokenizer, *, strips: bool = False, blocks: Blocks | None = None
    ) -> None:
        self.blocks = blocks_of(tokenizer) if blocks is None else blocks
        self._strips = strips
        # The first message that had been there and whose thinking the last move took out or put
        # back.
        self.stripped: int | None = None
        # So many leading messages stand without their thinking; None while nobody thinks.
        self._bare: int | None = None
        self.view = View()
        self.symbols: list[int] = []  # what each block is: system first, then parts of messages
        self.totals: list[int] = []  # tokens up to and including each block
        self.tokens = 0
        # How many blocks stand before what a client adds to each session (see CLIENT_CONTEXT).
        self.front = self.tools = 0
        self.starts: list[int] = []  # index of the first block of each message
        # The prompt that was last sent: the first so many blocks of this one, and these symbols.
        self._agreed = 0
        self._rest: list[int] = []
        # The keys that were asked for, and 0 where none was.
        self._keys: list[int] = []

    @property
    def keys(self) -> list[int]:
        """Keys of all blocks."""
        return [*map(self.key, range(len(self.symbols)))]

    def key(self, block: int) -> int:
        """Key of a block, made from the last one before it that was asked for."""
        keys = self._keys
        if keys[block]:
            return keys[block]
        while len(_powers) <= block:
            _powers.append(_powers[-1] * _BASE % PRIME)
        first = block
        while first and not keys[first - 1]:
            first -= 1
        added = self.symbols[block] * _powers[block]
        if first < block:
            span = slice(first, block)
            added += sum(map(mul, self.symbols[span], _powers[span]))
        keys[block] = key = ((keys[first - 1] if first else 0) + added) % PRIME
        return key

    def move(self, view: View) -> None:
        """Become the prompt of another view."""
        system, before, messages = view.system, self.view.messages, view.messages
        edit = before.edit(messages)
        same, gone, come = edit
        known = come + len(before) - gone
        anew = system is not self.view.system and system != self.view.system
        edited = same < gone or same < come  # else something was added at the end, and no more
        if anew:
            self._begin(system)
        elif edited:
            self._edit(same, gone, self.blocks.of(messages.between(same, come)))
        new = messages.between(0 if anew else known)
        if new:
            self.starts += self._push(self.blocks.of(new))
        self.view = view
        self.stripped = None
        thinks = self._strips and self.blocks.thoughts
        # A turn that goes on takes nothing out, and nearly every call goes on with one.
        if thinks and (edited or any(message.starts_turn for message in new)):
            self._strip(edit, known, anew)

    def _begin(self, system: tuple[Part, ...]) -> None:
        """Begin anew, with these system blocks."""
        self._cut(0)
        self.starts.clear()
        self._push([self.blocks.of_system(system)])
        names = [part.name for part in system]
        self.front = names.index(CLIENT_CONTEXT) if CLIENT_CONTEXT in names else len(names)
        self.tools = names.count(TOOLS)

    def _strip(self, edit: Edit, known: int, anew: bool) -> None:
        """Drop the thinking of earlier turns; what was there is looked at where that is new."""
        same, gone, come = edit
        bare, turn = self.bare, self._turn(edit, known)
        moved = bare - gone + come
        first = self._thinking(min(bare, turn), min(same, max(bare, turn)))
        last = self._thinking(max(come, min(moved, turn)), min(known, max(moved, turn)))
        self.stripped = next(chain(first, last), None)
        if anew:
            wrong = self._thinking(0, turn)
        else:
            wrong = first + self._thinking(same, min(come, turn)) + last
            wrong += self._thinking(known, turn)
        if wrong:
            self._write(wrong[0], wrong[-1] + 1, turn)
        self._bare = turn

    def _thinking(self, first: int, stop: int) -> list[int]:
        """Indices of the messages from one to another that hold thinking."""
        if first >= stop:
            return []
        thoughts, some = self.blocks.thoughts, self.view.messages.between(first, stop)
        return [index for index, message in enumerate(some, first) if id(message) in thoughts]

    def _write(self, first: int, stop: int, turn: int) -> None:
        """Write messages anew, with their thinking from the start of the last turn on."""
        messages, thoughts = self.view.messages.between(first, stop), self.blocks.thoughts
        both = enumerate(zip(messages, self.blocks.of(messages), strict=True), first)
        groups = [
            thoughts.get(id(message), blocks) if index < turn else blocks
            for index, (message, blocks) in both
        ]
        self._edit(first, stop, groups)

    def _turn(self, edit: Edit, known: int) -> int:
        """Where the last turn starts; 0 if there is none.

        Where it was known to start, unless that has changed: only what came is looked at.
        """
        (same, gone, come), bare = edit, self._bare
        if bare is None:
            return self._last_start(0) or 0
        start, moved = self._last_start(known), bare - gone + come
        if start is None and gone <= bare and self.view.messages[moved].starts_turn:
            start = moved
        if start is None:
            start = self._last_start(same, come)
        if start is None:
            start = bare if bare < same else self._last_start(0, same)
        return start or 0

    def _last_start(self, first: int, stop: int | None = None) -> int | None:
        """Index of the last message from one to another with which a turn starts."""
        some = self.view.messages.between(first, stop)
        for index in range(len(some) - 1, -1, -1):
            if some[index].starts_turn:
                return first + index
        return None

    @property
    def bare(self) -> int:
        """How many leading messages stand without their thinking."""
        return self._bare or 0

    def mark_sent(self) -> None:
        """Remember this prompt as the one that was last sent."""
        self._agreed, self._rest = len(self.symbols), []

    @property
    def agreed(self) -> int:
        """How many leading blocks it shares with the prompt that was last sent."""
        if self._rest:
            same = 0
            for old, new in zip(self._rest, self.symbols[self._agreed :], strict=False):
                if old != new:
                    break
                same += 1
            self._agreed, self._rest = self._agreed + same, self._rest[same:]
        return self._agreed

    @property
    def sent(self) -> int:
        """Tokens of those blocks."""
        agreed = self.agreed
        return self.totals[agreed - 1] if agreed else 0

    def _edit(self, same: int, gone: int, come: Iterable[Group]) -> None:
        """Put other messages in the place of some; what is behind them moves, and is not read."""
        starts, end = self.starts, len(self.symbols)
        next = starts[gone] if gone < len(starts) else end
        symbols, totals, later = self.symbols[next:], self.totals[next:], starts[gone:]
        tokens = self.totals[next - 1] if next else 0
        last, part = self._last_known(next) if end - next > _MANY else (0, 0)
        self._cut(starts[same])
        del starts[same:]
        starts += self._push(come)
        moved, more = len(self.symbols) - next, self.tokens - tokens
        self.symbols += symbols
        self.totals += [total + more for total in totals] if more else totals
        starts += [start + moved for start in later] if moved else later
        self._keys += [0] * len(symbols)
        self.tokens = self.totals[-1] if self.totals else 0
        if part:
            before = self.key(next + moved - 1) if next + moved else 0
            self._keys[last + moved] = (before + part * _shift(moved)) % PRIME

    def _last_known(self, block: int) -> tuple[int, int]:
        """Of the blocks from one on the last whose key is known, and what they add to that."""
        for last in range(len(self.symbols) - 1, block - 1, -1):
            if self._keys[last]:
                return last, self._keys[last] - (self.key(block - 1) if block else 0)
        return 0, 0

    def _cut(self, block: int) -> None:
        """Forget all blocks from one on, but for what was sent of them."""
        if block:
            self.key(block - 1)  # else the key of whatever comes there is made from far in front
        self._disagree(block)
        del self.symbols[block:], self.totals[block:], self._keys[block:]
        self.tokens = self.totals[-1] if self.totals else 0

    def _disagree(self, block: int) -> None:
        """From this block on, what was sent is another prompt."""
        if block < self._agreed:
            self._rest = self.symbols[block : self._agreed] + self._rest
            self._agreed = block

    def _push(self, groups: Iterable[Group]) -> list[int]:
        """Add groups of blocks; return the index at which each begins."""
        starts: list[int] = []
        weights: list[int] = []
        own = self.symbols
        for symbols, tokens in groups:
            starts.append(len(own))
            own += symbols
            weights += tokens
        if weights:
            self._keys += [0] * len(weights)
            weights[0] += self.tokens
            self.totals += accumulate(weights)
            self.tokens = self.totals[-1]
        return starts
