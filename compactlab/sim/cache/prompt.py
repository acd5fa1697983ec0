"""A prompt for a provider's cache: a chain of blocks, with a key for each prefix.

The key of block *i* depends on the content of blocks 0 to *i*, so two prompts share a prefix
exactly as far as their keys are equal. Moving to the next prompt only touches the difference. So
each call of a growing session costs the same. Keys are computed on demand, which for most blocks
never happens.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache, partial
from itertools import accumulate, chain
from operator import mul
from typing import NamedTuple

import msgspec

from compactlab.sim.core.blocks import PRIME, Blocks, Group, blocks_of
from compactlab.sim.core.message import Part
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.core.view import Edit, View

# Keys are values of a polynomial over a prime field with a coefficient per block: cheap to extend,
# and with a million blocks two different prefixes collide with a probability below 1e-12.
_BASE = 0x9E3779B97F4A7C1
_powers = [1]
# Factors for moving a sum of blocks; the inverse is expensive to compute.
_shift = lru_cache(maxsize=4096)(partial(pow, _BASE, mod=PRIME))
# Up to this many blocks, a new sum is as fast as moving the old one.
_MANY = 50

# Name of a system part with the client's content between system prompt and messages (project files,
# environment): sent with every prompt, but without a cache mark of its own.
CLIENT_CONTEXT = "client context"
# Name of the system parts that define tools; they come first.
TOOLS = "tools"


class Prompt:
    """The prompt of a session for one tokenizer, moved from view to view."""

    def __init__(
        self, tokenizer: Tokenizer, *, strips: bool = False, blocks: Blocks | None = None
    ) -> None:
        self.blocks = blocks_of(tokenizer) if blocks is None else blocks
        self._strips = strips
        # The first old message whose thinking the last move removed or restored.
        self.stripped: int | None = None
        # Number of leading messages without their thinking; None if there is no thinking.
        self._bare: int | None = None
        self.view = View()
        self.symbols: list[int] = []  # symbol of each block: system first, then parts of messages
        self.totals: list[int] = []  # tokens up to and including each block
        self.tokens = 0
        # Number of blocks before the client's addition to each session (see CLIENT_CONTEXT).
        self.front = self.tools = 0
        self.starts: list[int] = []  # index of the first block of each message
        # The last sent prompt: the first so many blocks of this one, and these symbols.
        self._agreed = 0
        self._rest: list[int] = []
        # The known keys; 0 for unknown ones.
        self._keys: list[int] = []

    @property
    def keys(self) -> list[int]:
        return [*map(self.key, range(len(self.symbols)))]

    def key(self, block: int) -> int:
        """Return the key of a block, computed from the last known one before it."""
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
        """Change to the prompt of another view."""
        system, before, messages = view.system, self.view.messages, view.messages
        edit = before.edit(messages)
        same, gone, come = edit
        known = come + len(before) - gone
        anew = system is not self.view.system and system != self.view.system
        edited = same < gone or same < come  # otherwise messages were only appended
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
        # Within a turn no thinking is removed, which is true for nearly every call.
        if thinks and (edited or any(message.starts_turn for message in new)):
            self._strip(edit, known, anew)

    def _begin(self, system: tuple[Part, ...]) -> None:
        """Start a new prompt with these system blocks."""
        self._cut(0)
        self.starts.clear()
        self._push([self.blocks.of_system(system)])
        names = [part.name for part in system]
        self.front = names.index(CLIENT_CONTEXT) if CLIENT_CONTEXT in names else len(names)
        self.tools = names.count(TOOLS)

    def _strip(self, edit: Edit, known: int, anew: bool) -> None:
        """Drop the thinking of earlier turns; old messages are only checked if changed."""
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
        """Return the indices of messages in a range that contain thinking."""
        if first >= stop:
            return []
        thoughts, some = self.blocks.thoughts, self.view.messages.between(first, stop)
        return [index for index, message in enumerate(some, first) if id(message) in thoughts]

    def _write(self, first: int, stop: int, turn: int) -> None:
        """Rewrite a range of messages, with thinking from the start of the last turn on."""
        messages, thoughts = self.view.messages.between(first, stop), self.blocks.thoughts
        both = enumerate(zip(messages, self.blocks.of(messages), strict=True), first)
        groups = [
            thoughts.get(id(message), blocks) if index < turn else blocks
            for index, (message, blocks) in both
        ]
        self._edit(first, stop, groups)

    def _turn(self, edit: Edit, known: int) -> int:
        """Return the index at which the last turn starts; 0 if there is none.

        The known index is reused unless it changed: only new messages are checked.
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
        """Return the index of the last message in a range that starts a turn."""
        some = self.view.messages.between(first, stop)
        for index in range(len(some) - 1, -1, -1):
            if some[index].starts_turn:
                return first + index
        return None

    @property
    def bare(self) -> int:
        """The number of leading messages without their thinking."""
        return self._bare or 0

    def mark_sent(self) -> None:
        """Store this prompt as the last one sent."""
        self._agreed, self._rest = len(self.symbols), []

    @property
    def agreed(self) -> int:
        """The number of leading blocks shared with the last sent prompt."""
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
        """The tokens of those blocks."""
        agreed = self.agreed
        return self.totals[agreed - 1] if agreed else 0

    def _edit(self, same: int, gone: int, come: Iterable[Group]) -> None:
        """Replace some messages; later blocks are moved without being read."""
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
        """Return the last block from one on whose key is known, and the sum in between."""
        for last in range(len(self.symbols) - 1, block - 1, -1):
            if self._keys[last]:
                return last, self._keys[last] - (self.key(block - 1) if block else 0)
        return 0, 0

    def _cut(self, block: int) -> None:
        """Remove all blocks from one on; keep those of the last sent prompt."""
        if block:
            self.key(block - 1)  # otherwise the next key would be computed from far before
        self._disagree(block)
        del self.symbols[block:], self.totals[block:], self._keys[block:]
        self.tokens = self.totals[-1] if self.totals else 0

    def _disagree(self, block: int) -> None:
        """Record that the last sent prompt differs from this block on."""
        if block < self._agreed:
            self._rest = self.symbols[block : self._agreed] + self._rest
            self._agreed = block

    def _push(self, groups: Iterable[Group]) -> list[int]:
        """Append groups of blocks; return the first index of each."""
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


# The earlier prompt that a prompt extends: all sent prompts are one tree.
#
# Prompts with a common beginning share a path, and each block is in the tree once, as part of
# the first request that contained it. So the common prefix of any two prompts follows from three
# numbers per request, without whole prompts.


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
