"""A prompt as a provider's cache sees it: a chain of blocks, each named by all that leads to it.

Block *i* has a key that depends on the content of blocks 0 to *i*, so two prompts share a prefix
exactly as far as their keys are equal. Moving from one prompt to the next touches only what is
not shared, so a session that only grows costs the same at every call; and a key is computed when
a cache asks for it, which of most blocks none ever does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from itertools import accumulate
from operator import mul

from compactlab.sim.message import Message, Part
from compactlab.sim.tokens import Tokenizer
from compactlab.sim.view import Messages, View
from compactlab.sim.weight import Weight, forget_weights

# Keys are values of a polynomial over a prime field, a block a coefficient: cheap to extend, and at
# a million blocks two different prefixes collide with a probability below 1e-12.
_PRIME = (1 << 60) - 93
_BASE = 0x9E3779B97F4A7C1
_powers = [1]
# Fewer blocks are added up anew as fast as what they came to can be moved.
_MANY = 50

# Name of a system part that holds what a client puts between the system prompt and the messages
# (project files, environment): sent with every prompt, but not marked for the cache on its own.
CLIENT_CONTEXT = "client context"

_Blocks = tuple[tuple[int, ...], tuple[int, ...]]


class Blocks:
    """Remembers what messages are made of, as a cache and a bill see it.

    The same messages are sent again and again, by one strategy after the other.

    Parameters
    ----------
    tokenizer
        Counts the blocks.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.weight: Weight = self.tokens  # one object, by which running sums are found again
        self._system: tuple[tuple[Part, ...], int] = ((), 0)
        # The message is held too: an id may be given again once its object is gone.
        self._known: dict[int, tuple[Message, _Blocks, int]] = {}

    def of(self, messages: Iterable[Message]) -> Iterator[_Blocks]:
        """Of each message, the symbols and the tokens of its parts."""
        known = self._known
        return ((known.get(id(m)) or self._learn(m))[1] for m in messages)

    def tokens(self, message: Message) -> int:
        """Tokens of a message."""
        return (self._known.get(id(message)) or self._learn(message))[2]

    def of_system(self, parts: tuple[Part, ...]) -> _Blocks:
        """Symbols and tokens of the parts of the system prompt."""
        return self._blocks("system", parts)

    def of_view(self, view: View) -> int:
        """Tokens of a view."""
        if view.system is not self._system[0]:
            self._system = view.system, sum(map(self.tokenizer.part, view.system))
        return self._system[1] + view.messages.total(self.weight)

    def _blocks(self, role: str, parts: tuple[Part, ...]) -> _Blocks:
        count = self.tokenizer.part
        return tuple(_symbol(role, part) for part in parts), tuple(map(count, parts))

    def _learn(self, message: Message) -> tuple[Message, _Blocks, int]:
        blocks = self._blocks(message.role, message.parts)
        known = message, blocks, sum(blocks[1])
        self._known[id(message)] = known
        return known


_blocks: dict[Tokenizer, Blocks] = {}


def blocks_of(tokenizer: Tokenizer) -> Blocks:
    """The memory of a tokenizer, shared by all replays until it is dropped."""
    known = _blocks.get(tokenizer)
    if known is None:
        known = _blocks[tokenizer] = Blocks(tokenizer)
    return known


def forget_blocks() -> None:
    """Drop the memory of messages, so that it does not grow with every conversation."""
    _blocks.clear()
    forget_weights()


def _symbol(role: str, part: Part) -> int:
    """Name what a model reads of a part; where there is no text, where it comes from."""
    type, name, call, text = part.type, part.name, part.call_id, part.text
    error = str(part.is_error)
    written = (
        f"{len(role)}:{role}{len(type)}:{type}{len(name)}:{name}{len(call)}:{call}"
        f"{len(error)}:{error}{len(text)}:{text}"
    )
    if part.size:
        rest = (str(part.size), *(source.id for source in part.sources))
        written += "".join(f"{len(piece)}:{piece}" for piece in rest)
    digest = hashlib.blake2b(written.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % (_PRIME - 1) + 1


class Prompt:
    """The prompt of a session under one tokenizer, moved from view to view.

    Parameters
    ----------
    tokenizer
        Counts its blocks.

    Attributes
    ----------
    view
        What the prompt now is.
    symbols
        What each block is: system blocks first, then the parts of the messages.
    totals
        Tokens up to and including each block.
    tokens
        Tokens of the whole prompt.
    front
        How many blocks stand before what a client adds to each session (see
        :data:`CLIENT_CONTEXT`): tools and system prompt, which clients mark for the cache.
    starts
        Index of the first block of each message.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.blocks = blocks_of(tokenizer)
        self.view = View()
        self.symbols: list[int] = []
        self.totals: list[int] = []
        self.tokens = 0
        self.front = 0
        self.starts: list[int] = []
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
        if not keys[block]:
            while len(_powers) <= block:
                _powers.append(_powers[-1] * _BASE % _PRIME)
            first = block
            while first and not keys[first - 1]:
                first -= 1
            known = keys[first - 1] if first else 0
            span = slice(first, block + 1)
            keys[block] = (known + sum(map(mul, self.symbols[span], _powers[span]))) % _PRIME
        return keys[block]

    def move(self, view: View) -> None:
        """Become the prompt of another view."""
        system, before, messages = view.system, self.view.messages, view.messages
        if system is not self.view.system and system != self.view.system:
            self._cut(0)
            self.starts.clear()
            self._push([self.blocks.of_system(system)])
            names = [part.name for part in system]
            self.front = names.index(CLIENT_CONTEXT) if CLIENT_CONTEXT in names else len(names)
            before = Messages()
        same, gone, come = before.edit(messages)
        if same < len(before):
            self._edit(same, gone, messages[same:come])
        known = come + len(before) - gone
        if known < len(messages):
            self.starts += self._push(self.blocks.of(messages[known:]))
        self.view = view

    def mark_sent(self) -> None:
        """Remember this prompt as the one that was last sent."""
        self._agreed, self._rest = len(self.symbols), []

    @property
    def sent(self) -> int:
        """Tokens of the leading blocks that it shares with the prompt that was last sent."""
        if self._rest:
            same = 0
            for old, new in zip(self._rest, self.symbols[self._agreed :], strict=False):
                if old != new:
                    break
                same += 1
            self._agreed, self._rest = self._agreed + same, self._rest[same:]
        return self.totals[self._agreed - 1] if self._agreed else 0

    def _edit(self, same: int, gone: int, come: Messages) -> None:
        """Put other messages in the place of some; what is behind them moves, and is not read."""
        starts, end = self.starts, len(self.symbols)
        next = starts[gone] if gone < len(starts) else end
        symbols, totals, later = self.symbols[next:], self.totals[next:], starts[gone:]
        tokens = self.totals[next - 1] if next else 0
        last, part = self._last_known(next) if end - next > _MANY else (0, 0)
        self._cut(starts[same])
        del starts[same:]
        if come:
            starts += self._push(self.blocks.of(come))
        moved, more = len(self.symbols) - next, self.tokens - tokens
        self.symbols += symbols
        self.totals += [total + more for total in totals] if more else totals
        starts += [start + moved for start in later] if moved else later
        self._keys += [0] * len(symbols)
        self.tokens = self.totals[-1] if self.totals else 0
        if part:
            before = self.key(next + moved - 1) if next + moved else 0
            self._keys[last + moved] = (before + part * pow(_BASE, moved, _PRIME)) % _PRIME

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

    def _push(self, groups: Iterable[_Blocks]) -> list[int]:
        """Add groups of blocks; return the index at which each begins."""
        starts: list[int] = []
        weights: list[int] = []
        for symbols, tokens in groups:
            starts.append(len(self.symbols))
            self.symbols += symbols
            weights += tokens
        if weights:
            self._keys += [0] * len(weights)
            weights[0] += self.tokens
            self.totals += accumulate(weights)
            self.tokens = self.totals[-1]
        return starts
