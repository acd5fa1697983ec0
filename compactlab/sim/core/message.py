"""What a prompt is made of: parts with provenance, and messages made of parts.

The same two types serve for what was recorded and for what a strategy makes of it, so that a
message that a strategy leaves alone is *the same object* in every view, and comparing two views
is comparing identities.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Literal

import msgspec

PartType = Literal["text", "thinking", "tool_call", "tool_result", "image"]
Kind = Literal[
    "verbatim", "truncated", "stub", "summary", "recovered", "memory", "synthetic", "opaque"
]
Role = Literal["user", "assistant", "tool"]
FRAME = "frame"  # the name of such parts
FAILED = ("aborted", "error")  # origins of an answer that is none, and says nothing of the context
INTERRUPTED = "interrupted"  # origin of the note that a client leaves instead of such an answer


class Source(msgspec.Struct, frozen=True, gc=False):
    """Where a part comes from: a message, or a piece of one.

    Parameters
    ----------
    id
        Id of the message in the log.
    part
        Index of the part in that message; -1 for the whole message.
    start, end
        Span of characters in that part's text; ``end=-1`` means to its end.
    """

    id: str
    part: int = -1
    start: int = 0
    end: int = -1


class Part(msgspec.Struct, frozen=True):
    """A piece of a message or of the system prompt, with its provenance.

    Parameters
    ----------
    type
        What it is to the model.
    text
        What the model reads: prose, a tool's output, or a call's arguments as compact JSON.
    kind
        How it stands to its sources: ``verbatim`` (whole, unchanged), ``truncated``, ``stub`` (a
        place-holder), ``summary``, ``recovered`` (put back after a compaction), ``memory``,
        ``synthetic`` (stands for nothing), ``opaque`` (tokens whose text is not known).
    sources
        The messages that it stands for; empty only for ``synthetic`` and ``opaque`` parts.
    name
        The tool's name, of a call or a result; a label, of an opaque part.
    call_id
        Joins a tool's result to its call.
    is_error
        Whether a tool reported failure.
    handle
        By what the content can be fetched again, if it can.
    size
        Tokens of what has no text: of an opaque part in o200k, of an image as models count it.
    """

    type: PartType
    text: str
    kind: Kind
    sources: tuple[Source, ...]
    name: str = ""
    call_id: str = ""
    is_error: bool = False
    handle: str = ""
    size: int = 0

    def __post_init__(self) -> None:
        if not self.sources and self.kind not in ("synthetic", "opaque"):
            raise ValueError(f"a {self.kind} part needs the messages that it comes from")


class Usage(msgspec.Struct, frozen=True, gc=False):
    """Tokens of one request by billing class.

    Parameters
    ----------
    uncached
        Prompt tokens at the plain input price.
    cache_read
        Prompt tokens read from the cache.
    cache_write_5m, cache_write_1h
        Prompt tokens written to the cache, by lifetime of the entry.
    output
        Tokens that the model wrote.
    storage
        Token-seconds of a cache that is paid by the time for which it is held.

    Examples
    --------
    >>> Usage(uncached=3, cache_read=100, cache_write_5m=20, output=7).prompt
    123
    """

    uncached: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    output: int = 0
    storage: int = 0

    @property
    def cache_write(self) -> int:
        """Tokens written to the cache, whatever the lifetime."""
        return self.cache_write_5m + self.cache_write_1h

    @property
    def prompt(self) -> int:
        """Tokens of the whole prompt."""
        return self.uncached + self.cache_read + self.cache_write

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.uncached + other.uncached,
            self.cache_read + other.cache_read,
            self.cache_write_5m + other.cache_write_5m,
            self.cache_write_1h + other.cache_write_1h,
            self.output + other.output,
            self.storage + other.storage,
        )


class Diagnosis(msgspec.Struct, frozen=True, gc=False):
    """Why a request missed the cache, as the provider itself says.

    Parameters
    ----------
    reason
        The provider's word, such as ``system_changed`` or ``tools_changed``.
    tokens
        Tokens that it says were missed; 0 where it says no number.
    """

    reason: str
    tokens: int = 0


class RecordedRequest(msgspec.Struct, frozen=True, gc=False):
    """What a recording tells of a request, as far as a replay can see it.

    Parameters
    ----------
    model
        The model's name as recorded; "" where the recording does not say.
    usage
        The recorded usage; None where there is none.
    ttl
        The lifetime of cache entries that the client asked for; "" where not known.
    version
        The client and its version; "" where not known.
    thinking
        Thinking mode, budget or effort, as the recording writes it; "" where not known.
    restarted
        Whether the client was started anew since the request before: it then makes its system
        prompt anew (date, environment, servers of tools).
    diagnosis
        Why the cache missed, as the provider says; None where it says nothing.
    tier
        The service tier that the provider billed, if that is not its usual one.
    """

    model: str = ""
    usage: Usage | None = None
    ttl: Literal["", "5m", "1h"] = ""
    version: str = ""
    thinking: str = ""
    restarted: bool = False
    diagnosis: Diagnosis | None = None
    tier: str = ""


class Call(RecordedRequest, frozen=True, gc=False):
    """The request that an assistant message answers, and by what it is known in other files.

    Parameters
    ----------
    id
        The answer's own id, by which its copies in other files are found; "" where it has none.
    inherited
        Whether the log repeats it from the session that this one was forked from.
    """

    id: str = ""
    inherited: bool = False

    @property
    def seen(self) -> RecordedRequest:
        """As much of it as a replay can see."""
        names = RecordedRequest.__struct_fields__
        return RecordedRequest(*(getattr(self, name) for name in names))


class Message(msgspec.Struct, frozen=True, tag="message", tag_field="type"):
    """One message: of a script, or made by a strategy.

    Parameters
    ----------
    id
        Unique in its conversation. Messages born in a replay have ids of their own.
    role
        ``tool`` for the result of a tool; ``user`` for everything else that the model is told.
    parts
        Its parts, at least one.
    time
        Seconds since 1970, UTC.
    meta
        True for a user message that no person typed (a reminder, a file that the client attached):
        it starts no turn.
    call
        For an assistant message that answers a request: that request. An assistant message
        without it (an aborted answer, say) is in the log, but costs no call.
    origin
        What the agent itself calls the message, where that is more than its role: pi's
        ``bashExecution``, ``custom``, ``branchSummary`` and ``compactionSummary`` are all told to
        the model as the user's. Of an answer that is none, how it ended: ``aborted`` or ``error``;
        of what a client notes where one was broken off, ``interrupted``.
    """

    id: str
    role: Role
    parts: tuple[Part, ...]
    time: float = 0.0
    meta: bool = False
    call: Call | None = None
    origin: str = ""

    @property
    def starts_turn(self) -> bool:
        """Whether a turn starts here: a person has spoken."""
        return self.role == "user" and not self.meta

    @property
    def text(self) -> str:
        """All text of its parts, a line break between two."""
        return "\n".join(part.text for part in self.parts if part.text)


_encode = msgspec.json.Encoder(order="deterministic").encode


def encoded(piece: object) -> bytes:
    r"""What a digest is made of: JSON of a piece, the same on every machine.

    Scripts and cuts may hold half of a pair of surrogates, which UTF-8 has not; it is written out.

    Examples
    --------
    >>> encoded(("user", "caf\u00e9")).decode(), encoded("\ud83d").decode()
    ('["user","café"]', '"\\ud83d"')
    """
    try:
        return _encode(piece)
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(piece, order="deterministic")).encode()


def plain(text: str) -> Part:
    """Text of the client's own, which stands for nothing that was said."""
    return Part("text", text, "synthetic", ())


def frame(text: str) -> Part:
    """Text that a client puts around a message on its way to the model.

    Agents do not take it for a part of the message: they neither count it nor show it.
    """
    return Part("text", text, "synthetic", (), FRAME)


def verbatim(
    id: str, type: PartType, text: str, *, name: str = "", call_id: str = "", **more: object
) -> Part:
    """Build a part of a script message: verbatim, its own source.

    Examples
    --------
    >>> verbatim("m1", "text", "hello").sources
    (Source(id='m1', part=-1, start=0, end=-1),)
    """
    part = Part(type, text, "verbatim", (Source(id),), name, call_id)
    return msgspec.structs.replace(part, **more) if more else part


# How pi hands to the model what no person typed: summaries, and commands that the user ran.
#
# Readers and strategies both write them, so that a summary made here is the one that pi would
# send. The literals are those of pi 0.49.3 to 0.73.1.

# What it calls the message of such a summary. Recordings never have one of ours: summaries are no
# part of a script.
SUMMARY = "compactionSummary"
COMPACTED = "The conversation history before this point was compacted into the following summary:"
BRANCHED = "The following is a summary of a branch that this conversation came back from:"


def compacted(told: Iterable[Part]) -> list[Part]:
    """The summary of a compaction as the model is given it."""
    return [frame(f"{COMPACTED}\n\n<summary>\n"), *told, frame("\n</summary>")]


def branched(told: Iterable[Part]) -> list[Part]:
    """The summary of a branch that was left, as the model is given it."""
    return [frame(f"{BRANCHED}\n\n<summary>\n"), *told, frame("</summary>")]


def shell(
    command: Part,
    output: Part,
    *,
    exit_code: int | None = None,
    cancelled: bool = False,
    full_output: str = "",  # where all of it is, if only a piece was kept
) -> list[Part]:
    """A command that the user ran, and what it printed, as the model is told."""
    end = ""
    if cancelled:
        end += "\n\n(command cancelled)"
    elif exit_code:
        end += f"\n\nCommand exited with code {exit_code}"
    if full_output:
        end += f"\n\n[Output truncated. Full output: {full_output}]"
    if output.text:
        return [frame("Ran `"), command, frame("`\n```\n"), output, frame(f"\n```{end}")]
    return [frame("Ran `"), command, frame(f"`\n(no output){end}")]


# What messages weigh: numbers that depend on a message alone, and are found out once.
#
# The same messages are weighed by every call of every strategy; what has to be written as JSON to
# be weighed would take longer than all the rest of a replay.

Weight = Callable[[Message], int]

_memories: list[dict[int, tuple[Message, int]]] = []


def remembered(weight: Weight) -> Weight:
    """A weight that weighs each message once.

    Examples
    --------
    >>> @remembered
    ... def parts(message: Message) -> int:
    ...     print("weighed")
    ...     return len(message.parts)
    >>> message = Message("m", "user", ())
    >>> parts(message), parts(message)
    weighed
    (0, 0)
    """
    known: dict[int, tuple[Message, int]] = {}
    _memories.append(known)

    @wraps(weight)
    def remember(message: Message) -> int:
        entry = known.get(id(message))
        if entry is None:
            # The message is held too: an id may be given again once its object is gone.
            entry = known[id(message)] = message, weight(message)
        return entry[1]

    return remember


def forget_weights() -> None:
    """Drop the memory of weights, so that it does not grow with every conversation."""
    for known in _memories:
        known.clear()
