"""How large the prompts of a recording were: as recorded, or rebuilt from the text.

What a client sends and does not log (tool definitions, system prompt, project files) stands in
front as blocks without text. Their sizes follow from the first recorded prompt; from then on a
prompt is either what the log adds up to, or what was recorded, told out among what is new.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from compactlab.sim.audit.exchange import Exchange
from compactlab.sim.audit.sized import Sized, told_out
from compactlab.sim.conversation import Conversation
from compactlab.sim.message import Part
from compactlab.sim.messages import Messages
from compactlab.sim.prompt import CLIENT_CONTEXT, Prompt
from compactlab.sim.view import View

Sizes = Literal["recorded", "rebuilt"]

# Tools and system prompt of a coding agent in tokens, until something is known of a client's own:
# median of what was read after a compaction (80 compactions of Claude Code, 2026-11; 17 to 34 K).
TOOLS_AND_SYSTEM = 28_000
# A whole first prompt, for logs that begin in the middle (median of the same 202 sessions).
FIRST_PROMPT = 42_000
# Less than so much lost is no rebuild: the threshold of a third party's cache report (cachemiss).
REBUILD = 4_000
# What is read of a prompt that was stored is at most so much smaller (OpenAI's grid).
GRID = 128


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
        self._totals: set[int] = set()  # how large prompts were
        # The messages that were the last of a prompt, and how many then stood without thinking.
        self._ends: dict[str, int] = {}

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
        if context:
            self._ends[context[-1].id] = self._bare

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
        if left < 0 and shared < len(self._last):
            left += self._cut(context, new, left, shared)
        if left < 0:
            old = sorted({*range(len(context))}.difference(new))
            if self.stripped is not None:
                # What was taken out was smaller than it had seemed: so the rest of that is, too.
                left += self._shrink_with(
                    context, [i for i in old if i >= self.stripped], new, left
                )
            if left < 0:
                left = self._edit(context, old, left, left - more)
        self._share(context, new, left)

    def _cut(self, context: Messages, new: Sequence[int], left: int, shared: int) -> int:
        """Go back to the middle of what was told together; return what that leaves for the new.

        How it divides was a guess. What is too much before the cut is too little behind it, so
        that the prompts that ended behind it stay as large as they were.
        """
        start = shared
        while start and not self._measured(context, start):
            start -= 1
        taken = self._shrink_with(context, range(start, shared), new, left)
        if taken:
            self._blocks.shift(self._last[shared], taken)
        return taken

    def _shrink_with(
        self, context: Messages, old: Sequence[int], new: Sequence[int], left: int
    ) -> int:
        """Shrink old messages so far that what is new is not taken for less; return by how much."""
        known, wanted = (sum(self._counts(context, places)) for places in (old, new))
        kept, _ = told_out(max(0, known + left), (known, wanted))
        return self._shrink(context, old, known - kept)

    def _measured(self, context: Messages, end: int) -> bool:
        """Whether so many messages were a whole prompt, with the thinking that they have now."""
        bare = self._ends.get(context[end - 1].id)
        if bare is None:
            return False
        first, last = sorted(min(which, end) for which in (bare, self._bare))
        return not any(map(self._blocks.thinks, context[first:last]))

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
        is_front = lost and not any(0 <= total - read <= GRID for total in self._totals)
        self._totals.add(exchange.cached)
        if is_front and known_start and 0 < read < min(self._first, whole) - REBUILD:
            context = self._context + self.system - read
            if context < 0 and self._sizes == "recorded":
                self._shrink(self._last, range(len(self._last)), -context)
            self._context, self.system = max(0, context), read
