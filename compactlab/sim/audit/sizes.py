"""How large the prompts of a recording were: as recorded, or rebuilt from the text.

What a client sends and does not log (tool definitions, system prompt, project files) stands in
front as blocks without text. Their sizes follow from the first recorded prompt; from then on a
prompt is either what the log adds up to, or what was recorded, told out among what is new.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from compactlab.sim.blocks import Blocks, Group
from compactlab.sim.message import Message, Part
from compactlab.sim.prompt import CLIENT_CONTEXT
from compactlab.sim.tokens import Tokenizer

# Tools and system prompt of a coding agent in tokens, until something is known of a client's own:
# median of what was read after a compaction (80 compactions of Claude Code, 2026-11; 17 to 34 K).
TOOLS_AND_SYSTEM = 28_000
# A whole first prompt, for logs that begin in the middle (median of the same 202 sessions).
FIRST_PROMPT = 42_000


class Sized(Blocks):
    """Blocks of known sizes: of messages as told, of what has no text by itself.

    Parameters
    ----------
    tokenizer
        Estimates what was not told.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__(tokenizer)
        self._told: dict[int, int] = {}

    def knows(self, message: Message) -> bool:
        """Whether the size of a message was told."""
        return id(message) in self._told

    def tell(self, message: Message, tokens: int) -> None:
        """Tell the size of a message."""
        self._told[id(message)] = tokens
        self._known.pop(id(message), None)

    def of_system(self, parts: tuple[Part, ...]) -> Group:
        """What has no text counts as it is; a block is the same one at any size."""
        named = tuple(msgspec.structs.replace(p, size=1) if p.size else p for p in parts)
        symbols, tokens = super().of_system(named)
        sizes = zip(parts, tokens, strict=True)
        return symbols, tuple(part.size or counted for part, counted in sizes)

    def sizes(self, message: Message) -> tuple[int, ...]:
        """Count the parts of a message, or share out among them what was told."""
        counted = super().sizes(message)
        told = self._told.get(id(message))
        return counted if told is None else told_out(told, counted)


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
    total = sum(shares)
    if not total:
        shares, total = [1] * len(shares), len(shares)
    ends = [whole * sum(shares[: index + 1]) // total for index in range(len(shares))]
    return tuple(end - start for start, end in zip([0, *ends], ends, strict=False))


def hidden(system: int, context: int, edits: int = 0) -> tuple[Part, ...]:
    """System parts for what a client sends and does not log.

    Parameters
    ----------
    system
        Tokens of tool definitions and system prompt.
    context
        Tokens of what else stands in front of the messages.
    edits
        How often the client changed that without telling.
    """
    front = Part("text", "", "opaque", (), name="tools and system prompt", size=system)
    behind = Part("text", str(edits), "opaque", (), name=CLIENT_CONTEXT, size=context)
    return (front, behind) if context else (front,)
