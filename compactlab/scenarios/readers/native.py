"""compactlab's own formats: a conversation with one event per line, and labels for another file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, BinaryIO, NamedTuple

import msgspec

from compactlab.scenarios.readers import jsonl
from compactlab.scenarios.readers.script import SYSTEM, Format
from compactlab.scenarios.readers.shapes import first_is
from compactlab.sim.core.conversation import (
    Compaction,
    Conversation,
    Event,
    Fact,
    Need,
    PassedOver,
    Rewind,
    SideRequest,
)
from compactlab.sim.core.errors import InputError, unknown
from compactlab.sim.core.message import Call, Message, Part, Source, Usage
from compactlab.sim.facts.wording import Wording


def check_fact(fact: Fact, messages: Mapping[str, Message], facts: Collection[str]) -> None:
    """Check that all references of a fact exist."""
    for source in fact.origin:
        _check_source(source, messages)
    scope = "" if fact.scope == "session" else fact.scope
    for id in (fact.deleted_at, scope, fact.handle):
        require(id, messages)
    if fact.handle and messages[fact.handle].role != "tool":
        raise InputError(f"{fact.handle!r} is not a tool result")
    for other in (*fact.supersedes, *fact.depends_on):
        if other not in facts:
            raise InputError(unknown("fact", other, facts))


def check_need(need: Need, messages: Mapping[str, Message], facts: Collection[str]) -> None:
    """Check that the references of a need exist."""
    if need.fact not in facts:
        raise InputError(unknown("fact", need.fact, facts))
    require(need.at or " ", messages)
    if messages[need.at].role != "assistant":
        raise InputError(f"{need.at!r} is not an assistant message")


def require(id: str, messages: Mapping[str, Message]) -> None:
    """Check that a message with this id exists; the empty id does not refer to one."""
    if id and id not in messages:
        raise InputError(unknown("message", id, messages))


def _check_source(source: Source, messages: Mapping[str, Message]) -> None:
    require(source.id or " ", messages)
    parts = messages[source.id].parts
    if not -1 <= source.part < len(parts):
        raise InputError(f"message {source.id!r} has no part {source.part}: it has {len(parts)}")
    size = len(parts[source.part].text)
    end = size if source.end == -1 else source.end
    if source.part >= 0 and not 0 <= source.start <= end <= size:
        raise InputError(
            f"part {source.part} of message {source.id!r} has no characters {source.start} to "
            f"{source.end}: it has {size}"
        )


NAME = "native"

VERSION = 1

_LINES: dict[str, Struct] = {
    "message": Message,
    "rewind": Rewind,
    "compaction": Compaction,
    "fact": Fact,
    "need": Need,
}
# Nested structs: an unknown field is an error and is not ignored.
Struct = type[msgspec.Struct]
_INSIDE: dict[Struct, dict[str, Struct]] = {
    Message: {"parts": Part, "call": Call},
    Compaction: {"inserted": Message, "call": Call},
    Fact: {"origin": Source},
    Part: {"sources": Source},
    Call: {"usage": Usage},
    SideRequest: {"call": Call},
}
# Counts that are summed, and written as 64-bit numbers.
_COUNTS: dict[Struct, frozenset[str]] = {
    Usage: frozenset(Usage.__struct_fields__),
    Part: frozenset({"size"}),
    Compaction: frozenset({"tokens_before"}),
    SideRequest: frozenset({"searches"}),
    PassedOver: frozenset({"count", "characters", "tokens", "line"}),
}
_LARGEST = 10**12  # token-seconds of a held cache may be larger
_HELD = {"storage": 10**18}


class Header(msgspec.Struct, tag="conversation", tag_field="type", forbid_unknown_fields=True):
    """The first line of a conversation: all its fields that are neither events nor labels."""

    version: int
    id: str
    format: str = NAME
    system: tuple[Part, ...] = ()
    starts_inside: bool = False
    source: str | None = None
    seed: Annotated[int, msgspec.Meta(ge=-1, le=10**18)] = -1
    project: str = ""
    subagent: bool = False
    parent: str = ""
    side_requests: tuple[SideRequest, ...] = ()
    passed_over: tuple[PassedOver, ...] = ()


_TOLD = Header.__struct_fields__[1:]  # fields of a conversation in its header


def _is_own(head: dict[str, Any]) -> bool:
    return head.get("type") == "conversation" and "version" in head


def read(lines: jsonl.Lines) -> Iterator[Conversation]:
    """Yield the conversations of a file; each header starts a new one."""
    content: _Content | None = None
    for number, data in lines:
        done = None
        with lines.at(number):
            fields = jsonl.decode(data, jsonl.OBJECT)
            if fields.get("type") == "conversation":
                done, content = content, None
                content = _Content(_header(fields))
            elif content is None:
                raise InputError("a conversation must start with its header")
            else:
                content.take(line(fields), number)
        if done:
            yield done.conversation(lines)
    if content is None:
        raise InputError("there is no conversation in it", str(lines.path))
    yield content.conversation(lines)


def write(conversation: Conversation, to: Path | BinaryIO) -> None:
    """Write a conversation; reading it gives an equal one."""
    header = Header(VERSION, **{name: getattr(conversation, name) for name in _TOLD})
    pieces = (header, *conversation.events, *conversation.facts, *conversation.needs)
    with to.open("wb") if isinstance(to, Path) else nullcontext(to) as stream:
        for piece in pieces:
            stream.write(msgspec.json.encode(_plain(piece, SYSTEM)) + b"\n")


class _Content:
    def __init__(self, header: Header) -> None:
        self._header = header
        self._events: list[Event] = []
        self._messages: dict[str, Message] = {}
        self._labels: list[tuple[int, Fact | Need]] = []
        self._facts: set[str] = set()

    def take(self, line: Any, number: int) -> None:
        if isinstance(line, Fact | Need):
            if isinstance(line, Fact):
                if line.id in self._facts:
                    raise InputError(f"there is a fact {line.id!r} already")
                self._facts.add(line.id)
            self._labels.append((number, line))
            return
        if isinstance(line, Message):
            if line.id in self._messages:
                raise InputError(f"there is a message {line.id!r} already")
            if not line.parts:
                raise InputError("a message needs at least one part")
            self._messages[line.id] = line
        elif isinstance(line, Rewind):
            require(line.to, self._messages)
        else:
            require(line.kept_from, self._messages)
        self._events.append(line)

    def conversation(self, lines: jsonl.Lines) -> Conversation:
        facts: list[Fact] = []
        needs: list[Need] = []
        for number, label in self._labels:
            with lines.at(number):
                if isinstance(label, Fact):
                    check_fact(label, self._messages, self._facts)
                    facts.append(label)
                else:
                    check_need(label, self._messages, self._facts)
                    needs.append(label)
        told = {name: getattr(self._header, name) for name in _TOLD}
        if told["source"] is None:
            told["source"] = str(lines.path)
        events = tuple(self._events)
        return Conversation(events=events, facts=tuple(facts), needs=tuple(needs), **told)


def _header(fields: dict[str, Any]) -> Header:
    _fill_sources(fields.get("system"), SYSTEM)
    inside: dict[str, Struct] = {"system": Part, "side_requests": SideRequest}
    inside["passed_over"] = PassedOver
    for name, struct in inside.items():
        for item in _dicts(fields.get(name)):
            _check(item, struct)
    header = msgspec.convert(fields, Header)
    if header.version != VERSION:
        raise InputError(f"version {header.version} is not known; this is version {VERSION}")
    return header


def line(fields: dict[str, Any]) -> Any:
    """Make an event or label from the fields of a line."""
    kind = str(fields.get("type"))
    if kind not in _LINES:
        raise InputError(unknown("type of line", kind, _LINES))
    for message in (fields, *_dicts(fields.get("inserted"))):
        _fill_sources(message.get("parts"), message.get("id"))
    _check(fields, _LINES[kind])
    return msgspec.convert(fields, _LINES[kind])


def _fill_sources(parts: Any, owner: Any) -> None:
    for part in _dicts(parts):
        part.setdefault("kind", "verbatim")
        if part["kind"] == "verbatim":
            part.setdefault("sources", [{"id": owner}])


def _check(fields: dict[str, Any], struct: type[msgspec.Struct]) -> None:
    known = {field.encode_name for field in _fields(struct)}
    if struct.__struct_config__.tag:
        known.add("type")
    counts = _COUNTS.get(struct, frozenset())
    for name, value in fields.items():
        if name not in known:
            raise InputError(unknown("field", name, known))
        most = _HELD.get(name, _LARGEST)
        if name in counts and isinstance(value, int) and not 0 <= value <= most:
            raise InputError(f"`{name}` must be from 0 to {most:,}")
        inner = _INSIDE.get(struct, {}).get(name)
        for item in _dicts(value if isinstance(value, list) else [value]):
            if inner:
                _check(item, inner)


@cache
def _fields(struct: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """Return the fields of a struct; msgspec derives them from annotations, so they are cached."""
    return msgspec.structs.fields(struct)


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _plain(struct: msgspec.Struct, owner: str) -> dict[str, Any]:
    """Convert a struct to plain data, without the fields that reading restores."""
    owner = struct.id if isinstance(struct, Message) else owner
    plain: dict[str, Any] = {}
    if struct.__struct_config__.tag:
        plain["type"] = struct.__struct_config__.tag
    own = isinstance(struct, Part) and struct.kind == "verbatim"
    for each in _fields(type(struct)):
        value = getattr(struct, each.name)
        is_usual = own and (each.name == "kind" or value == (Source(owner),))
        if not is_usual and value != each.default:
            plain[each.encode_name] = _plain_value(value, owner)
    return plain


def _plain_value(value: Any, owner: str) -> Any:
    if isinstance(value, msgspec.Struct):
        return _plain(value, owner)
    return [_plain_value(item, owner) for item in value] if isinstance(value, tuple) else value


FORMAT = Format(
    NAME, "compactlab's own conversations with facts and needs (JSONL)", first_is(_is_own), read
)


# A file of facts about a conversation in another file (see docs/facts.md).


class Labelled(NamedTuple):
    """The facts and needs of a file."""

    facts: tuple[Fact, ...]
    needs: tuple[Need, ...]
    left_out: tuple[str, ...]  # ids of facts that no message states literally


def read_facts(path: str | Path, conversation: Conversation) -> Labelled:
    """Read the facts and needs of a conversation.

    Facts without a value, and facts without an origin that no message states, are left out.
    """
    lines = jsonl.Lines(Path(path), strict=True)  # the user wrote the labels
    collected = _Labels(conversation)
    for number, value in jsonl.values(lines):
        for index, item in enumerate(value if isinstance(value, list) else [value], 1):
            with lines.at(number), _item(index if isinstance(value, list) else 0):
                collected.take(item, number)
    for number, label in collected.labels:
        with lines.at(number):
            collected.check(label)
    left = collected.left_out
    labels = [label for _, label in collected.labels]
    facts = tuple(
        # Without references to facts that were left out.
        msgspec.structs.replace(
            fact,
            supersedes=tuple(id for id in fact.supersedes if id not in left),
            depends_on=tuple(id for id in fact.depends_on if id not in left),
        )
        for fact in labels
        if isinstance(fact, Fact)
    )
    if not facts and left:
        told = "any of its facts" if len(left) == 1 else f"any of its {len(left):,} facts"
        raise InputError(f"no message of the conversation says {told}", str(path))
    if not facts:
        raise InputError("there is no fact in it", str(path))
    needs = (need for need in labels if isinstance(need, Need) and need.fact not in left)
    return Labelled(facts, tuple(needs), tuple(left))


@contextmanager
def _item(place: int) -> Iterator[None]:
    try:
        yield
    except (ValueError, InputError) as error:
        if not place:
            raise
        raise InputError(f"item {place}: {error}") from None


@dataclass
class _Labels:
    conversation: Conversation
    labels: list[tuple[int, Fact | Need]] = field(default_factory=list)
    left_out: dict[str, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._messages = {message.id: message for message in self.conversation.messages}
        self._ids: set[str] = set()

    def take(self, item: Any, number: int) -> None:
        if not isinstance(item, dict):
            raise InputError("a fact is an object with a value")
        needs: list[Need] = []
        if item.get("type") not in ("fact", "need"):
            item, needs = self._plain(item)
        label = line(item)
        if isinstance(label, Fact):
            if label.id in self._ids:
                raise InputError(f"there is a fact {label.id!r} already")
            self._ids.add(label.id)
            if not label.value.strip() or not (label.origin or label.decoy):
                self.left_out[label.id] = None
                return
        self.labels += ((number, each) for each in (label, *needs))

    def check(self, label: Fact | Need) -> None:
        if isinstance(label, Fact):
            check_fact(label, self._messages, self._ids)
        elif label.fact not in self.left_out and (label.at or label.fact not in self._ids):
            check_need(label, self._messages, self._ids)

    def _plain(self, item: dict[str, Any]) -> tuple[dict[str, Any], list[Need]]:
        """Convert a plain object to a fact of the native format, with its needs."""
        if not isinstance(item.get("value"), str):
            raise InputError("a fact is an object with a value")
        usual = {"id": f"f{len(self._ids) + 1}", "fact": item.get("type", "entity"), "key": ""}
        fields = usual | item | {"type": "fact"}
        needed = fields.pop("needed", 0)
        origin = fields.get("origin", ())
        listed = origin if isinstance(origin, list) else [origin] if origin else []
        fields["origin"] = [{"id": each} if isinstance(each, str) else each for each in listed]
        if not listed and not fields.get("decoy"):
            fields["origin"] = [{"id": message.id} for message in self._saying(fields)]
        if isinstance(needed, int) and 0 <= needed <= _MOST:
            return fields, [Need(str(fields["id"]), "")] * needed
        if isinstance(needed, list) and all(isinstance(at, str) and at for at in needed):
            return fields, [Need(str(fields["id"]), at) for at in needed]
        raise InputError(f"`needed` is how often (up to {_MOST:,}), or a list of ids of answers")

    def _saying(self, fields: dict[str, Any]) -> Iterator[Message]:
        """Yield the messages that state a fact whose origin is not given."""
        fact = line(fields)
        for message in self.conversation.messages:
            parts = (part for part in message.parts if part.type != "thinking")
            if any(Wording(part.text).says(fact).stated for part in parts):
                yield message


_MOST = 1_000
