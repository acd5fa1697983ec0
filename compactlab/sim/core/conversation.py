"""The script of a replay: what was said, by whom and when, and what is known about it.

A conversation is immutable and full: summaries that the recorded agent made, and files that its
client attached again after them, are not among its messages. They are kept in the
:class:`Compaction` events, for the strategy ``as_recorded``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol, Self, TypeVar

import msgspec

from compactlab.sim.core.message import Call, Message, Part, Source, encoded

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
    "done",  # a task that was asked for is finished; it supersedes the open loop that asked for it
    "handle",  # the name of an agent or a process in flight, by which what it brings is collected
    "proposal",  # a question to the user, or a plan, that nobody has decided
]


EDIT = "edit"  # what triggers a compaction that asks for no summary


class Rewind(msgspec.Struct, frozen=True, tag="rewind", tag_field="type"):
    """The user went back: what follows continues from an earlier message.

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
        What then stood in front: its summary, what the client attached again. Not in the script.
    kept_from
        Id of the first message that was kept verbatim; "" where none was.
    time
        Seconds since 1970, UTC.
    trigger
        ``auto``, ``manual`` or "" where not known; ``edit`` where no summary was asked for and
        messages were only left out or shortened.
    tokens_before
        Tokens of the context before, as recorded; 0 where not known.
    call
        The request that wrote the summary, as the log bills it; None where the log does not tell.
    """

    inserted: tuple[Message, ...] = ()
    kept_from: str = ""
    time: float = 0.0
    trigger: str = ""
    tokens_before: int = 0
    call: Call | None = None

    @property
    def edits(self) -> bool:
        """Whether messages were only left out or shortened, and no summary was asked for."""
        return self.trigger == EDIT


class SideRequest(msgspec.Struct, frozen=True):
    """A request that the log bills, and that neither an answer nor a compaction carries.

    Parameters
    ----------
    purpose
        What it was for, in a word: ``advisor``, ``web_search``. It names a line of the bill.
    call
        Its model, its usage and its id.
    time
        Seconds since 1970, UTC; 0 where not known.
    searches
        Web searches, which are billed by the piece.
    """

    purpose: str
    call: Call
    time: float = 0.0
    searches: int = 0


class PassedOver(msgspec.Struct, frozen=True):
    """What a reader did not understand and passed over, of one kind.

    Parameters
    ----------
    kind
        What it is: ``record 'world_state'``, ``line that is not JSON``.
    count
        How often it was met.
    characters
        Characters of text in all of it.
    tokens
        Tokens that it counts: a bill without them is too low.
    """

    kind: str
    count: int = 1
    characters: int = 0
    tokens: int = 0

    def __str__(self) -> str:
        pairs = (self.characters, "character"), (self.tokens, "token")
        sizes = [f"{size:,} {unit}{'s' * (size != 1)}" for size, unit in pairs if size]
        return f"{self.count:,} x {self.kind}" + (f" ({', '.join(sizes)})" if sizes else "")


def added(one: PassedOver, other: PassedOver) -> PassedOver:
    """Two counts of a kind together."""
    sums = (getattr(one, key) + getattr(other, key) for key in ("count", "characters", "tokens"))
    return PassedOver(one.kind, *sums)


class Fact(msgspec.Struct, frozen=True, tag="fact", tag_field="type", rename={"kind": "fact"}):
    """Something stated in the conversation that may be needed later.

    Parameters
    ----------
    id
        Unique in its conversation.
    kind
        Its type; written ``fact`` in files.
    key, value
        What it is about and what it says, e.g. "deploy target" and "eu-west-3".
    origin
        The messages (or pieces of them) that state it: each for itself, unless it is ``whole``.
    polarity
        Whether it demands, forbids, states or asks. Of what asks, nobody has decided yet.
    variants, aliases
        Other spellings of the value that count as the value, other names of the key.
    supersedes, depends_on
        Ids of facts that it replaces, and that it follows from.
    deleted_at
        Id of the message that takes it back; "" if none does.
    scope
        How long it holds: ``session``, or the id of the message at which it ends. An open loop
        ends where it is closed.
    handle
        Id of a tool's result that states it, if its call can be made again: the call's name and
        arguments, and the tokens that come back, are those of the script. "" if it cannot.
    decoy
        True for a fact that is never stated: it measures chance.
    whole
        True if only all of its origins together state it, as the evidence of a question does that
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


# Letters of the first prompt that name a conversation.
_OPENING = 72


@dataclass(frozen=True)
class Conversation:
    """A script, and what is known about it.

    Parameters
    ----------
    id
        Its name in reports; unique in an experiment.
    format
        What it was read from, or the scenario that made it.
    events
        Messages, rewinds and recorded compactions, in the order in which they happened.
    system
        Parts of the system prompt and tool definitions, as far as they are known.
    facts, needs
        Labels, if there are any.
    starts_inside
        True if the recording began in the middle of a session, so that its first prompts hold
        more than the script does.
    source
        The file it came from; "" if it was made up.
    seed
        The seed it was made from; -1 for a recording.
    project
        The folder that the agent worked in, as the log names it; "" if it does not.
    subagent
        Whether another agent gave it its task.
    parent
        Id of the session that it was forked from; "" if it was not.
    side_requests
        Requests that the log bills beside its answers and compactions.
    passed_over
        What of the file was not understood, by kind.
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
        """Whether it was recorded from a real agent, not made up."""
        return self.seed < 0

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """All messages of the script in order, those of abandoned branches among them."""
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
        """How often a person spoke."""
        return sum(message.starts_turn for message in self.messages)

    @property
    def opening(self) -> str:
        """The first words of the first prompt, cut between words: half a secret is none."""
        prompts = (message for message in self.messages if message.role == "user")
        lines = (line for m in prompts for part in m.parts for line in part.text.splitlines())
        line = next((line for line in lines if line.strip() and line.lstrip()[0] != "<"), "")
        # No more words than have room: a line may be a megabyte long.
        words = line.split(maxsplit=_OPENING)
        count = len(words)
        while len(" ".join(words)) > _OPENING:
            words.pop()
        return " ".join(words) + ("…" if words and len(words) < count else "")

    @cached_property
    def digest(self) -> str:
        """Sixteen hex digits that change when anything that a replay can see changes."""
        seen = hashlib.blake2b(digest_size=8)
        for piece in (*self.system, *self.events, *self.facts, *self.needs):
            seen.update(_seen(piece))
        seen.update(b"inside" if self.starts_inside else b"")
        return seen.hexdigest()


class Way(Protocol):
    """What is known on the way to a message."""

    def copy(self) -> Self:
        """The same, for another branch."""


_Way = TypeVar("_Way", bound=Way)


def walked(conversation: Conversation, way: _Way) -> Iterator[tuple[_Way, Message]]:
    """Each message, with what is known on the way to it.

    What the caller puts into that, once it has the message, is known to the messages behind it. A
    rewind goes back to what was known where it leads.
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
    """What a replay can see of a piece: a call's id tells it nothing."""
    if isinstance(piece, Message) and piece.call is not None:
        return encoded(msgspec.structs.replace(piece, call=piece.call.seen))
    if isinstance(piece, Compaction) and piece.call is None:
        return encoded(piece).removesuffix(_UNBILLED) + b"}"
    return encoded(piece)


_UNBILLED = b',"call":null}'
