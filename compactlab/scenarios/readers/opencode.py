"""Sessions of OpenCode: its storage, a tree of small files, and what `opencode export` writes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from compactlab.scenarios.readers import jsonl
from compactlab.scenarios.readers.blocks import Tokens, compact, image_tokens, opaque
from compactlab.scenarios.readers.script import Boundary, Draft, Format, Script
from compactlab.scenarios.readers.unread import refuse_unread
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Call, Part, PartType, Usage, verbatim

NAME = "opencode"


class _Cache(msgspec.Struct, frozen=True):
    read: Tokens = 0
    write: Tokens = 0


class _Counts(msgspec.Struct):
    """What a step used; what was read from the cache is no part of the input."""

    input: Tokens = 0
    output: Tokens = 0
    reasoning: Tokens = 0
    cache: _Cache = _Cache()

    @property
    def usage(self) -> Usage:
        """By billing class.

        Reasoning is a part of the output, as the client gets both from its library; where it is the
        larger one, it cannot be.
        """
        apart = self.reasoning if self.reasoning > self.output else 0
        return Usage(self.input, self.cache.read, self.cache.write, 0, self.output + apart)


class _Time(msgspec.Struct, frozen=True):
    created: float = 0.0
    start: float = 0.0
    end: float | None = None


class _Session(msgspec.Struct, rename={"parent": "parentID"}):
    id: str
    directory: Any = None
    parent: Any = None


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
    attachments: list[dict[str, Any]] | None = None


class _Piece(msgspec.Struct, rename={"call_id": "callID"}):
    """A part of a message."""

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


Told = tuple[dict[str, Any], list[dict[str, Any]]]
"""A message, and its parts."""

# Of the client and its user interface; the model is not sent them.
_LEFT_OUT = {"step-start", "snapshot", "patch", "retry", "agent"}
_READ = {"text", "reasoning", "tool", "file", "subtask", "compaction", "step-finish"}
_KNOWN = {*_Piece.__struct_fields__, "callID", "metadata", "source", "description", "command"}
_STATE = {*_State.__struct_fields__, "metadata", "title", "raw", "time"}
_ENDED = ("completed", "error")
_SPOKEN: dict[str, PartType] = {"text": "text", "reasoning": "thinking"}
_SAFE = re.compile(r"[\w.-]+")


def sniff(first: list[Any]) -> bool:
    """Say whether the first values of a file look like a session of this format."""
    value = first[0]
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        value = value.get("info")
    return is_session(value)


def is_session(value: Any) -> bool:
    """Whether a value is what OpenCode says of a session."""
    if not isinstance(value, dict):
        return False
    texts = all(isinstance(value.get(key), str) for key in ("id", "directory", "projectID"))
    return texts and isinstance(value.get("time"), dict)


def is_piece(value: Any) -> bool:
    """Whether a value is a message or a part of OpenCode's storage, which its session leads to."""
    if not isinstance(value, dict):
        return False
    message = isinstance(value.get("sessionID"), str) and value.get("role") in ("user", "assistant")
    return message or (
        isinstance(value.get("messageID"), str) and isinstance(value.get("type"), str)
    )


def read(lines: jsonl.Lines) -> Iterator[Conversation]:
    """Yield the conversation of a session: of an export, or of the tree that its file stands in."""
    for number, value in jsonl.values(lines):
        reading = None
        with lines.at(number):
            document = msgspec.convert(value, dict[str, Any])
            exported = "messages" in document
            session = msgspec.convert(document.get("info") if exported else document, _Session)
            reading = _Reading(session)
            for message, pieces in (
                _exported(document) if exported else _stored(lines.path, session.id)
            ):
                reading.take(message, pieces)
        if reading is not None:
            yield reading.script.conversation(lines.path.stem, NAME, lines.path)


def _exported(value: dict[str, Any]) -> Iterator[Told]:
    for each in msgspec.convert(value["messages"], list[dict[str, Any]]):
        refuse_unread(each, {"info", "parts"}, "a message")
        info, pieces = each.get("info"), each.get("parts")
        yield msgspec.convert(info, dict[str, Any]), msgspec.convert(pieces, list[dict[str, Any]])


def _stored(path: Path, session: str) -> Iterator[Told]:
    """The messages of a session, from the folders around its file: `session/PROJECT/ID.json`."""
    root = path.absolute().parent.parent.parent
    _check(session)
    older = _loose(root / "part")
    messages = [_object(file) for file in _files(root / "message" / session)]
    for message in sorted(messages, key=_created):
        id = str(message.get("id"))
        _check(id)
        pieces = [_object(file) for file in _files(root / "part" / id)]
        yield message, pieces or older.get(id, [])


def _loose(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Parts that stand in no folder of their message, by its id."""
    pieces: dict[str, list[dict[str, Any]]] = {}
    for file in _files(folder):
        piece = _object(file)
        pieces.setdefault(str(piece.get("messageID")), []).append(piece)
    return pieces


def _files(folder: Path) -> list[Path]:
    # A link would lead out of what was named.
    return sorted(each for each in folder.glob("*.json") if not each.is_symlink())


def _object(file: Path) -> dict[str, Any]:
    value = jsonl.load(file)
    if not isinstance(value, dict):
        raise InputError("this is no JSON object", str(file))
    return value


def _created(message: dict[str, Any]) -> tuple[float, str]:
    time = message.get("time")
    created = time.get("created") if isinstance(time, dict) else None
    return float(created) if isinstance(created, int | float) else 0.0, str(message.get("id"))


def _check(id: str) -> None:
    if not _SAFE.fullmatch(id) or id.startswith("."):
        raise InputError(f"{id!r} is no id of OpenCode's storage")


class _Reading:
    """A session that is being read."""

    def __init__(self, session: _Session) -> None:
        self.script = Script()
        self.script.locate(session.directory)
        self.script.subagent = bool(session.parent)
        self._asked: _Piece | None = None  # the compaction of which the summary is awaited
        self._drafts: dict[str, Draft] = {}

    def take(self, value: dict[str, Any], parts: list[dict[str, Any]]) -> None:
        """Take the next message with its parts."""
        message = msgspec.convert(value, _Message)
        pieces = [_piece(part) for part in parts]
        if message.role == "user":
            self._user(message, pieces)
        elif message.role == "assistant":
            self._assistant(message, pieces)
        else:
            raise InputError(f"{message.role!r} is no role of a message")

    def _user(self, message: _Message, pieces: list[_Piece]) -> None:
        compaction = next((piece for piece in pieces if piece.type == "compaction"), None)
        if compaction is not None:
            self._asked = compaction
        draft = self.script.draft("user", message.id, message.time.created / 1000)
        if any(piece.type == "tool" for piece in pieces):
            raise InputError("a message of the user has a call of a tool")
        sent = [piece for piece in pieces if not piece.ignored]
        draft.meta = all(piece.synthetic for piece in sent)
        draft.parts = [part for piece in sent if (part := _said(piece, draft.id))]
        if draft.parts:
            self._drafts[message.id] = self.script.add(draft)

    def _assistant(self, message: _Message, pieces: list[_Piece]) -> None:
        if message.summary is True:
            self._summary(message, pieces)
            return
        steps = _steps(pieces)
        for step in steps:
            self._step(message, step, alone=len(steps) == 1)

    def _step(self, message: _Message, step: list[_Piece], *, alone: bool) -> None:
        """One answer of the model, and what its tools gave back."""
        draft = self.script.draft("assistant", message.id, message.time.created / 1000)
        draft.parts = [part for piece in step if (part := _said(piece, draft.id))]
        counts = next((p.tokens for p in step if p.type == "step-finish" and p.tokens), None)
        counts = counts or (message.tokens if alone else None)
        usage = counts.usage if counts and counts.usage != Usage() else None
        if message.error is not None and usage is None:
            draft.origin = "aborted"
            if not draft.parts:
                return
        else:
            draft.call = Call(_model(message), usage)
        self._drafts.setdefault(message.id, self.script.add(draft))
        for piece in step:
            if piece.type == "tool" and (piece.state.output, piece.state.error) != (None, None):
                self.script.add(_result(self.script, piece, draft.time))

    def _summary(self, message: _Message, pieces: list[_Piece]) -> None:
        """A summary stands for all that came before it, but for the tail that is named."""
        asked, self._asked = self._asked or _Piece("compaction"), None
        kept = self._drafts.get(asked.tail_start_id or "")
        time = message.time.created / 1000
        trigger = "auto" if asked.auto else "manual"
        boundary: Boundary = self.script.compact(time, kept=kept, trigger=trigger)
        draft = self.script.draft("user", message.id, time, True)
        draft.parts = [
            Part("text", piece.text, "summary", boundary.covered)
            for piece in pieces
            if piece.type == "text" and piece.text and boundary.covered
        ]
        if draft.parts:
            boundary.inserted.append(draft)


def _piece(value: dict[str, Any]) -> _Piece:
    piece = msgspec.convert(value, _Piece)
    if piece.type in _LEFT_OUT:
        return piece
    if piece.type not in _READ:
        refuse_unread(value, (), f"a part of type {piece.type!r}")
        return piece
    refuse_unread(value, _KNOWN, f"a part of type {piece.type!r}")
    if piece.type in _SPOKEN and piece.text is None:
        raise InputError(f"a part of type {piece.type!r} has no text")
    if piece.type == "tool":
        if not piece.tool or "state" not in value:
            raise InputError(f"a call of a tool has no {'state' if piece.tool else 'name'}")
        refuse_unread(value["state"], _STATE, "the state of a tool")
        if piece.state.status in _ENDED and (piece.state.output, piece.state.error) == (None, None):
            raise InputError("a tool that has ended has neither output nor error")
    return piece


def _steps(pieces: list[_Piece]) -> list[list[_Piece]]:
    """The parts of each request: a step ends where it is counted."""
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
        arguments = compact(piece.state.input)
        return verbatim(id, "tool_call", arguments, name=piece.tool, call_id=piece.call_id)
    if piece.type == "file" and piece.mime.startswith("image/"):
        return verbatim(id, "image", "", size=image_tokens(piece.url.partition(",")[2]))
    if piece.type == "file":
        return opaque(id, "text", piece.filename or "file")
    if piece.type == "subtask" and piece.prompt:
        return verbatim(id, "text", piece.prompt)
    return None


def _result(script: Script, piece: _Piece, time: float) -> Draft:
    draft = script.draft("tool", "", time)
    state = piece.state
    text = (state.error if state.output is None else state.output) or ""
    failed = state.status == "error"
    draft.parts = [
        verbatim(draft.id, "tool_result", text, name=piece.tool, call_id=piece.call_id,
                 is_error=failed)
    ]  # fmt: skip
    for file in state.attachments or []:
        url = file.get("url")
        if str(file.get("mime")).startswith("image/") and isinstance(url, str):
            size = image_tokens(url.partition(",")[2])
            draft.parts.append(verbatim(draft.id, "image", "", size=size))
    return draft


def _model(message: _Message) -> str:
    if message.model_id:
        return message.model_id
    model = message.model if isinstance(message.model, dict) else {}
    named = model.get("modelID")
    return named if isinstance(named, str) else ""


FORMAT = Format(NAME, "sessions of OpenCode (its storage of files, and exports)", sniff, read)
