"""A prompt as a provider's cache sees it: a chain of blocks, each named by all that leads to it.

Block *i* gets a key that depends on the content of blocks 0 to *i*, so two prompts share a prefix
exactly as far as their keys are equal. Moving from one prompt to the next touches only what is
not shared, so a session that only grows costs the same at every call.
"""

from __future__ import annotations

import hashlib

from compactlab.sim.message import Message, Part
from compactlab.sim.tokens import Tokenizer
from compactlab.sim.view import Messages, View

# Keys are values of a polynomial over a prime field: cheap to extend, and at a million blocks
# two different prefixes collide with a probability below 1e-12.
_PRIME = (1 << 61) - 1
_BASE = 0x1E3779B97F4A7C15

# Name of a system part that holds what a client puts between the system prompt and the messages
# (project files, environment): sent with every prompt, but not marked for the cache on its own.
CLIENT_CONTEXT = "client context"

_Blocks = tuple[tuple[int, int], ...]


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
    sent
        Tokens of the leading blocks that it shares with the prompt before.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.view = View()
        self.keys: list[int] = []
        self.totals: list[int] = []
        self.front = 0
        self.starts: list[int] = []
        self.sent = 0
        self._memo: dict[int, tuple[Message, _Blocks]] = {}

    @property
    def tokens(self) -> int:
        """Tokens of the whole prompt."""
        return self.totals[-1] if self.totals else 0

    def move(self, view: View) -> None:
        """Become the prompt of another view."""
        if view.system == self.view.system:
            kept = self.view.messages.shared(view.messages)
        else:
            kept = -1
        cut = self._cut(kept)
        before = self.keys[cut:]
        del self.keys[cut:], self.totals[cut:], self.starts[max(kept, 0) :]
        if kept < 0:
            self._push(tuple((self._symbol("system", p), self.tokenizer.part(p)) for p in view.system))
            names = [part.name for part in view.system]
            self.front = names.index(CLIENT_CONTEXT) if CLIENT_CONTEXT in names else len(names)
        for message in view.messages[max(kept, 0) :]:
            self.starts.append(len(self.keys))
            self._push(self._blocks(message))
        self.view = view
        for old, new in zip(before, self.keys[cut : cut + len(before)], strict=False):
            if old != new:
                break
            cut += 1
        self.sent = self.totals[cut - 1] if cut else 0

    def _cut(self, kept: int) -> int:
        """Index of the first block that is not kept along with so many messages."""
        if kept < 0:
            return 0
        return self.starts[kept] if kept < len(self.starts) else len(self.keys)

    def _push(self, blocks: _Blocks) -> None:
        key = self.keys[-1] if self.keys else 0
        total = self.tokens
        for symbol, tokens in blocks:
            key = (key * _BASE + symbol) % _PRIME
            total += tokens
            self.keys.append(key)
            self.totals.append(total)

    def _blocks(self, message: Message) -> _Blocks:
        known = self._memo.get(id(message))
        if known is None:
            count, symbol, role = self.tokenizer.part, self._symbol, message.role
            blocks = tuple((symbol(role, part), count(part)) for part in message.parts)
            # The message is held too: an id may be given again once its object is gone.
            known = self._memo[id(message)] = (message, blocks)
        return known[1]

    @staticmethod
    def _symbol(role: str, part: Part) -> int:
        """Name what a model reads of a part; where there is no text, where it comes from."""
        content = [role, part.type, part.name, part.call_id, str(part.is_error), part.text]
        if part.size:
            content += [str(part.size), *(source.id for source in part.sources)]
        digest = hashlib.blake2b(
            "\x1f".join(content).encode("utf-8", "surrogatepass"), digest_size=8
        )
        return int.from_bytes(digest.digest(), "big") % (_PRIME - 1) + 1

    def messages_from(self, tokens: int) -> tuple[int, Messages]:
        """Index of the first message that reaches beyond so many tokens, and those from there."""
        low, high = 0, len(self.starts)
        while low < high:
            middle = (low + high) // 2
            end = self.starts[middle + 1] if middle + 1 < len(self.starts) else len(self.keys)
            if self.totals[end - 1] > tokens:
                high = middle
            else:
                low = middle + 1
        return low, self.view.messages[low:]

    def end_of(self, index: int) -> int:
        """Tokens up to and including the message of that index; of -1, the system blocks."""
        end = self.starts[index + 1] if index + 1 < len(self.starts) else len(self.keys)
        return self.totals[end - 1] if end else 0
