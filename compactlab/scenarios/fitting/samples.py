"""What a profile is made of, measured: sizes, waits and habits, one sample for each happening."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from compactlab.sim.conversation import Compaction, Conversation, Rewind
from compactlab.sim.message import Message, Part
from compactlab.sim.recording import unseen
from compactlab.sim.tokens import Tokenizer

# Tools go by many names; these do the same as what the built-in profiles call so. Names of Claude
# Code, Codex and pi as they stand in logs of 2026; others are put in small letters.
_NAMES = {
    "multiedit": "edit",
    "apply_patch": "edit",
    "exec_command": "bash",
    "shell": "bash",
    "shell_command": "bash",
    "websearch": "search",
    "web_search": "search",
    "webfetch": "open",
}
_COUNT = Tokenizer().part  # o200k


@dataclass
class Share:
    """How many of how many: a habit."""

    hits: int = 0
    of: int = 0

    def take(self, hit: bool) -> None:
        """Count once."""
        self.of += 1
        self.hits += hit

    @property
    def value(self) -> float:
        """The share, from 0 to 1; 0 of nothing."""
        return self.hits / self.of if self.of else 0.0


def _shares() -> dict[str, Share]:
    return {name: Share() for name in ("text", "thinking", "pair", "error")}


@dataclass
class Samples:
    """All that was measured in some conversations, pooled: a long one has more say.

    Attributes
    ----------
    sizes
        Tokens (o200k): of what the ``user`` said, of the agent's ``text`` beside calls of tools,
        its ``answer`` without any, and its ``thinking``, where the text of it is known.
    results, arguments
        Tokens of what tools returned, unless it was an error, and were given, by tool.
    waits
        Seconds between two messages of a branch, by the role of the second. A client's own
        messages are nobody's, and where no times are recorded there are none.
    shares
        Of the calls that call tools, those that come with ``text`` and those that call more than
        one (``pair``); of all calls, those with ``thinking``; of the results, each ``error``.
    tools
        Calls by tool.
    calls
        Calls per turn that had any.
    written, growth
        Tokens of each call's answer, and by how many the context grew from each call to the next.
    tool_share
        Of each conversation, the share of its tokens that tools returned.
    tokens
        All tokens of the messages of each conversation.
    turns
        Turns of each conversation.
    system
        Tokens of system prompt and tools, of each conversation that tells them.
    formats
        Conversations by format.
    """

    sizes: dict[str, list[int]] = field(default_factory=dict)
    results: dict[str, list[int]] = field(default_factory=dict)
    arguments: dict[str, list[int]] = field(default_factory=dict)
    waits: dict[str, list[float]] = field(default_factory=dict)
    shares: dict[str, Share] = field(default_factory=_shares)
    tools: Counter[str] = field(default_factory=Counter)
    calls: list[int] = field(default_factory=list)
    written: list[int] = field(default_factory=list)
    growth: list[int] = field(default_factory=list)
    tool_share: list[float] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    turns: list[int] = field(default_factory=list)
    system: list[int] = field(default_factory=list)
    formats: Counter[str] = field(default_factory=Counter)


def tool_named(name: str) -> str:
    """What a profile calls a tool.

    Examples
    --------
    >>> tool_named("Grep"), tool_named("apply_patch")
    ('grep', 'edit')
    """
    small = name.lower()
    return _NAMES.get(small, small)


def measure(conversations: Iterable[Conversation]) -> Samples:
    """Measure conversations.

    Parameters
    ----------
    conversations
        Recorded or made up.
    """
    samples = Samples()
    for conversation in conversations:
        samples.formats[conversation.format] += 1
        if held := _system(conversation):
            samples.system.append(held)
        _Walk(samples).through(conversation)
    return samples


def _system(conversation: Conversation) -> int:
    """Tokens of system prompt and tools: as they stand there, or else as the usage tells them."""
    held = sum(map(_COUNT, conversation.system))
    return held or unseen(conversation).system


class _Walk:
    """One conversation, walked through from its beginning to its end."""

    def __init__(self, samples: Samples) -> None:
        self._samples = samples
        self._before: Message | None = None
        self._in_turn = 0  # calls
        self._grown: int | None = None  # tokens since the last call; None if there was none
        self._tokens = self._returned = 0

    def through(self, conversation: Conversation) -> None:
        for event in conversation.events:
            if isinstance(event, Rewind):
                self._before = self._grown = None
            elif not isinstance(event, Compaction):
                self._take(event)
        self._end_turn()
        self._samples.turns.append(conversation.turns)
        self._samples.tokens.append(self._tokens)
        if self._tokens:
            self._samples.tool_share.append(self._returned / self._tokens)

    def _take(self, message: Message) -> None:
        self._wait(message)
        if message.starts_turn:
            self._end_turn()
            self._size("user", message.parts, "text")
        if message.role == "assistant" and message.call is not None:
            self._call(message)
        size = sum(map(_COUNT, message.parts))
        self._tokens += size
        if message.role == "tool":
            self._result(message)
            self._returned += size
        if self._grown is not None:
            self._grown += size
        self._before = message

    def _wait(self, message: Message) -> None:
        before = self._before
        if message.meta or before is None or not (message.time and before.time):
            return
        self._samples.waits.setdefault(message.role, []).append(message.time - before.time)

    def _call(self, message: Message) -> None:
        samples = self._samples
        self._in_turn += 1
        if self._grown is not None:
            samples.growth.append(self._grown)
        self._grown = 0
        samples.written.append(sum(map(_COUNT, message.parts)))
        used = [part for part in message.parts if part.type == "tool_call"]
        types = {part.type for part in message.parts}
        samples.shares["thinking"].take("thinking" in types)
        if used:
            samples.shares["text"].take("text" in types)
            samples.shares["pair"].take(len(used) > 1)
        self._size("text" if used else "answer", message.parts, "text")
        self._size("thinking", message.parts, "thinking")
        for part in used:
            tool = tool_named(part.name)
            samples.tools[tool] += 1
            samples.arguments.setdefault(tool, []).append(_COUNT(part))

    def _result(self, message: Message) -> None:
        for part in message.parts:
            if part.type == "tool_result":
                self._samples.shares["error"].take(part.is_error)
                if not part.is_error:
                    tool = tool_named(part.name)
                    self._samples.results.setdefault(tool, []).append(_COUNT(part))

    def _size(self, what: str, parts: tuple[Part, ...], type: str) -> None:
        found = [_COUNT(part) for part in parts if part.type == type and part.text]
        if found:
            self._samples.sizes.setdefault(what, []).append(sum(found))

    def _end_turn(self) -> None:
        if self._in_turn:
            self._samples.calls.append(self._in_turn)
        self._in_turn = 0
