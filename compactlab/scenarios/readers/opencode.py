"""Sessions of OpenCode: its database, its storage of small files, and its exports."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from compactlab.scenarios.readers import database, jsonl
from compactlab.scenarios.readers.blocks import image, opaque, tool_call
from compactlab.scenarios.readers.counts import Tokens, less
from compactlab.scenarios.readers.database import Record
from compactlab.scenarios.readers.opencode_database import Store, Told, is_store, told
from compactlab.scenarios.readers.script import SYSTEM, Draft, Format, Home, Script, nothing, stored
from compactlab.scenarios.readers.shapes import dict_of, first_is, fits
from compactlab.scenarios.readers.unread import characters_of
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Call, Part, PartType, Usage, verbatim

NAME = "opencode"


class _Cache(msgspec.Struct, frozen=True):
    read: Tokens = 0
    write: Tokens = 0


class _Counts(msgspec.Struct):
    input: Tokens = 0
    output: Tokens = 0
    reasoning: Tokens = 0
    total: Tokens | None = None
    cache: _Cache = _Cache()

    def usage(self, *, apart: bool) -> Usage:
        """Return the usage; without a total, ``apart`` says if reasoning is separate from output.

        Until version 1.3.16 it was part of it. Reasoning larger than the output is always separate.
        """
        spoken = self.input + self.output
        whole = spoken + self.cache.read + self.cache.write
        told = {whole: False, spoken: False} | {
            each + self.reasoning: True for each in (spoken, whole)
        }
        beside = told.get(self.total or -1, apart or self.reasoning > self.output)
        output = self.output + (self.reasoning if beside else 0)
        return Usage(self.input, self.cache.read, self.cache.write, 0, output)


class _Time(msgspec.Struct, frozen=True):
    created: float = 0.0
    completed: float | None = None


class _Session(msgspec.Struct, rename={"parent": "parentID", "fork": "fork_session_id"}):
    id: str
    directory: Any = None
    parent: Any = None
    version: Any = None
    time: Any = None
    # Only in the database, from version 2 on.
    fork: Any = None
    newer: bool = False
    model: Any = None
    tokens_input: Tokens = 0
    tokens_output: Tokens = 0
    tokens_reasoning: Tokens = 0
    tokens_cache_read: Tokens = 0
    tokens_cache_write: Tokens = 0

    @property
    def created(self) -> float:
        """The start, in milliseconds since 1970; 0 if unknown."""
        return _number(dict_of(self.time).get("created"))

    @property
    def total(self) -> Usage:
        output = self.tokens_output + self.tokens_reasoning
        read, write = self.tokens_cache_read, self.tokens_cache_write
        return Usage(self.tokens_input, read, write, 0, output)

    @property
    def apart(self) -> bool:
        """Whether its client counts reasoning separately from the output."""
        found = _VERSION.match(self.version) if isinstance(self.version, str) else None
        if found and not self.newer:
            return tuple(map(int, found.groups())) >= _APART
        return self.newer or self.created >= _APART_FROM


class _Message(msgspec.Struct, rename={"model_id": "modelID"}):
    id: str
    role: str
    time: _Time = _Time()
    model_id: str | None = None
    model: Any = None
    tokens: _Counts | None = None
    summary: Any = None
    error: Any = None
    system: Any = None


class _State(msgspec.Struct, frozen=True):
    status: str = ""
    input: Any = None
    output: str | None = None
    error: str | None = None
    attachments: list[Record] | None = None


class _Piece(msgspec.Struct, rename={"call_id": "callID"}):
    type: str
    text: str | None = None
    synthetic: bool = False
    ignored: bool = False
    tool: str = ""
    call_id: str = ""
    state: _State = _State()
    tokens: _Counts | None = None
    auto: bool = False
    tail_start_id: str | None = None
    url: str = ""
    mime: str = ""
    filename: str | None = None
    prompt: str | None = None


# From this version on (April 2026), reasoning is counted separately from the output.
_APART, _APART_FROM = (1, 3, 16), 1_777_593_600_000
_VERSION = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")
# Parts for the client and its user interface; they are not sent to the model.
_LEFT_OUT = {"step-start", "snapshot", "patch", "retry", "agent"}
_READ = {"text", "reasoning", "tool", "file", "subtask", "compaction", "step-finish"}
_KNOWN = {*_Piece.__struct_fields__, "callID", "metadata", "source", "description", "command"}
_KNOWN |= {"snapshot", "native", "state", "time"}
_STATE = {*_State.__struct_fields__, "metadata", "title", "raw", "time"}
# Fields of a message: those read here, those repeated in its parts, those for the user interface.
_INFO = {*_Message.__struct_fields__, "modelID", "parentID", "path", "finish", "content", "text",
         "files", "agents", "skills", "recent", "output", "command", "description", "snapshot",
         "metadata", "native", "providerState", "providerContext", "format", "tools"}  # fmt: skip
_ENDED = ("completed", "error")
_SPOKEN: dict[str, PartType] = {"text": "text", "reasoning": "thinking"}
_SAFE = re.compile(r"[\w.-]+")


def _is_own(head: Record) -> bool:
    if isinstance(head.get("sqlite"), dict):
        return is_store(head["sqlite"])
    return is_session(head.get("info") if isinstance(head.get("messages"), list) else head)


def is_session(value: Any) -> bool:
    """Whether a value is the metadata of an OpenCode session."""
    return fits(value, {"id": str, "directory": str, "projectID": str, "time": dict})


def is_piece(value: Any) -> bool:
    """Whether a value is a message or part in OpenCode's storage; it is read with its session."""
    message = {"sessionID": str, "role": lambda role: role in ("user", "assistant")}
    return fits(value, message) or fits(value, {"messageID": str, "type": str})


def read(lines: jsonl.Lines) -> Iterator[Conversation]:
    """Read the conversations of an export, a storage tree or a database."""
    if database.is_database(lines.path):
        with database.opened(lines.path) as opened:
            store = Store(opened)
            yield from stored(lines, opened, store.sessions().items(), partial(_kept, store, lines))
        return
    count = 0
    for number, value in jsonl.values(lines):
        reading = None
        with lines.at(number):
            document = msgspec.convert(value, Record)
            exported = "messages" in document
            session = msgspec.convert(document.get("info") if exported else document, _Session)
            reading = _Reading(session, lines)
            for each in _exported(document, lines) if exported else _stored(lines.path, session.id):
                with lines.at(number, list(each)):
                    reading.take(*each)
        if reading is not None:
            count += 1
            yield reading.script.conversation(lines.path.stem, NAME, lines.path)
    if not count:
        raise nothing(lines)


def _kept(store: Store, lines: jsonl.Lines, id: str, newer: bool) -> Conversation | None:
    session = msgspec.convert(store.session(id, newer=newer), _Session, strict=False)
    reading = _Reading(session, lines)
    for number, (type, key, raw) in enumerate(store.messages(id, newer=newer), 1):
        data = []
        for piece in raw:
            with lines.at(number, database.plain(piece)):
                data.append(jsonl.decode(piece, jsonl.OBJECT))
        if not data:
            continue
        try:
            whole = told(type, key, data)
        except KeyError:
            lines.pass_over(f"record {type!r}", data)
            continue
        with lines.at(number, data):
            if whole is not None:
                reading.take(*whole)
    if reading.inherits:
        forked = session.fork if isinstance(session.fork, str) else ""
        reading.script.parent = forked or store.origin(reading.first, session.created)
    reading.finish()
    if reading.script.last is None:
        return None
    return reading.script.conversation(f"{lines.path.stem}/{id}", NAME, lines.path)


def _exported(value: Record, lines: jsonl.Lines) -> Iterator[Told]:
    for each in msgspec.convert(value["messages"], list[Record]):
        lines.pass_over_fields(each, {"info", "parts"}, "a message")
        info, pieces = each.get("info"), each.get("parts")
        yield msgspec.convert(info, Record), msgspec.convert(pieces, list[Record])


def _stored(path: Path, session: str) -> Iterator[Told]:
    """Read the messages of a session from folders around its file: `session/PROJECT/ID.json`."""
    root = path.absolute().parent.parent.parent
    _check(session)
    older: dict[str, list[Record]] = {}  # parts outside of a message's folder
    for piece in _objects(root / "part"):
        older.setdefault(str(piece.get("messageID")), []).append(piece)
    found: list[tuple[float, str, Record]] = []
    for message in _objects(root / "message" / session):
        found.append(
            (_number(dict_of(message.get("time")).get("created")), str(message.get("id")), message)
        )
    for _, id, message in sorted(found, key=lambda each: each[:2]):
        _check(id)
        yield message, list(_objects(root / "part" / id)) or older.get(id, [])


def _objects(folder: Path) -> Iterator[Record]:
    # A link could lead out of the named folder.
    for file in sorted(each for each in folder.glob("*.json") if not each.is_symlink()):
        value = jsonl.load(file)
        if not isinstance(value, dict):
            raise InputError("this is no JSON object", str(file))
        yield value


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _check(id: str) -> None:
    if not _SAFE.fullmatch(id) or id.startswith("."):
        raise InputError(f"{id!r} is not an id of OpenCode's storage")


class _Reading:
    def __init__(self, session: _Session, lines: jsonl.Lines) -> None:
        self.script = Script()
        self.script.locate(session.directory)
        self.script.subagent = bool(session.parent)
        self.first = 0.0  # time of the first message, in milliseconds
        self._session, self._lines = session, lines
        self._asked: _Piece | None = None  # the compaction whose summary comes next
        self._drafts: dict[str, Draft] = {}
        self._billed, self._model = Usage(), ""
        self.inherits = False  # whether it begins with copies of another session's messages

    def take(self, value: Record, parts: list[Record]) -> None:
        message = msgspec.convert(value, _Message)
        if message.role not in ("user", "assistant"):
            raise InputError(f"{message.role!r} is not a role of a message")
        self._lines.pass_over_fields(value, _INFO, f"a message of role {message.role!r}")
        self.first = self.first or message.time.created
        pieces = []
        for part in parts:
            with self._lines.at(0, part):
                pieces.append(_piece(part, self._lines))
        if message.role == "user":
            self._user(message, pieces)
        else:
            self._assistant(message, pieces)

    def finish(self) -> None:
        total, session = self._session.total, self._session
        rest = less(total, self._billed)
        # If the calls add up to more than the total, the remainder is unknown.
        if session.newer and rest != Usage() and rest + self._billed == total:
            call = Call(str(session.model or self._model), rest, id=f"{session.id}/rest")
            self.script.bill("session", call, self.script.last.time if self.script.last else 0.0)

    def _call(self, message: _Message, counts: Iterable[_Counts], step: int) -> Call:
        """Make a call; copies in forks have its times and counts, but other ids."""
        apart, time = self._session.apart, message.time
        usage = sum((each.usage(apart=apart) for each in counts), Usage())
        model = _model(message)
        self._billed, self._model = self._billed + usage, model or self._model
        named = f"{time.created:.0f}-{time.completed or 0:.0f}/{step}/{usage.prompt}/{usage.output}"
        id = f"{model}/{named}" if time.created else ""
        inherited = 0 < time.created < self._session.created
        self.inherits |= inherited
        return Call(model, usage if usage != Usage() else None, id=id, inherited=inherited)

    def _user(self, message: _Message, pieces: list[_Piece]) -> None:
        compaction = next((piece for piece in pieces if piece.type == "compaction"), None)
        if compaction is not None:
            self._asked = compaction
        named = message.system if isinstance(message.system, str) else ""
        if named and named not in [part.text for part in self.script.system]:
            self.script.system.append(verbatim(SYSTEM, "text", named))
        draft = self.script.draft("user", message.id, message.time.created / 1000)
        for piece in pieces:
            if piece.type == "tool":
                whole = msgspec.to_builtins(piece)
                self._lines.pass_over("call of a tool in a message of the user", whole)
        sent = [piece for piece in pieces if not piece.ignored and piece.type != "tool"]
        draft.meta = all(piece.synthetic for piece in sent)
        draft.parts = [part for piece in sent if (part := _said(piece, draft.id))]
        if draft.parts:
            self._drafts[message.id] = self.script.add(draft)

    def _assistant(self, message: _Message, pieces: list[_Piece]) -> None:
        if message.summary is True:
            self._summary(message, pieces)
            return
        steps = _steps(pieces)
        for number, step in enumerate(steps):
            self._step(message, step, number, alone=len(steps) == 1)

    def _step(self, message: _Message, step: list[_Piece], number: int, *, alone: bool) -> None:
        draft = self.script.draft("assistant", message.id, message.time.created / 1000)
        draft.parts = [part for piece in step if (part := _said(piece, draft.id))]
        counts = next((p.tokens for p in step if p.type == "step-finish" and p.tokens), None)
        counts = counts or (message.tokens if alone else None)
        call = self._call(message, [counts] if counts else [], number)
        if message.error is not None and call.usage is None:
            draft.origin = "aborted"
            if not draft.parts:
                return
        else:
            draft.call = call
        self._drafts.setdefault(message.id, self.script.add(draft))
        for piece in step:
            if piece.type == "tool" and (piece.state.output, piece.state.error) != (None, None):
                self.script.add(_result(self.script, piece, draft.time))

    def _summary(self, message: _Message, pieces: list[_Piece]) -> None:
        """Record a compaction: the summary replaces all messages before the tail that it names."""
        own = next((piece for piece in pieces if piece.type == "compaction"), None)
        asked, self._asked = own or self._asked or _Piece("compaction"), None
        time = message.time.created / 1000
        counts = [p.tokens for p in pieces if p.type == "step-finish" and p.tokens]
        call = self._call(message, counts or filter(None, [message.tokens]), 0)
        billed = call if call.usage else None
        texts = [piece.text for piece in pieces if piece.type == "text" and piece.text]
        if message.error is not None and not texts:
            if billed:  # it failed but was billed
                self.script.bill("compaction", billed, time)
            return
        kept = self._drafts.get(asked.tail_start_id or "")
        trigger = "auto" if asked.auto else "manual"
        boundary = self.script.compact(time, kept=kept, trigger=trigger)
        boundary.call = billed
        draft, covered = self.script.draft("user", message.id, time, True), boundary.covered
        boundary.insert(
            draft, [Part("text", each, "summary", covered) for each in texts if covered]
        )


def _piece(value: Record, lines: jsonl.Lines) -> _Piece:
    piece = msgspec.convert(value, _Piece)
    if piece.type in _LEFT_OUT:
        return piece
    whose = f"a part of type {piece.type!r}"
    if piece.type not in _READ:
        if characters_of(value):
            lines.pass_over(f"part of type {piece.type!r}", value)
        return piece
    lines.pass_over_fields(value, _KNOWN, whose)
    if piece.type in _SPOKEN and piece.text is None:
        raise InputError(f"{whose} has no text")
    if piece.type == "tool":
        if not piece.tool or "state" not in value:
            raise InputError(f"a call of a tool has no {'state' if piece.tool else 'name'}")
        lines.pass_over_fields(value["state"], _STATE, "the state of a tool")
        if piece.state.status in _ENDED and (piece.state.output, piece.state.error) == (None, None):
            raise InputError("a tool that has ended has neither output nor error")
    return piece


def _steps(pieces: list[_Piece]) -> list[list[_Piece]]:
    """Split the parts by request: a step ends with its counts."""
    steps: list[list[_Piece]] = [[]]
    for piece in pieces:
        steps[-1].append(piece)
        if piece.type == "step-finish":
            steps.append([])
    if len(steps) > 1 and not any(piece.type in _READ for piece in steps[-1]):
        rest = steps.pop()
        steps[-1] += rest
    return steps


def _said(piece: _Piece, id: str) -> Part | None:
    if piece.type in _SPOKEN:
        return verbatim(id, _SPOKEN[piece.type], piece.text) if piece.text else None
    if piece.type == "tool":
        return tool_call(id, piece.tool, piece.state.input, piece.call_id)
    if piece.type == "file":
        is_image = piece.mime.startswith("image/")
        label = piece.filename or "file"
        return image(id, piece.url.partition(",")[2]) if is_image else opaque(id, "text", label)
    if piece.type == "subtask" and piece.prompt:
        return verbatim(id, "text", piece.prompt)
    return None


def _result(script: Script, piece: _Piece, time: float) -> Draft:
    draft, state = script.draft("tool", "", time), piece.state
    text = (state.error if state.output is None else state.output) or ""
    about: Record = {"name": piece.tool, "call_id": piece.call_id}
    failed = state.status == "error"
    draft.parts = [verbatim(draft.id, "tool_result", text, is_error=failed, **about)]
    for file in state.attachments or []:
        url = file.get("url")
        if str(file.get("mime")).startswith("image/") and isinstance(url, str):
            draft.parts.append(image(draft.id, url.partition(",")[2]))
    return draft


def _model(message: _Message) -> str:
    named = dict_of(message.model).get("modelID")
    return message.model_id or (named if isinstance(named, str) else "")


# Homes: `Global.Path.data` is `opencode` below `XDG_DATA_HOME` on all platforms; a channel has a
# database of its own (its storage/db.ts, 2026-04). Kilo's command line is built on it.
FORMAT = Format(
    NAME,
    "sessions of OpenCode (database, storage of files, exports)",
    first_is(_is_own),
    read,
    homes=tuple(
        Home(
            name,
            (f"XDG_DATA_HOME/{name}",),
            (f"~/.local/share/{name}", f"{{data}}/{name}"),
            (f"{name}*.db", "storage/session"),
        )
        for name in ("opencode", "kilo")
    ),
)
