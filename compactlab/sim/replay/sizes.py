"""The sizes of a recording's prompts, and the tokens in them that the recording does not show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import accumulate, compress, pairwise
from statistics import median_low

import msgspec

from compactlab.sim.cache import CachePolicy
from compactlab.sim.cache.prompt import CLIENT_CONTEXT, TOOLS, Prompt
from compactlab.sim.core.blocks import Blocks, Group
from compactlab.sim.core.conversation import Compaction, Conversation
from compactlab.sim.core.errors import ModelError
from compactlab.sim.core.message import Message, Part
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.core.view import Messages, View
from compactlab.sim.models.model import Catalogue, built_in
from compactlab.sim.replay.client import SHARING
from compactlab.sim.replay.recording import Exchange, exchanges

BEFORE_THE_LOG = "before-the-log"
SYSTEM = "tools and system prompt"

# An answer with a recorded count below this share of its text was counted incompletely.
WHOLE = 0.9


class Sized(Blocks):
    """Blocks with sizes that are set for messages; parts without text have their own."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__(tokenizer)
        # The message is stored too: after its deletion, its id() may be reused.
        self._sizes_by_id: dict[int, tuple[Message, int, bool]] = {}

    def has_size(self, message: Message) -> bool:
        return id(message) in self._sizes_by_id

    def set_size(self, message: Message, tokens: int, *, bare: bool = False) -> None:
        """Set the size of a message; with ``bare``, of the message without thinking."""
        self._sizes_by_id[id(message)] = message, tokens, bare
        self._known.pop(id(message), None)

    def shift(self, message: Message, tokens: int) -> None:
        known, total, bare = self._sizes_by_id[id(message)]
        self.set_size(known, max(0, total + tokens), bare=bare)

    def thinks(self, message: Message) -> bool:
        self.tokens(message)
        return id(message) in self.thoughts

    def left(self, message: Message) -> int:
        """Return the tokens of a message without thinking."""
        whole = self.tokens(message)
        bare = self.thoughts.get(id(message))
        return whole if bare is None else sum(bare[1])

    def of_system(self, parts: tuple[Part, ...]) -> Group:
        """Use the size of a part without text; a block is the same at any size."""
        named = tuple(
            msgspec.structs.replace(p, size=1) if p.kind == "opaque" else p for p in parts
        )
        symbols, tokens = super().of_system(named)
        sizes = zip(parts, tokens, strict=True)
        return symbols, tuple(p.size if p.kind == "opaque" else n for p, n in sizes)

    def sizes(self, message: Message) -> tuple[int, ...]:
        """Count the parts of a message, or split its set size among them."""
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
    """Return the recorded output tokens of an answer."""
    usage = message.call.usage if message.call else None
    return usage.output if usage else 0


def _is_whole(message: Message, counted: Iterable[int]) -> bool:
    """Whether a count covers a whole answer: some logs count partial answers, or none."""
    total = sum(
        n for n, part in zip(counted, message.parts, strict=True) if part.type != "thinking"
    )
    written = _written(message)
    return written > 0 and written >= WHOLE * total


def proportional(whole: int, shares: Iterable[int]) -> tuple[int, ...]:
    """Split an integer into integers in proportion to shares; evenly, if all are 0.

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
    total = sum(shares) or 1  # avoids a division by 0
    ends = [whole * so_far // total for so_far in accumulate(shares, initial=0)]
    return tuple(end - start for start, end in pairwise(ends))


# Unlogged content of a client (tool definitions, system prompt, project files) is modelled as
# leading blocks without text. Their sizes follow from the first recorded prompt. After that, the
# growth of each prompt is split among its new messages.

# Default tokens of a coding agent's tools and system prompt: the median read after a compaction (80
# compactions of Claude Code, 2026-11; 17 to 34 K).
TOOLS_AND_SYSTEM = 28_000
# Smaller losses are no cache rebuild: the threshold of a third-party cache report (cachemiss).
REBUILD = 4_000
# Recorded sizes of one stored prefix vary by so much, due to content after the last mark.
SLACK = 64
# A read of a stored prompt is at most so much smaller (OpenAI's grid).
GRID = 128


class Front:
    """The unlogged content before the messages, and the sizes of prompts."""

    def __init__(self, blocks: Sized, conversation: Conversation, *, shares: bool = False) -> None:
        self._blocks, self.shares = blocks, shares
        self._written = conversation.system
        self._inside = conversation.starts_inside
        self._counted = sum(map(blocks.tokenizer.part, conversation.system))
        # Tokens of tools and system prompt, and of their part that all sessions share.
        self.system = self.shared = 0
        self._context = self._edits = 0
        # Whether the last prompt was smaller than the log implies: the client removed something
        # silently, such as old results.
        self.edited = False
        # The sizes of messages before that.
        self._whole: dict[int, tuple[Message, tuple[int, ...]]] = {}
        # The first message that lost its thinking since the previous prompt; None if none.
        self.stripped: int | None = None
        self._bare = self._changed = 0
        self._first = 0  # index of the first prompt since the last compaction
        self._last = Messages()
        self._totals: set[int] = set()  # sizes of prompts
        # The last message of each prompt, with the number of messages without thinking.
        self._ends: dict[str, int] = {}

    def view(self, messages: Messages) -> View:
        """Return messages as a whole prompt."""
        behind = Part("text", str(self._edits), "opaque", (), CLIENT_CONTEXT, size=self._context)
        return View((*self._front, behind, *self._written), messages)

    def alone(self) -> View:
        """Return only the content that every session of the client starts with."""
        return View(self._front[:1])

    @property
    def hidden(self) -> int:
        """The tokens before the messages that the log does not show."""
        return self.system + self._context

    def sizes(self, message: Message) -> tuple[int, ...]:
        """Return the sizes of a message's parts before the client removed any of it silently."""
        known = self._whole.get(id(message))
        return known[1] if known else self._blocks.sizes(message)

    @property
    def _front(self) -> tuple[Part, ...]:
        """Return tools and system prompt; the shared part separately, if there is one."""
        if not self.shares:
            named = [(SYSTEM, self.system)]
        else:
            named = [(TOOLS, self.shared), (SYSTEM, self.system - self.shared)]
        return tuple(Part("text", "", "opaque", (), name, size=size) for name, size in named)

    def measure(self, exchange: Exchange, prompt: Prompt) -> None:
        """Set the sizes of a call's prompt, before it is sent."""
        whole = exchange.cached
        context, compacted = exchange.context, exchange.compacted is not None
        prompt.move(self.view(context))
        self.stripped, self._bare, self.edited = prompt.stripped, prompt.bare, False
        self._changed = shared = self._last.shared(context)
        if not self._first:
            self._begin(context, whole)
        else:
            if compacted and self._inside:
                self._drop_opening(context, whole)
            prompt.move(self.view(context))
            self._assign(context, whole - prompt.tokens, shared)
        # Makes the prompt use the new sizes.
        prompt.move(self.view(context[: self._changed]))
        if compacted or not self._first:
            self._first = whole
        self._last = context
        if context:
            self._ends[context[-1].id] = self._bare

    def _begin(self, context: Messages, whole: int) -> None:
        """Split the first prompt into logged and unlogged tokens."""
        all = range(len(context))
        shown = sum(self._counts(context, all))
        hidden = max(0, whole - shown - self._counted)
        self.shared = self.system = min(TOOLS_AND_SYSTEM, hidden)
        self._context = hidden - self.system
        self._share(context, all, min(shown, max(0, whole - self._counted)))

    def _drop_opening(self, context: Messages, whole: int) -> None:
        """Drop the messages from before the log began: a compaction has replaced them."""
        shown = sum(self._counts(context, range(len(context)))) + self._counted
        hidden = min(self.hidden, max(0, whole - shown))
        self.system = min(self.system, hidden)
        self.shared = min(self.shared, self.system)
        self._context = hidden - self.system

    def _assign(self, context: Messages, more: int, shared: int) -> None:
        """Split the unexplained growth of the prompt among the new messages."""
        new = [i for i in range(shared, len(context)) if not self._blocks.has_size(context[i])]
        left = more + sum(self._counts(context, new))
        if left < 0 and shared < len(self._last):
            left += self._cut(context, new, left, shared)
        if left < 0:
            old = sorted({*range(len(context))}.difference(new))
            if self.stripped is not None:
                # The removed messages were smaller than assumed, so the rest of them is, too.
                left += self._shrink_with(
                    context, [i for i in old if i >= self.stripped], new, left
                )
            if left < 0:
                left = self._edit(context, old, left, left - more)
        self._share(context, new, left)

    def _cut(self, context: Messages, new: Sequence[int], left: int, shared: int) -> int:
        """Resize old messages after a cut within a group; return the tokens left for new ones.

        The split of the group's size was a guess. An excess before the cut is a deficit after it,
        so prompts that ended after it keep their sizes.
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
        """Shrink old messages so that new ones keep their size; return by how much."""
        known, wanted = (sum(self._counts(context, places)) for places in (old, new))
        share, _ = proportional(max(0, known + left), (known, wanted))
        return self._shrink(context, old, known - share)

    def _measured(self, context: Messages, end: int) -> bool:
        """Whether this number of messages was a whole prompt, with their present thinking."""
        bare = self._ends.get(context[end - 1].id)
        if bare is None:
            return False
        first, last = sorted(min(which, end) for which in (bare, self._bare))
        return not any(map(self._blocks.thinks, context[first:last]))

    def _edit(self, context: Messages, old: Sequence[int], left: int, wanted: int) -> int:
        """Handle a silent removal; return the tokens left for new messages."""
        for message in (context[index] for index in old):
            self._whole.setdefault(id(message), (message, self._blocks.sizes(message)))
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
        """Return the tokens of messages in the prompt, where old thinking may be dropped."""
        blocks, bare = self._blocks, self._bare
        both = ((index < bare, context[index]) for index in places)
        return [blocks.left(m) if without else blocks.tokens(m) for without, m in both]

    def _share(self, context: Messages, places: Sequence[int], whole: int) -> None:
        """Set the sizes of messages so that they sum to a total."""
        counts = self._counts(context, places)
        for index, tokens in zip(places, proportional(whole, counts), strict=True):
            self._blocks.set_size(context[index], tokens, bare=index < self._bare)
            self._changed = min(self._changed, index)

    def _shrink(self, context: Messages, places: Sequence[int], by: int) -> int:
        """Shrink messages by an amount; return by how much they can shrink further."""
        whole = sum(self._counts(context, places))
        taken = min(whole, by)
        self._share(context, places, whole - taken)
        return taken

    def learn(self, exchange: Exchange, before: int, anew: bool) -> None:
        """Use the cache reads of calls that read only content before the messages.

        After a restart of the client, or after the lifetime of entries (``anew``), this is the
        content that all sessions share; else it is the session's own tools and system prompt.
        """
        read, whole = exchange.usage.cache_read, exchange.usage.prompt
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
        """Set the shared part and the system prompt; the rest of the front absorbs the difference.

        An excess is taken from the messages.
        """
        context = self._context + self.system - system
        if context < 0:
            self._shrink(self._last, range(len(self._last)), -context)
        self._context, self.shared, self.system = max(0, context), shared, system


@dataclass(frozen=True)
class Unseen:
    """Tokens (o200k) in a recording's prompts that the text of its messages does not explain."""

    # Tokens read from the cache right after a compaction, or all tokens that are always there.
    system: int = 0
    # The part that other sessions of the client send and keep in the cache, too.
    shared: int = 0
    context: int = 0  # other constant content
    head: int = 0  # messages from before the recording, until its first compaction
    # Sizes of the parts of a message, by its id, if they differ from the count of its text:
    # withheld thinking, unlogged reminders, an inaccurate count.
    messages: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def blocks(self) -> tuple[Part, ...]:
        """Return system parts of these sizes."""
        own = (SYSTEM, self.system - self.shared)
        named = ((TOOLS, self.shared), own, (CLIENT_CONTEXT, self.context))
        return tuple(
            Part("text", "", "opaque", (), name=name, size=size) for name, size in named if size
        )

    @property
    def opening(self) -> Message | None:
        """Return a message of the size of the messages from before the recording."""
        if not self.head:
            return None
        part = Part("text", "", "opaque", (), name=BEFORE_THE_LOG, size=self.head)
        return Message(BEFORE_THE_LOG, "user", (part,), meta=True)

    def weigh(self, messages: Iterable[Message], blocks: Blocks) -> None:
        """Set the measured sizes of messages, in tokens of the counting model."""
        factor = blocks.tokenizer.factor
        for message in messages if self.messages or blocks.sized else ():
            sizes = self.messages.get(message.id, ())
            blocks.set_sizes(message, tuple(int(size * factor + 0.5) for size in sizes))


def unseen(conversation: Conversation, catalogue: Catalogue | None = None) -> Unseen:
    """Infer unlogged tokens from a recording's usage.

    Prompts grow by their new messages, which gives the sizes of messages. The content before them
    is the first recorded prompt minus its messages; cache reads without the messages give its
    parts. A client may remove content silently: then messages keep their earlier sizes. The
    unlogged size is the median over the calls. The model with the most calls is used.
    """
    known = catalogue or built_in()
    lines: dict[str, _Measured] = {}
    for exchange in exchanges(conversation):
        name = exchange.call.model
        if name not in lines:
            lines[name] = _Measured(name, conversation, known)
        lines[name].take(exchange)
    if not lines:
        return Unseen()
    return max(lines.values(), key=lambda line: len(line.hidden)).unseen(conversation)


class _Measured:
    """Measures the prompts of one model in a recording, call by call."""

    def __init__(self, name: str, conversation: Conversation, catalogue: Catalogue) -> None:
        tokenizer, strips = Tokenizer(), False
        self._policy: CachePolicy | None = None
        with suppress(ModelError):
            model = catalogue.find(name)
            tokenizer, strips, self._policy = model.tokenizer, model.strips_thinking, model.policy
        self._blocks = Sized(tokenizer)
        self._prompt = Prompt(tokenizer, strips=strips, blocks=self._blocks)
        shares = conversation.format in SHARING
        self._front = Front(self._blocks, conversation, shares=shares)
        self._before = 0
        self._ttl = ""
        self.hidden: list[int] = []  # tokens before the messages, by call
        self._warm = False  # whether the first call read entries of other sessions
        self._compacted: int | None = None  # the call of the first compaction

    def take(self, exchange: Exchange) -> None:
        """Measure the prompt of a call."""
        self._ttl = exchange.call.ttl or self._ttl
        if exchange.compacted is not None and self._compacted is None:
            self._compacted = len(self.hidden)
        self._front.measure(exchange, self._prompt)
        self._prompt.mark_sent()
        expired = self._policy is not None and exchange.gap > self._policy.lifetime(self._ttl)
        self._front.learn(exchange, self._before, exchange.call.restarted or expired)
        if not self.hidden:
            self._warm = bool(exchange.usage.cache_read)
        self._before = exchange.cached
        self.hidden.append(self._front.hidden)

    def unseen(self, conversation: Conversation) -> Unseen:
        """Return the result over all prompts."""
        factor = self._blocks.tokenizer.factor
        after = self._compacted if conversation.starts_inside else None
        always = median_low(self.hidden[after:] or self.hidden)
        head = median_low(self.hidden[:after]) - always if after else 0
        system = min(self._front.system, always)
        shared = min(self._front.shared, system) if self._front.shares and self._warm else 0
        own = (system, shared, always - system, max(0, head))
        system, shared, context, head = (round(tokens / factor) for tokens in own)
        return Unseen(system, shared, context, head, self._sizes(conversation))

    def _sizes(self, conversation: Conversation) -> dict[str, tuple[float, ...]]:
        """Return the sizes of messages that differ from the count of their text."""
        plain, tokenizer = Blocks(self._blocks.tokenizer), self._blocks.tokenizer
        sizes = {}
        for message in spoken(conversation):
            told = self._front.sizes(message)
            if told != plain.sizes(message):
                sizes[message.id] = tuple(tokens / tokenizer.factor for tokens in told)
        return sizes


def spoken(conversation: Conversation) -> Iterator[Message]:
    """Yield all messages of a recording: of its script, and those that compactions inserted."""
    for event in conversation.events:
        if isinstance(event, Message):
            yield event
        elif isinstance(event, Compaction):
            yield from event.inserted
