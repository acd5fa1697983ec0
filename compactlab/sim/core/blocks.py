"""Blocks: the content of messages for caches and bills, with a symbol and a size each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from itertools import compress

from compactlab.sim.core.message import Message, Part, Weight, forget_weights
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.core.view import View

# Symbols are elements of a prime field, so that a prompt's keys can be computed from them.
PRIME = (1 << 60) - 93

Group = tuple[tuple[int, ...], tuple[int, ...]]
"""Symbols of the blocks of one message, and their tokens."""


class Blocks:
    """Caches the blocks of messages.

    The same messages are sent again and again, by one strategy after another.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._system: tuple[tuple[Part, ...], int] = ((), 0)
        # The message is stored too: after its deletion, its id() may be reused.
        self._known: dict[int, tuple[Message, Group, int]] = {}
        # Messages with recorded sizes that differ from the counts of their texts.
        self._sizes: dict[int, tuple[Message, tuple[int, ...]]] = {}
        # For messages with thinking, by id(): the blocks without it.
        self.thoughts: dict[int, Group] = {}

    @property
    def weight(self) -> Weight:
        """The token weight of a message: one object, which identifies cumulative sums.

        It is this object itself: a stored bound method would keep it and all messages alive.
        """
        return self

    def __call__(self, message: Message) -> int:
        return (self._known.get(id(message)) or self._learn(message))[2]

    def of(self, messages: Iterable[Message]) -> list[Group]:
        """Return the symbols and tokens of the parts of each message."""
        known = self._known
        return [(known.get(id(m)) or self._learn(m))[1] for m in messages]

    def tokens(self, message: Message) -> int:
        return (self._known.get(id(message)) or self._learn(message))[2]

    def of_system(self, parts: tuple[Part, ...]) -> Group:
        """Return the symbols and tokens of the parts of the system prompt."""
        return _symbols("system", parts), tuple(map(self.tokenizer.part, parts))

    def of_view(self, view: View) -> int:
        if view.system is not self._system[0]:
            self._system = view.system, sum(map(self.tokenizer.part, view.system))
        return self._system[1] + view.messages.total(self.weight)

    def sizes(self, message: Message) -> tuple[int, ...]:
        """Count the parts of a message, unless their sizes are known."""
        known = self._sizes.get(id(message))
        return known[1] if known is not None else tuple(map(self.tokenizer.part, message.parts))

    def set_sizes(self, message: Message, sizes: tuple[int, ...]) -> None:
        """Set the sizes of a message's parts; without sizes, its texts are counted again.

        A strategy's replacement is another message with sizes of its own.
        """
        known = self._sizes.pop(id(message), (message, ()))[1]
        if sizes:
            self._sizes[id(message)] = message, sizes
        if known != sizes:
            self._known.pop(id(message), None)

    @property
    def sized(self) -> bool:
        return bool(self._sizes)

    def _learn(self, message: Message) -> tuple[Message, Group, int]:
        blocks = _symbols(message.role, message.parts), self.sizes(message)
        known = message, blocks, sum(blocks[1])
        self._known[id(message)] = known
        types = [part.type for part in message.parts]
        if "thinking" in types:
            spoken = [type != "thinking" for type in types]
            symbols, tokens = (tuple(compress(of, spoken)) for of in blocks)
            self.thoughts[id(message)] = symbols, tokens
        return known


_blocks: dict[Tokenizer, Blocks] = {}


def blocks_of(tokenizer: Tokenizer) -> Blocks:
    """Return the blocks of a tokenizer, shared by all replays until they are cleared."""
    known = _blocks.get(tokenizer)
    if known is None:
        known = _blocks[tokenizer] = Blocks(tokenizer)
    return known


def forget_blocks() -> None:
    """Clear the caches of messages, so that they do not grow with every conversation."""
    _blocks.clear()
    forget_weights()


def _symbols(role: str, parts: Iterable[Part]) -> tuple[int, ...]:
    return tuple([_symbol(role, part) for part in parts])


def _symbol(role: str, part: Part) -> int:
    """Return the symbol of a part's content; without text, that of its source."""
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
    return int.from_bytes(digest, "big") % (PRIME - 1) + 1
