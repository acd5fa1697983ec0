"""Parts with provenance, and messages made of parts.

Recordings and strategies use the same two types. A message that a strategy leaves alone is *the
same object* in every view, so views are compared by identity.
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
FRAME = "frame"  # the name of the parts that :func:`frame` makes
KEPT_UNSEEN = "compaction, as measured"  # of an opaque part that holds the facts of its sources
FAILED = ("aborted", "error")  # origins of a failed answer, which says nothing about the context
INTERRUPTED = "interrupted"  # origin of the note that a client leaves in place of a failed answer


class Source(msgspec.Struct, frozen=True, gc=False):
    """The origin of a part: a message, or a piece of one.

    Parameters
    ----------
    id
        Id of the message in the log.
    part
        Index of the part in that message; -1 for the whole message.
    start, end
        Character range in that part's text; ``end=-1`` means to its end.
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
        Its type for the model.
    text
        The text for the model: prose, tool output, or a call's arguments as compact JSON.
    kind
        Its relation to its sources: ``verbatim`` (whole, unchanged), ``truncated``, ``stub`` (a
        placeholder), ``summary``, ``recovered`` (restored after a compaction), ``memory``,
        ``synthetic`` (without sources), ``opaque`` (tokens of unknown text).
    sources
        The messages that it represents; empty only for ``synthetic`` and ``opaque`` parts.
    name
        The tool's name, for a call or a result; a label, for an opaque part.
    call_id
        Links a tool's result to its call.
    is_error
        Whether a tool reported failure.
    handle
        The handle by which the content can be fetched; "" if it cannot.
    size
        Tokens of a part without text: o200k for an opaque part, model tokens for an image.
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
        Token-seconds of a cache that is paid by time.

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
        """Tokens written to the cache, for any lifetime."""
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
    """The provider's own reason for a cache miss.

    Parameters
    ----------
    reason
        The provider's term, such as ``system_changed`` or ``tools_changed``.
    tokens
        Missed tokens according to the provider; 0 if not given.
    """

    reason: str
    tokens: int = 0


class RecordedRequest(msgspec.Struct, frozen=True, gc=False):
    """The recorded data of a request that a replay can see.

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
        Whether the client was restarted since the previous request: it then rebuilds its system
        prompt (date, environment, tool servers).
    diagnosis
        The provider's reason for a cache miss; None if not given.
    tier
        The billed service tier, if it is not the provider's usual one.
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
    """The request that an assistant message answers, with its ids in other files.

    Parameters
    ----------
    id
        The answer's own id, which identifies its copies in other files; "" if it has none.
    inherited
        Whether the log copied it from the session that this one was forked from.
    """

    id: str = ""
    inherited: bool = False

    @property
    def seen(self) -> RecordedRequest:
        """Return the data that a replay can see."""
        names = RecordedRequest.__struct_fields__
        return RecordedRequest(*(getattr(self, name) for name in names))


class Message(msgspec.Struct, frozen=True, tag="message", tag_field="type"):
    """A message of a script, or one made by a strategy.

    Parameters
    ----------
    id
        Unique in its conversation. Messages created in a replay have ids of their own.
    role
        ``tool`` for a tool's result; ``user`` for all other input of the model.
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
        The agent's own name of the message, if it says more than the role: pi sends
        ``bashExecution``, ``custom``, ``branchSummary`` and ``compactionSummary`` to the model as
        user messages. For a failed answer ``aborted`` or ``error``; for a client's note after such
        an answer ``interrupted``.
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
        """Whether the message starts a turn: a person wrote it."""
        return self.role == "user" and not self.meta

    @property
    def text(self) -> str:
        """The text of all parts, with line breaks between them."""
        return "\n".join(part.text for part in self.parts if part.text)


_encode = msgspec.json.Encoder(order="deterministic").encode


def encoded(piece: object) -> bytes:
    r"""Return a piece as JSON for a digest, the same on every machine.

    Scripts may contain unpaired surrogates, which UTF-8 cannot encode; they are escaped.

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
    """Return a part with text of the client, which has no sources."""
    return Part("text", text, "synthetic", ())


def frame(text: str) -> Part:
    """Return a part with text that a client puts around a message for the model.

    Agents do not treat it as part of the message: they neither count nor show it.
    """
    return Part("text", text, "synthetic", (), FRAME)


def verbatim(
    id: str, type: PartType, text: str, *, name: str = "", call_id: str = "", **more: object
) -> Part:
    """Return a verbatim part of a script message; the message is its source.

    Examples
    --------
    >>> verbatim("m1", "text", "hello").sources
    (Source(id='m1', part=-1, start=0, end=-1),)
    """
    part = Part(type, text, "verbatim", (Source(id),), name, call_id)
    return msgspec.structs.replace(part, **more) if more else part


# The form in which pi sends summaries and user-run commands to the model.
#
# Readers and strategies share it, so that a summary made here equals one of pi. The literals are
# those of pi 0.49.3 to 0.73.1.

# The origin of pi's summary messages. Scripts contain no summaries, so only pi's own messages have
# it.
SUMMARY = "compactionSummary"
COMPACTED = "The conversation history before this point was compacted into the following summary:"
BRANCHED = "The following is a summary of a branch that this conversation came back from:"


def compacted(told: Iterable[Part]) -> list[Part]:
    """Return the summary of a compaction in its form for the model."""
    return [frame(f"{COMPACTED}\n\n<summary>\n"), *told, frame("\n</summary>")]


def branched(told: Iterable[Part]) -> list[Part]:
    """Return the summary of an abandoned branch in its form for the model."""
    return [frame(f"{BRANCHED}\n\n<summary>\n"), *told, frame("</summary>")]


def shell(
    command: Part,
    output: Part,
    *,
    exit_code: int | None = None,
    cancelled: bool = False,
    full_output: str = "",  # where the whole output is stored, if it was cut
) -> list[Part]:
    """Return a user-run command and its output in their form for the model."""
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


# Weights of messages: numbers that depend on one message only, computed once.
#
# Every call of every strategy weighs the same messages. Weighing by JSON would take longer than the
# rest of a replay.

Weight = Callable[[Message], int]

_memories: list[dict[int, tuple[Message, int]]] = []


def remembered(weight: Weight) -> Weight:
    """Cache a weight function by message.

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
            # The message is stored too: after its deletion, its id() may be reused.
            entry = known[id(message)] = message, weight(message)
        return entry[1]

    return remember


def forget_weights() -> None:
    """Clear the cache of weights, so that it does not grow with every conversation."""
    for known in _memories:
        known.clear()
