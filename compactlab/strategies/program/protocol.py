"""The messages between this host and a program that compacts: docs/protocol.md as types.

Each is an object on its own line. Messages of the program are read strictly: an unknown field is an
error. Later versions may add fields to messages of the host.
"""

from __future__ import annotations

from collections.abc import Iterable
from inspect import cleandoc
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta, Struct

from compactlab.sim.core.json import parse
from compactlab.sim.core.message import Kind, Message, Part, PartType, Role, Source, Usage, encoded
from compactlab.sim.core.view import Phase
from compactlab.sim.replay.strategy import Act, Lifetime, RuleName

VERSION = 1

Count = Annotated[int, Meta(ge=0, le=10**12)]
Reference = str | Source
"""The id of a message, or an object with a piece of it: ``id``, ``part``, ``start``, ``end``."""

# Messages of the host.


class Greeting(Struct, tag="hello", frozen=True):
    """The host's first line; the program answers with its own hello."""

    protocol: int


class Begin(Struct, tag="begin", frozen=True):
    """A replay begins; the program forgets everything about earlier ones."""

    model: str
    window: Annotated[int, Meta(description="Tokens that the model can take.")]
    max_output: Annotated[int, Meta(description="Tokens of its longest answer; 0: not known.")]
    cache_lifetime: Annotated[float, Meta(description="Seconds that a cache entry lives unread.")]
    seed: Annotated[int, Meta(description="For the program's random draws.")]


class SentPart(Struct, frozen=True, omit_defaults=True):
    """A part of a message or of the system prompt."""

    type: PartType
    text: str
    kind: Kind = "verbatim"
    sources: Annotated[
        tuple[Reference, ...],
        Meta(description="The messages that it stands for; left out if that is its own message."),
    ] = ()
    name: str = ""
    call_id: str = ""
    is_error: bool = False
    handle: str = ""
    size: int = 0
    tokens: int = 0


class SummaryPart(SentPart, frozen=True, omit_defaults=True, kw_only=True):
    """A part of a summary. It always has its kind, so that quotations stay quotations."""

    kind: Kind


class SentMessage(Struct, frozen=True, omit_defaults=True):
    """A message; replaces an earlier one with the same id."""

    id: str
    role: Role
    parts: tuple[SentPart, ...]
    tokens: int = 0
    time: float = 0.0
    meta: Annotated[bool, Meta(description="A user message that no person typed.")] = False
    origin: str = ""


class Question(Struct, tag="view", frozen=True):
    """The view that would be sent to the model now."""

    id: int
    phase: Phase
    ids: Annotated[tuple[str, ...], Meta(description="The messages of the view, oldest first.")]
    new: Annotated[
        tuple[SentMessage, ...], Meta(description="Those that were not sent in this replay before.")
    ]
    tokens: Annotated[int, Meta(description="Tokens of the whole view, with the system prompt.")]
    window: int
    now: Annotated[float, Meta(description="Seconds since 1970.")]
    idle: Annotated[float, Meta(description="Seconds since the last request started.")]
    usage: Annotated[Usage | None, Meta(description="Of the last call; null before the first.")]
    notes: Annotated[dict[str, Any], Meta(description="Notes as the program left them.")]
    system: Annotated[
        tuple[SentPart, ...] | msgspec.UnsetType,
        Meta(description="The system prompt; left out if unchanged."),
    ] = msgspec.UNSET


class Counted(Struct, tag="counted", frozen=True):
    """The tokens of a text."""

    tokens: int


class Summary(Struct, tag="summary", frozen=True):
    """The summariser's text as parts for a new message; empty if it wrote nothing."""

    parts: tuple[SummaryPart, ...]


class Turned(Struct, tag="turned", frozen=True):
    """The view with the messages of the extra turn; from now on the question is about this view."""

    ids: tuple[str, ...]
    new: tuple[SentMessage, ...]


class File(Struct, tag="file", frozen=True):
    """A file's text; null where there is none."""

    text: str | None


class Done(Struct, tag="done", frozen=True):
    """The file is written."""


# Messages of the program.


class Hello(Struct, tag="hello", frozen=True, forbid_unknown_fields=True):
    """The program's description, and the moments at which it wants to be asked."""

    protocol: int
    name: Annotated[str, Meta(min_length=1, max_length=200)]
    version: Annotated[str, Meta(min_length=1, max_length=200)]
    phases: Annotated[tuple[Phase, ...], Meta(min_length=1)] = (Phase.BEFORE_CALL,)
    lifetime: Lifetime = Lifetime.SESSION
    idle_after: Annotated[
        float, Meta(ge=0, description="Seconds of silence after which it is asked.")
    ] = 0.0
    does: Annotated[tuple[Act, ...], Meta(description="What it does, for lists.")] = ()
    breaks: Annotated[
        dict[RuleName, str],
        Meta(description="Rules of the contract that it breaks, with the reason."),
    ] = {}


class Piece(Struct, frozen=True, forbid_unknown_fields=True):
    """A part of an answer: of a message that is edited, or a new one.

    With ``part`` it replaces that part of the edited message: cut to the characters from ``start``
    to ``end``, or with another ``text``. Without, it is a new part.
    """

    part: Annotated[int, Meta(ge=0)] | None = None
    start: Annotated[int, Meta(ge=0)] = 0
    end: Annotated[int, Meta(ge=-1, description="-1 for its end.")] = -1
    text: str | None = None
    type: PartType = "text"
    kind: Kind | None = None
    sources: tuple[Reference, ...] = ()
    name: str = ""
    call_id: str = ""
    is_error: bool = False
    handle: str = ""
    size: Count = 0
    tokens: Annotated[int, Meta(description="Ignored; parts of a summary have it.")] = 0


class Item(Struct, frozen=True, forbid_unknown_fields=True):
    """A changed or new message of an answer: with ``id`` it is edited, otherwise new."""

    parts: Annotated[
        tuple[int | Piece, ...],
        Meta(min_length=1, description="A number keeps that part of the edited message."),
    ]
    id: str | None = None
    role: Role | None = None
    origin: str = ""


class Answer(Struct, tag="answer", frozen=True, forbid_unknown_fields=True):
    """The view to send instead; with only ``id``, the view stays unchanged."""

    id: int
    messages: Annotated[
        tuple[str | Item, ...] | None,
        Meta(description="Edits: the id of a message keeps it, an object edits it or is new."),
    ] = None
    openai: Annotated[
        tuple[dict[str, Any], ...] | None, Meta(description="Messages of OpenAI's chat API.")
    ] = None
    anthropic: Annotated[
        tuple[dict[str, Any], ...] | None, Meta(description="Messages of Anthropic's API.")
    ] = None
    system: Annotated[
        tuple[int | Piece, ...] | None, Meta(description="As the parts of an edited message.")
    ] = None
    notes: Annotated[
        dict[str, Any] | None, Meta(description="New notes; a rewind restores the old ones.")
    ] = None
    mark: Annotated[
        Count | None, Meta(description="Number of leading messages that end at a cache mark.")
    ] = None


class CountText(Struct, tag="count", frozen=True, forbid_unknown_fields=True):
    """How many tokens a text has; answered by ``counted``."""

    text: str


class Summarize(Struct, tag="summarize", frozen=True, forbid_unknown_fields=True):
    """Have messages summarised, which is billed; answered by ``summary``."""

    messages: Annotated[
        tuple[str | Item, ...], Meta(description="Ids of messages, or messages of its own.")
    ]
    max_tokens: Annotated[int, Meta(ge=1, le=10**9)]
    previous: Annotated[
        tuple[str | Item, ...], Meta(description="Messages whose summaries are to be carried on.")
    ] = ()
    instructions: str = ""
    transcript: Annotated[
        str, Meta(description="The messages as text, billed; '': the host writes them out.")
    ] = ""
    rides: Annotated[
        Literal["live", "fresh"], Meta(description="On the live prompt, or with one of its own.")
    ] = "fresh"
    waits: Annotated[bool, Meta(description="Whether the agent waits for it.")] = True
    marked: Annotated[
        bool, Meta(description="Whether it is marked for the cache, where marks are needed.")
    ] = True


class Turn(Struct, tag="turn", frozen=True, forbid_unknown_fields=True):
    """Have the agent take an extra turn, which is billed; answered by ``turned``."""

    prompt: str
    system: Annotated[str, Meta(description="Added to the system prompt for this turn.")] = ""
    purpose: Annotated[str, Meta(min_length=1, max_length=40)] = "turn"
    max_tokens: Annotated[int, Meta(ge=1, le=10**9)] = 1000
    silent: Annotated[str, Meta(description="What it answers if it has nothing to say.")] = ""
    detached: Annotated[bool, Meta(description="On a copy, of which only the notes last.")] = False
    waits: Annotated[bool, Meta(description="Whether the user waits for it.")] = True


class Read(Struct, tag="read", frozen=True, forbid_unknown_fields=True):
    """Read a file that was written before; answered by ``file``."""

    path: Annotated[str, Meta(min_length=1, max_length=1000)]


class Write(Struct, tag="write", frozen=True, forbid_unknown_fields=True):
    """Write a file; a part with its path as ``handle`` can be fetched. Answered by ``done``."""

    path: Annotated[str, Meta(min_length=1, max_length=1000)]
    text: str


FromHost = Greeting | Begin | Question | Counted | Summary | Turned | File | Done
Request = CountText | Summarize | Turn | Read | Write
FromProgram = Hello | Answer | CountText | Summarize | Turn | Read | Write

_program = msgspec.json.Decoder[FromProgram](FromProgram)


# Characters that some languages treat as line ends, and that JSON does not escape.
_ENDS = {"\x85": rb"\u0085", "\u2028": rb"\u2028", "\u2029": rb"\u2029"}


def line_of(message: FromHost) -> bytes:
    r"""Encode a message to the program as one line in any language.

    Examples
    --------
    >>> line_of(File("one\u2028line"))
    b'{"type":"file","text":"one\\u2028line"}\n'
    """
    line = encoded(message)
    for end, escaped in _ENDS.items():
        line = line.replace(end.encode(), escaped)
    return line + b"\n"


def read_line(line: bytes) -> FromProgram:
    """Decode a message of the program.

    Raises
    ------
    ValueError
        If it is invalid.

    Examples
    --------
    >>> read_line(b'{"type":"count","text":"Hello"}')
    CountText(text='Hello')
    >>> read_line(b'{"type":"count","texts":[]}')
    Traceback (most recent call last):
    msgspec.ValidationError: Object contains unknown field `texts`
    """
    message: FromProgram
    try:
        message = _program.decode(line)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        # Unpaired surrogates, which messages may contain, are only accepted by Python's decoder;
        # for other errors, it gives the reason.
        message = msgspec.convert(parse(line), FromProgram)
    return message


def kind_of(message: FromProgram) -> str:
    """Return the type of a message, as its line names it."""
    return str(message.__struct_config__.tag)


def sent_part(part: Part, tokens: int, owner: str = "") -> SentPart:
    """Convert a part to the form sent to programs."""
    own = part.kind == "verbatim" and part.sources == (Source(owner),)
    sources = () if own else tuple(_reference(source) for source in part.sources)
    return SentPart(
        part.type, part.text, part.kind, sources, part.name, part.call_id, part.is_error,
        part.handle, part.size, tokens,
    )  # fmt: skip


def summary_part(part: Part, tokens: int) -> SummaryPart:
    """Convert a part of a summary to the form sent to programs."""
    return SummaryPart(**msgspec.structs.asdict(sent_part(part, tokens)))


def _reference(source: Source) -> Reference:
    return source.id if source == Source(source.id) else source


def sent_message(message: Message, sizes: Iterable[int]) -> SentMessage:
    """Convert a message to the form sent to programs, with the tokens of each part."""
    sizes = tuple(sizes)
    parts = zip(message.parts, sizes, strict=True)
    return SentMessage(
        message.id,
        message.role,
        tuple(sent_part(part, tokens, message.id) for part, tokens in parts),
        sum(sizes),
        message.time,
        message.meta,
        message.origin,
    )


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of lines of the host and of the program."""
    sides = {"host": FromHost, "program": FromProgram}
    types = [kind for side in sides.values() for kind in get_args(side)]
    references, components = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    known = dict(zip(types, references, strict=True))
    for component in components.values():
        component["description"] = cleandoc(component["description"])
    lines = {
        side: {"anyOf": [known[kind] for kind in get_args(kinds)]} for side, kinds in sides.items()
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"compactlab's protocol for programs, version {VERSION}",
        "description": "One line between compactlab (host) and a program that compacts.",
        "anyOf": [{"$ref": f"#/$defs/{side}"} for side in sides],
        "$defs": {**lines, **components},
    }
