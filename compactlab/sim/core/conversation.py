"""The script of a replay: messages with authors and times, and their labels.

A conversation is immutable and complete. It does not contain the recorded agent's summaries, nor
the files that its client attached again after them. They are in the :class:`Compaction` events, for
the strategy ``as_recorded``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Concatenate, Literal, ParamSpec, Protocol, Self, TypeVar

import msgspec

from compactlab.sim.core.message import Call, Message, Part, Source, encoded

_Source = TypeVar("_Source")
_More = ParamSpec("_More")
_Made = TypeVar("_Made")


def keep_latest(
    make: Callable[Concatenate[_Source, _More], _Made],
) -> Callable[Concatenate[_Source, _More], _Made]:
    """Cache the results of a function for the last object that it was called with.

    Objects are compared by identity: an equal conversation has different messages. The other
    arguments must be hashable and positional.

    Examples
    --------
    >>> @keep_latest
    ... def doubled(numbers):
    ...     return numbers * 2
    >>> one = [1]
    >>> doubled(one) is doubled(one), doubled([1]) is doubled(one)
    (True, False)
    """
    latest: list[_Source] = []
    results: dict[object, _Made] = {}

    @wraps(make)
    def kept(source: _Source, /, *more: _More.args, **named: _More.kwargs) -> _Made:
        if not latest or latest[0] is not source:
            latest[:] = [source]
            results.clear()
        if more not in results:
            results[more] = make(source, *more, **named)
        return results[more]

    return kept


FactType = Literal[
    "decision",
    "constraint",
    "prohibition",
    "preference",
    "artifact",
    "open_loop",
    "tool_detail",
    "entity",
    "procedure",
    "goal",
    "done",  # a requested task is finished; it supersedes the open loop that requested it
    "handle",  # the name of a running agent or process, to collect its results
    "proposal",  # a question to the user, or a plan, that is not decided yet
]


EDIT = "edit"  # trigger of a compaction without a summary


class Rewind(msgspec.Struct, frozen=True, tag="rewind", tag_field="type"):
    """The user went back: later messages continue from an earlier one.

    Parameters
    ----------
    to
        Id of the message that becomes the last one; "" for the start.
    """

    to: str


class Compaction(msgspec.Struct, frozen=True, tag="compaction", tag_field="type"):
    """A compaction that the recorded agent made of its own context.

    Parameters
    ----------
    inserted
        The inserted leading messages: its summary, files attached again. Not in the script.
    kept_from
        Id of the first message that was kept verbatim; "" if none was.
    time
        Seconds since 1970, UTC.
    trigger
        ``auto``, ``manual`` or "" if not known; ``edit`` if messages were only removed or
        shortened, without a summary.
    tokens_before
        Tokens of the context before, as recorded; 0 where not known.
    call
        The request that wrote the summary, as billed in the log; None if the log does not have it.
    """

    inserted: tuple[Message, ...] = ()
    kept_from: str = ""
    time: float = 0.0
    trigger: str = ""
    tokens_before: int = 0
    call: Call | None = None

    @property
    def edits(self) -> bool:
        """Whether messages were only removed or shortened, without a summary."""
        return self.trigger == EDIT


class SideRequest(msgspec.Struct, frozen=True):
    """A billed request that belongs to no answer and no compaction.

    Parameters
    ----------
    purpose
        Its purpose in one word: ``advisor``, ``web_search``. It is a row of the bill.
    call
        Its model, its usage and its id.
    time
        Seconds since 1970, UTC; 0 where not known.
    searches
        The number of web searches, which are billed individually.
    """

    purpose: str
    call: Call
    time: float = 0.0
    searches: int = 0


class PassedOver(msgspec.Struct, frozen=True):
    """Content of one kind that a reader did not understand and skipped.

    Parameters
    ----------
    kind
        The kind: ``record 'world_state'``, ``line that is not JSON``.
    count
        The number of occurrences.
    characters
        Characters of text in all occurrences.
    tokens
        Their tokens: a bill without them is too low.
    line
        The line of the first one; 0 if unknown.
    """

    kind: str
    count: int = 1
    characters: int = 0
    tokens: int = 0
    line: int = 0

    def __str__(self) -> str:
        pairs = (self.characters, "character"), (self.tokens, "token")
        sizes = [f"{size:,} {unit}{'s' * (size != 1)}" for size, unit in pairs if size]
        return f"{self.count:,} x {self.kind}" + (f" ({', '.join(sizes)})" if sizes else "")


def added(one: PassedOver, other: PassedOver) -> PassedOver:
    """Return the sum of two counts of a kind."""
    return PassedOver(
        one.kind,
        one.count + other.count,
        one.characters + other.characters,
        one.tokens + other.tokens,
        min(filter(None, (one.line, other.line)), default=0),
    )


class Fact(msgspec.Struct, frozen=True, tag="fact", tag_field="type", rename={"kind": "fact"}):
    """Something stated in the conversation that may be needed later.

    Parameters
    ----------
    id
        Unique in its conversation.
    kind
        Its type; written ``fact`` in files.
    key, value
        Its subject and its content, e.g. "deploy target" and "eu-west-3".
    origin
        The messages (or pieces of them) that state it: each on its own, unless it is ``whole``.
    polarity
        Whether it demands, forbids, states or asks. A fact that asks is not decided yet.
    variants, aliases
        Other spellings of the value that count as the value, other names of the key.
    supersedes, depends_on
        Ids of facts that it replaces, and that it follows from.
    deleted_at
        Id of the message that revokes it; "" if there is none.
    scope
        How long it holds: ``session``, or the id of the message at which it ends. An open loop
        ends where it is closed.
    handle
        Id of a tool result that states it, if its call can be repeated: the call's name and
        arguments, and the tokens of the result, are those of the script. "" if it cannot.
    decoy
        True for a fact that is never stated: it measures chance.
    whole
        True if only all of its origins together state it, such as the evidence of a question that
        is spread over several turns.
    """

    id: str
    kind: FactType
    key: str
    value: str
    origin: tuple[Source, ...] = ()
    polarity: Literal["is", "must", "must_not", "asks"] = "is"
    variants: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    deleted_at: str = ""
    scope: str = "session"
    handle: str = ""
    decoy: bool = False
    aliases: tuple[str, ...] = ()
    whole: bool = False


class Need(msgspec.Struct, frozen=True, tag="need", tag_field="type"):
    """A call at which a fact is used.

    Parameters
    ----------
    fact
        Id of the fact.
    at
        Id of the assistant message whose call needs it.
    how
        How it is used, in a word or two.
    """

    fact: str
    at: str
    how: str = ""


Event = Message | Rewind | Compaction


# Most characters of a conversation's title, which is taken from the first prompt.
_OPENING = 72


@dataclass(frozen=True)
class Conversation:
    """A script with its labels and metadata.

    Parameters
    ----------
    id
        Its name in reports; unique in an experiment.
    format
        The format it was read from, or the scenario that made it.
    events
        Messages, rewinds and recorded compactions, in the order in which they happened.
    system
        The known parts of the system prompt and tool definitions.
    facts, needs
        Labels, if there are any.
    starts_inside
        True if the recording began in the middle of a session, so that its first prompts hold
        more than the script does.
    source
        The file it came from; "" if it is synthetic.
    seed
        The seed it was made from; -1 for a recording.
    project
        The agent's working folder according to the log; "" if not given.
    subagent
        Whether another agent assigned its task.
    parent
        Id of the session that it was forked from; "" if it was not.
    side_requests
        Billed requests other than its answers and compactions.
    passed_over
        Skipped content of the file, by kind.
    """

    id: str
    format: str
    events: tuple[Event, ...]
    system: tuple[Part, ...] = ()
    facts: tuple[Fact, ...] = ()
    needs: tuple[Need, ...] = ()
    starts_inside: bool = False
    source: str = ""
    seed: int = -1
    project: str = ""
    subagent: bool = False
    parent: str = ""
    side_requests: tuple[SideRequest, ...] = ()
    passed_over: tuple[PassedOver, ...] = ()

    @property
    def recorded(self) -> bool:
        """Whether it was recorded from a real agent (else it is synthetic)."""
        return self.seed < 0

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """All messages of the script in order, abandoned branches included."""
        return tuple(event for event in self.events if isinstance(event, Message))

    @cached_property
    def calls(self) -> tuple[Message, ...]:
        """The assistant messages that answer a request."""
        return tuple(message for message in self.messages if message.call is not None)

    @property
    def compactions(self) -> Iterator[Compaction]:
        """The compactions that the recorded agent made."""
        return (event for event in self.events if isinstance(event, Compaction))

    @property
    def turns(self) -> int:
        return sum(message.starts_turn for message in self.messages)

    @property
    def opening(self) -> str:
        """The first words of the first prompt, not cut inside a word: half a secret is unsafe."""
        prompts = (message for message in self.messages if message.role == "user")
        lines = (line for m in prompts for part in m.parts for line in part.text.splitlines())
        line = next((line for line in lines if line.strip() and line.lstrip()[0] != "<"), "")
        # Split only as many words as fit: a line may be a megabyte long.
        words = line.split(maxsplit=_OPENING)
        count = len(words)
        while len(" ".join(words)) > _OPENING:
            words.pop()
        return " ".join(words) + ("…" if words and len(words) < count else "")

    @cached_property
    def digest(self) -> str:
        """Sixteen hex digits that change with anything that a replay can see."""
        seen = hashlib.blake2b(digest_size=8)
        for piece in (*self.system, *self.events, *self.facts, *self.needs):
            seen.update(_seen(piece))
        seen.update(b"inside" if self.starts_inside else b"")
        return seen.hexdigest()


class Way(Protocol):
    """State that is collected along a branch."""

    def copy(self) -> Self:
        """Return a copy for another branch."""


_Way = TypeVar("_Way", bound=Way)


def walked(conversation: Conversation, way: _Way) -> Iterator[tuple[_Way, Message]]:
    """Yield each message, with the state of its branch.

    The caller may add to the state after each message; later messages see it. A rewind restores the
    state of its target.
    """
    targets = {event.to for event in conversation.events if isinstance(event, Rewind)}
    known = {"": way.copy()}
    for event in conversation.events:
        if isinstance(event, Rewind):
            way = known[event.to].copy()
        elif isinstance(event, Message):
            yield way, event
            if event.id in targets:
                known[event.id] = way.copy()


def _seen(piece: msgspec.Struct) -> bytes:
    """Return the data of a piece that a replay can see, without call ids."""
    if isinstance(piece, Message) and piece.call is not None:
        return encoded(msgspec.structs.replace(piece, call=piece.call.seen))
    if isinstance(piece, Compaction) and piece.call is None:
        return encoded(piece).removesuffix(_UNBILLED) + b"}"
    return encoded(piece)


_UNBILLED = b',"call":null}'
