"""Blocks whose sizes are told, not counted: what a recording says that its messages came to."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate, compress, pairwise

import msgspec

from compactlab.sim.blocks import Blocks, Group
from compactlab.sim.message import Message, Part
from compactlab.sim.tokens import Tokenizer

# An answer of which less was counted than this share of its own text was not counted to its end.
WHOLE = 0.9


class Sized(Blocks):
    """Blocks of known sizes: of messages as told, of what has no text by itself.

    Parameters
    ----------
    tokenizer
        Estimates what was not told.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__(tokenizer)
        # The message is held too: an id may be given again once its object is gone.
        self._told: dict[int, tuple[Message, int, bool]] = {}

    def knows(self, message: Message) -> bool:
        """Whether the size of a message was told."""
        return id(message) in self._told

    def tell(self, message: Message, tokens: int, *, bare: bool = False) -> None:
        """Tell the size of a message; bare, what is left of it without its thinking."""
        self._told[id(message)] = message, tokens, bare
        self._known.pop(id(message), None)

    def shift(self, message: Message, tokens: int) -> None:
        """Tell that a message, whose size was told, has so many tokens more."""
        known, told, bare = self._told[id(message)]
        self.tell(known, max(0, told + tokens), bare=bare)

    def thinks(self, message: Message) -> bool:
        """Whether a message holds thinking."""
        self.tokens(message)
        return id(message) in self.thoughts

    def left(self, message: Message) -> int:
        """Tokens of a message without its thinking."""
        whole = self.tokens(message)
        bare = self.thoughts.get(id(message))
        return whole if bare is None else sum(bare[1])

    def of_system(self, parts: tuple[Part, ...]) -> Group:
        """What has no text counts as it is; a block is the same one at any size."""
        named = tuple(
            msgspec.structs.replace(p, size=1) if p.kind == "opaque" else p for p in parts
        )
        symbols, tokens = super().of_system(named)
        sizes = zip(parts, tokens, strict=True)
        return symbols, tuple(p.size if p.kind == "opaque" else n for p, n in sizes)

    def sizes(self, message: Message) -> tuple[int, ...]:
        """Count the parts of a message, or share out among them what was told of it."""
        counted = super().sizes(message)
        known = self._told.get(id(message))
        if known is None:
            return told_out(_written(message), counted) if _is_whole(message, counted) else counted
        _, told, bare = known
        if not bare:
            return told_out(told, counted)
        spoken = [part.type != "thinking" for part in message.parts]
        shares = iter(told_out(told, compress(counted, spoken)))
        both = zip(counted, spoken, strict=True)
        return tuple(next(shares) if said else tokens for tokens, said in both)


def _written(message: Message) -> int:
    """Tokens that the model was recorded to have written; an answer weighs what it cost."""
    usage = message.call.usage if message.call else None
    return usage.output if usage else 0


def _is_whole(message: Message, counted: Iterable[int]) -> bool:
    """Whether a whole answer was counted: some logs note what had come so far, or nothing."""
    said = sum(n for n, part in zip(counted, message.parts, strict=True) if part.type != "thinking")
    written = _written(message)
    return written > 0 and written >= WHOLE * said


def told_out(whole: int, shares: Iterable[int]) -> tuple[int, ...]:
    """Split a number into whole numbers in proportion to shares; evenly, if those are all 0.

    Examples
    --------
    >>> told_out(10, [1, 1, 2])
    (2, 3, 5)
    >>> told_out(3, [0, 0])
    (1, 2)
    """
    shares = list(shares)
    if not any(shares):
        shares = [1] * len(shares)
    total = sum(shares) or 1  # among nobody there is nothing to share
    ends = [whole * so_far // total for so_far in accumulate(shares, initial=0)]
    return tuple(end - start for start, end in pairwise(ends))
