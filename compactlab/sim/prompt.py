"""A prompt as a provider's cache sees it: a chain of blocks, each named by all that leads to it.

Block *i* gets a key that depends on the content of blocks 0 to *i*, so two prompts share a prefix
exactly as far as their keys are equal. Moving from one prompt to the next touches only what is
not shared, so a session that only grows costs the same at every call.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from compactlab.sim.message import Message, Part
from compactlab.sim.tokens import Tokenizer
from compactlab.sim.view import View

# Keys are values of a polynomial over a prime field: cheap to extend, and at a million blocks
# two different prefixes collide with a probability below 1e-12.
_PRIME = (1 << 61) - 1
_BASE = 0x1E3779B97F4A7C15

# Name of a system part that holds what a client puts between the system prompt and the messages
# (project files, environment): sent with every prompt, but not marked for the cache on its own.
CLIENT_CONTEXT = "client context"

_Blocks = tuple[tuple[int, int], ...]


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
        # The message is held too: an id may be given again once its object is gone.
        self._known: dict[int, tuple[Message, _Blocks, int]] = {}

    def of(self, message: Message) -> _Blocks:
        """Symbol and tokens of each part of a message."""
        return (self._known.get(id(message)) or self._learn(message))[1]

    def tokens(self, message: Message) -> int:
        """Tokens of a message."""
        return (self._known.get(id(message)) or self._learn(message))[2]

    def of_system(self, parts: tuple[Part, ...]) -> _Blocks:
        """Symbol and tokens of each part of the system prompt."""
        return tuple((_symbol("system", part), self.tokenizer.part(part)) for part in parts)

    def _learn(self, message: Message) -> tuple[Message, _Blocks, int]:
        role, count = message.role, self.tokenizer.part
        blocks = tuple((_symbol(role, part), count(part)) for part in message.parts)
        known = message, blocks, sum(tokens for _, tokens in blocks)
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


def _symbol(role: str, part: Part) -> int:
    """Name what a model reads of a part; where there is no text, where it comes from."""
    content = [role, part.type, part.name, part.call_id, str(part.is_error), part.text]
    if part.size:
        content += [str(part.size), *(source.id for source in part.sources)]
    written = "".join(f"{len(piece)}:{piece}" for piece in content)
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
    keys
        Key of each block: system blocks first, then the parts of the messages.
    totals
        Tokens up to and including each block.
    front
        How many blocks stand before what a client adds to each session (see
        :data:`CLIENT_CONTEXT`): tools and system prompt, which clients mark for the cache.
    starts
        Index of the first block of each message.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.blocks = blocks_of(tokenizer)
        self.view = View()
        self.keys: list[int] = []
        self.totals: list[int] = []
        self.front = 0
        self.starts: list[int] = []
        # The prompt that was last sent: the first so many blocks of this one, and these keys.
        self._agreed = 0
        self._rest: list[int] = []

    @property
    def tokens(self) -> int:
        """Tokens of the whole prompt."""
        return self.totals[-1] if self.totals else 0

    def move(self, view: View) -> None:
        """Become the prompt of another view."""
        kept = self.view.messages.shared(view.messages)
        if view.system != self.view.system:
            self._cut(0)
            kept = 0
            self._push([self.blocks.of_system(view.system)])
            names = [part.name for part in view.system]
            self.front = names.index(CLIENT_CONTEXT) if CLIENT_CONTEXT in names else len(names)
        elif kept < len(self.starts):
            self._cut(self.starts[kept])
        del self.starts[kept:]
        self.starts += self._push(map(self.blocks.of, view.messages[kept:]))
        self.view = view

    def mark_sent(self) -> None:
        """Remember this prompt as the one that was last sent."""
        self._agreed, self._rest = len(self.keys), []

    @property
    def sent(self) -> int:
        """Tokens of the leading blocks that it shares with the prompt that was last sent."""
        same = 0
        for old, new in zip(self._rest, self.keys[self._agreed :], strict=False):
            if old != new:
                break
            same += 1
        self._agreed, self._rest = self._agreed + same, self._rest[same:]
        return self.totals[self._agreed - 1] if self._agreed else 0

    def _cut(self, block: int) -> None:
        """Forget all blocks from one on, but for what was sent of them."""
        if block < self._agreed:
            self._rest = self.keys[block : self._agreed] + self._rest
            self._agreed = block
        del self.keys[block:], self.totals[block:]

    def _push(self, groups: Iterable[_Blocks]) -> list[int]:
        """Add groups of blocks; return the index at which each begins."""
        keys, totals = self.keys, self.totals
        key, total = (keys[-1], totals[-1]) if keys else (0, 0)
        starts = []
        for group in groups:
            starts.append(len(keys))
            for symbol, tokens in group:
                key = (key * _BASE + symbol) % _PRIME
                total += tokens
                keys.append(key)
                totals.append(total)
        return starts

    def end_of(self, index: int) -> int:
        """Tokens up to and including the message of that index; of -1, the system blocks."""
        end = self.starts[index + 1] if index + 1 < len(self.starts) else len(self.keys)
        return self.totals[end - 1] if end else 0
