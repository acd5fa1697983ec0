"""The requests of a recording, and how large their prompts were: as recorded, or rebuilt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, compress, pairwise
from typing import Literal, NamedTuple

import msgspec

from compactlab.sim.cache.prompt import CLIENT_CONTEXT, TOOLS, Prompt
from compactlab.sim.core.blocks import Blocks, Group
from compactlab.sim.core.conversation import Compaction, Conversation, Rewind
from compactlab.sim.core.message import FAILED, INTERRUPTED, Call, Message, Part, Usage
from compactlab.sim.core.messages import Messages
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.core.view import View
from compactlab.sim.replay.recording import compacted

Key = tuple[str, float, Usage]


class Uncounted(NamedTuple):
    """A request without recorded tokens: it was broken off, or made a summary."""

    context: Messages
    time: float


@dataclass(frozen=True)
class Exchange:
    """A recorded call with what the log says of the time since the one before."""

    answer: Message
    call: Call
    usage: Usage
    context: Messages  # the messages it was sent, as far as the log has them
    arrived: tuple[Message, ...]  # since the last counted call, as all below
    time: float  # when it started: seconds since 1970
    compacted: Uncounted | None = None  # the request that compacted the context
    rewound: bool = False
    uncounted: tuple[Uncounted, ...] = ()  # requests that broke off
    gap: float = 0.0  # seconds since the last counted call started

    @property
    def cached(self) -> int:
        """Tokens of the prompt up to the last mark; all of it where nothing is marked or stored."""
        stored = self.usage.cache_read + self.usage.cache_write
        marked = stored and (self.usage.cache_write or self.call.ttl)
        return stored if marked else self.usage.prompt

    @property
    def opens_turn(self) -> bool:
        """Whether a person has spoken since the last call."""
        return any(message.starts_turn for message in self.arrived)

    @property
    def ends_turn(self) -> bool:
        """Whether its answer asks for no tool."""
        return not any(part.type == "tool_call" for part in self.answer.parts)

    @property
    def key(self) -> Key:
        """What a call has in common with its copy in another file."""
        return self.answer.id, self.answer.time, self.usage

    def bare(self) -> Exchange:
        """This call without texts: little to keep, where there are many sessions."""
        strip = msgspec.structs.replace
        asks = [strip(part, text="") for part in self.answer.parts if part.type == "tool_call"]
        spoken = [strip(message, parts=()) for message in self.arrived if message.starts_turn]
        return replace(
            self,
            answer=strip(self.answer, parts=tuple(asks[:1])),
            context=Messages(),
            arrived=tuple(spoken[:1]),
            compacted=self.compacted and Uncounted(Messages(), self.compacted.time),
            uncounted=(),
        )


def exchanges(conversation: Conversation) -> Iterator[Exchange]:
    """The counted calls of a recording, in order."""
    return _Log(conversation).read()


class _Log:
    """What has been read so far, and what of that came since the last counted call."""

    def __init__(self, conversation: Conversation) -> None:
        self._events = conversation.events
        targets = {event.to for event in conversation.events if isinstance(event, Rewind)}
        self._targets = targets
        self._known = {"": Messages()}
        self._context = Messages()
        self._clock = self._asked = 0.0
        self._forget()

    def _forget(self) -> None:
        self._arrived: list[Message] = []
        self._newest: float | None = None
        self._uncounted: list[Uncounted] = []
        self._compacted: Uncounted | None = None
        self._rewound = False

    def read(self) -> Iterator[Exchange]:
        """Go through the events."""
        for event in self._events:
            if isinstance(event, Compaction):
                self._compacted = Uncounted(self._context, event.time)
                self._context = compacted(self._context, event)
            elif isinstance(event, Rewind):
                self._context, self._rewound = self._known[event.to], True
            else:
                if event.call is not None and event.call.usage and event.call.usage.prompt:
                    yield self._exchange(event, event.call, event.call.usage)
                    self._forget()
                elif event.origin in (*FAILED, INTERRUPTED) or event.call is not None:
                    self._broken_off()
                self._take(event)

    def _exchange(self, answer: Message, call: Call, usage: Usage) -> Exchange:
        time = self._started(answer)
        gap, self._asked = time - self._asked if self._asked else 0.0, time
        return Exchange(
            answer,
            call,
            usage,
            self._context,
            tuple(self._arrived),
            time,
            self._compacted,
            self._rewound,
            tuple(self._uncounted),
            gap,
        )

    def _started(self, answer: Message | None = None) -> float:
        newest = self._newest or 0.0
        if not newest and answer is not None:
            newest = answer.time
        self._clock = max(self._clock, newest)
        return self._clock

    def _broken_off(self) -> None:
        if self._arrived and self._context:
            self._uncounted.append(Uncounted(self._context, self._started()))

    def _take(self, message: Message) -> None:
        if message.role != "assistant":
            self._arrived.append(message)
            # Kept beside them: thousands of calls without recorded tokens may come.
            before = self._newest
            self._newest = message.time if before is None else max(before, message.time)
        self._context = self._context.append(message)
        if message.id in self._targets:
            self._known[message.id] = self._context


# An answer of which less was counted than this share of its own text was not counted to its end.
WHOLE = 0.9


class Sized(Blocks):
    """Blocks of known sizes: of messages as set, of parts without text by themselves."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__(tokenizer)
        # The message is held too: an id may be given again once its object is gone.
        self._sizes_by_id: dict[int, tuple[Message, int, bool]] = {}

    def has_size(self, message: Message) -> bool:
        """Whether the size of a message was set."""
        return id(message) in self._sizes_by_id

    def set_size(self, message: Message, tokens: int, *, bare: bool = False) -> None:
        """Set the size of a message; bare, of what is left of it without its thinking."""
        self._sizes_by_id[id(message)] = message, tokens, bare
        self._known.pop(id(message), None)

    def shift(self, message: Message, tokens: int) -> None:
        """Add tokens to the size of a message."""
        known, total, bare = self._sizes_by_id[id(message)]
        self.set_size(known, max(0, total + tokens), bare=bare)

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
        """Count the parts of a message, or share out among them the size that was set."""
        counted = super().sizes(message)
        known = self._sizes_by_id.get(id(message))
        if known is None:
            return (
                proportional(_written(message), counted) if _is_whole(message, counted) else counted
            )
        _, total, bare = known
        if not bare:
            return proportional(total, counted)
        spoken = [part.type != "thinking" for part in message.parts]
        shares = iter(proportional(total, compress(counted, spoken)))
        both = zip(counted, spoken, strict=True)
        return tuple(next(shares) if flag else tokens for tokens, flag in both)


def _written(message: Message) -> int:
    """Tokens that the model was recorded to have written; an answer weighs what it cost."""
    usage = message.call.usage if message.call else None
    return usage.output if usage else 0


def _is_whole(message: Message, counted: Iterable[int]) -> bool:
    """Whether a whole answer was counted: some logs note what had come so far, or nothing."""
    total = sum(
        n for n, part in zip(counted, message.parts, strict=True) if part.type != "thinking"
    )
    written = _written(message)
    return written > 0 and written >= WHOLE * total


def proportional(whole: int, shares: Iterable[int]) -> tuple[int, ...]:
    """Split a number into whole numbers in proportion to shares; evenly, if those are all 0.

    Examples
    --------
    >>> proportional(10, [1, 1, 2])
    (2, 3, 5)
    >>> proportional(3, [0, 0])
    (1, 2)
    """
    shares = list(shares)
    if not any(shares):
        shares = [1] * len(shares)
    total = sum(shares) or 1  # without shares there is nothing to split
    ends = [whole * so_far // total for so_far in accumulate(shares, initial=0)]
    return tuple(end - start for start, end in pairwise(ends))


# What a client sends and does not log (tool definitions, system prompt, project files) stands in
# front as blocks without text. Their sizes follow from the first recorded prompt; from then on a
# prompt is either what the log adds up to, or what was recorded, shared out among what is new.

Sizes = Literal["recorded", "rebuilt"]

# Tools and system prompt of a coding agent in tokens, until something is known of a client's own:
# median of what was read after a compaction (80 compactions of Claude Code, 2026-11; 17 to 34 K).
TOOLS_AND_SYSTEM = 28_000
# A whole first prompt, for logs that begin in the middle (median of the same 202 sessions).
FIRST_PROMPT = 42_000
# Less than so much lost is no rebuild: the threshold of a third party's cache report (cachemiss).
REBUILD = 4_000
# Recorded totals of one stored prefix differ by as much, for what stands behind the last mark.
SLACK = 64
# What is read of a prompt that was stored is at most so much smaller (OpenAI's grid).
GRID = 128


class Front:
    """What a client sends in front of the messages and does not log, and how large prompts are."""

    def __init__(
        self, blocks: Sized, conversation: Conversation, sizes: Sizes, *, shares: bool = False
    ) -> None:
        self._blocks, self._sizes, self.shares = blocks, sizes, shares
        self._written = conversation.system
        self._inside = conversation.starts_inside
        self._counted = sum(map(blocks.tokenizer.part, conversation.system))
        # Tokens of tools and system prompt, and of what of them all sessions have in common.
        self.system = self.shared = 0
        self._context = self._edits = 0
        # Whether the last prompt was smaller than the log adds up to: the client has removed
        # something silently, as those do that clear old results.
        self.edited = False
        # The first message that has lost its thinking since the prompt before; None if none.
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
        return View((*self._front, behind, *self._written), messages)

    def alone(self) -> View:
        """Only what every session of the client has in front."""
        return View(self._front[:1])

    @property
    def _front(self) -> tuple[Part, ...]:
        """Tools and system prompt; apart what sessions share, where they do."""
        if not self.shares:
            named = [("tools and system prompt", self.system)]
        else:
            named = [(TOOLS, self.shared), ("system prompt", self.system - self.shared)]
        return tuple(Part("text", "", "opaque", (), name, size=size) for name, size in named)

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
            self._assign(context, whole - prompt.tokens, shared)
        elif compacted and self._inside:
            # Messages from before the log began are gone now; the size of the rest shows later.
            self._context = max(0, min(self._context, FIRST_PROMPT - self.system))
        if recorded:  # so that what was set now is taken at its size
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
        self.shared = self.system = min(TOOLS_AND_SYSTEM, hidden)
        self._context = hidden - self.system
        if self._sizes == "recorded":
            self._share(context, all, min(shown, max(0, whole - self._counted)))

    def _assign(self, context: Messages, more: int, shared: int) -> None:
        """Share out among what is new by how much the prompt is larger than it seems."""
        new = [i for i in range(shared, len(context)) if not self._blocks.has_size(context[i])]
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
        """Go back to the middle of what was set together; return what that leaves for the new.

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
        share, _ = proportional(max(0, known + left), (known, wanted))
        return self._shrink(context, old, known - share)

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
        self.shared = min(self.shared, self.system)
        return max(0, left + taken)

    def _counts(self, context: Messages, places: Iterable[int]) -> list[int]:
        """Tokens of messages in the prompt: those of earlier turns may stand without thinking."""
        blocks, bare = self._blocks, self._bare
        both = ((place < bare, context[place]) for place in places)
        return [blocks.left(m) if without else blocks.tokens(m) for without, m in both]

    def _share(self, context: Messages, places: Sequence[int], whole: int) -> None:
        """Set the sizes of messages, which come to so much together."""
        counts = self._counts(context, places)
        for place, tokens in zip(places, proportional(whole, counts), strict=True):
            self._blocks.set_size(context[place], tokens, bare=place < self._bare)
            self._changed = min(self._changed, place)

    def _shrink(self, context: Messages, places: Sequence[int], by: int) -> int:
        """Messages are smaller than they had seemed; return how much smaller they can be."""
        whole = sum(self._counts(context, places))
        taken = min(whole, by)
        self._share(context, places, whole - taken)
        return taken

    def learn(self, exchange: Exchange, before: int, anew: bool) -> None:
        """Look at what was read: where the messages are not found, only what stands before them.

        After a start of the client, or after the lifetime of its entries (``anew``), that is what
        all sessions share; else it is the session's own tools and system prompt.
        """
        read, whole = exchange.usage.cache_read, exchange.usage.prompt
        if exchange.compacted is not None and self._sizes == "rebuilt":
            shown = sum(map(self._blocks.tokens, exchange.context)) + self._counted
            self._context = max(0, whole - shown - self.system)
        lost = not before or read < before - REBUILD
        known_start = before or not self._inside
        is_front = lost and not any(0 <= total - read <= GRID for total in self._totals)
        self._totals.add(exchange.cached)
        if is_front and known_start and 0 < read < min(self._first, whole) - REBUILD:
            shared = anew or not before or read <= self.shared + SLACK
            if exchange.compacted is None and shared:
                self._set_fronts(read, max(self.system, read) if before else read)
            else:
                self._set_fronts(min(self.shared, read), read)

    def _set_fronts(self, shared: int, system: int) -> None:
        """Set what is shared and what is the system prompt; the rest of the front gives or takes.

        What is too much for that was taken for messages.
        """
        context = self._context + self.system - system
        if context < 0 and self._sizes == "recorded":
            self._shrink(self._last, range(len(self._last)), -context)
        self._context, self.shared, self.system = max(0, context), shared, system
