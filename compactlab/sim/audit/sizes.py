"""How large the prompts of a recording were: as recorded, or rebuilt from the text.

What a client sends and does not log (tool definitions, system prompt, project files) stands in
front as blocks without text. Their sizes follow from the first recorded prompt; from then on a
prompt is either what the log adds up to, or what was recorded, told out among what is new.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import compress
from typing import Literal

import msgspec

from compactlab.sim.audit.exchange import Exchange
from compactlab.sim.blocks import Blocks, Group
from compactlab.sim.conversation import Conversation
from compactlab.sim.message import Message, Part
from compactlab.sim.prompt import CLIENT_CONTEXT, Prompt
from compactlab.sim.tokens import Tokenizer
from compactlab.sim.view import Messages, View

Sizes = Literal["recorded", "rebuilt"]

# Tools and system prompt of a coding agent in tokens, until something is known of a client's own:
# median of what was read after a compaction (80 compactions of Claude Code, 2026-11; 17 to 34 K).
TOOLS_AND_SYSTEM = 28_000
# A whole first prompt, for logs that begin in the middle (median of the same 202 sessions).
FIRST_PROMPT = 42_000
# An answer of which less was counted than this share of its own text was not counted to its end.
WHOLE = 0.9
# Less than so much lost is no rebuild: the threshold of a third party's cache report (cachemiss).
REBUILD = 4_000


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
    """Whether the recorded output is of a whole answer: some logs note what had come so far."""
    said = sum(n for n, part in zip(counted, message.parts, strict=True) if part.type != "thinking")
    return _written(message) >= WHOLE * said


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


class Front:
    """What a client sends in front of the messages and does not log, and how large prompts are.

    Parameters
    ----------
    blocks
        Sizes of messages; told here, if prompts are to be as large as recorded.
    conversation
        The recording.
    sizes
        Whether they are.

    Attributes
    ----------
    system
        Tokens of tool definitions and system prompt.
    edited
        Whether the last prompt measured was smaller than the log adds up to: then the client has
        taken something out without telling, as those do that clear old results.
    stripped
        The first message of which it left out thinking that the one before had; None if none.
    """

    def __init__(self, blocks: Sized, conversation: Conversation, sizes: Sizes) -> None:
        self._blocks, self._sizes = blocks, sizes
        self._written = conversation.system
        self._inside = conversation.starts_inside
        self._counted = sum(map(blocks.tokenizer.part, conversation.system))
        self.system = self._context = self._edits = 0
        self.edited = False
        self.stripped: int | None = None
        self._bare = self._changed = 0
        self._first = 0  # the first prompt since the last compaction
        self._last = Messages()

    def view(self, messages: Messages) -> View:
        """Messages as a whole prompt."""
        behind = Part("text", str(self._edits), "opaque", (), CLIENT_CONTEXT, size=self._context)
        return View((self._system, behind, *self._written), messages)

    def alone(self) -> View:
        """Only what every session of the client has in front."""
        return View((self._system,))

    @property
    def _system(self) -> Part:
        return Part("text", "", "opaque", (), "tools and system prompt", size=self.system)

    def measure(self, exchange: Exchange, prompt: Prompt) -> None:
        """See how large the prompt of a call was, before it is sent."""
        recorded = self._sizes == "recorded"
        whole = exchange.cached if recorded else exchange.usage.prompt
        context, compacted = exchange.context, exchange.compacted is not None
        prompt.move(self.view(context))
        self.stripped, self._bare, self.edited = prompt.stripped, prompt.bare, False
        self._changed = shared = self._last.shared(context)
        if not self._first:
            self._begin(context, whole)
        elif recorded:
            self._tell(context, whole - prompt.tokens, shared)
        elif compacted and self._inside:
            # What was said before the log began is gone now; how large the rest is, shows later.
            self._context = max(0, min(self._context, FIRST_PROMPT - self.system))
        if recorded:  # so that what was told of now is taken at its size
            prompt.move(self.view(context[: self._changed]))
        if compacted or not self._first:
            self._first = whole
        self._last = context

    def _begin(self, context: Messages, whole: int) -> None:
        """Divide the first prompt into what the log shows and what it does not."""
        all = range(len(context))
        shown = sum(self._counts(context, all))
        hidden = max(0, whole - shown - self._counted)
        self.system = min(TOOLS_AND_SYSTEM, hidden)
        self._context = hidden - self.system
        if self._sizes == "recorded":
            self._share(context, all, min(shown, max(0, whole - self._counted)))

    def _tell(self, context: Messages, more: int, shared: int) -> None:
        """Share out among what is new by how much the prompt is larger than it seems."""
        new = [i for i in range(shared, len(context)) if not self._blocks.knows(context[i])]
        left = more + sum(self._counts(context, new))
        if left < 0:
            old = sorted({*range(len(context))}.difference(new))
            if self.stripped is not None:
                # What was taken out was smaller than it had seemed: so the rest of that is, too.
                left += self._shrink(context, [i for i in old if i >= self.stripped], -left)
            if left < 0:
                left = self._edit(context, old, left, left - more)
        self._share(context, new, left)

    def _edit(self, context: Messages, old: Sequence[int], left: int, wanted: int) -> int:
        """Something was taken out without telling; return what that leaves for what is new."""
        self.edited = True
        self._edits += 1
        taken = min(self._context, wanted - left)
        self._context -= taken
        left += taken
        if left < 0:
            left += self._shrink(context, old, -left)
        taken = min(self.system, max(0, -left))
        self.system -= taken
        return max(0, left + taken)

    def _counts(self, context: Messages, places: Iterable[int]) -> list[int]:
        """Tokens of messages in the prompt: those of earlier turns may stand without thinking."""
        blocks, bare = self._blocks, self._bare
        both = ((place < bare, context[place]) for place in places)
        return [blocks.left(m) if without else blocks.tokens(m) for without, m in both]

    def _share(self, context: Messages, places: Sequence[int], whole: int) -> None:
        """Tell messages that they come to so much together."""
        counts = self._counts(context, places)
        for place, tokens in zip(places, told_out(whole, counts), strict=True):
            self._blocks.tell(context[place], tokens, bare=place < self._bare)
            self._changed = min(self._changed, place)

    def _shrink(self, context: Messages, places: Sequence[int], by: int) -> int:
        """Messages are smaller than they had seemed; return how much smaller they can be."""
        whole = sum(self._counts(context, places))
        taken = min(whole, by)
        self._share(context, places, whole - taken)
        return taken

    def learn(self, exchange: Exchange, before: int) -> None:
        """Look at what was read: where the messages are not found, only what stands before them."""
        read, whole = exchange.usage.cache_read, exchange.usage.prompt
        if exchange.compacted is not None and self._sizes == "rebuilt":
            shown = sum(map(self._blocks.tokens, exchange.context)) + self._counted
            self._context = max(0, whole - shown - self.system)
        lost = not before or read < before - REBUILD
        known_start = before or not self._inside
        if lost and known_start and 0 < read < min(self._first, whole) - REBUILD:
            context = self._context + self.system - read
            if context < 0 and self._sizes == "recorded":
                self._shrink(self._last, range(len(self._last)), -context)
            self._context, self.system = max(0, context), read
