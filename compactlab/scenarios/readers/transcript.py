"""Reading a conversation, or a compacted context, from any transcript; the format is detected."""

from __future__ import annotations

import os
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from compactlab.scenarios.readers import (
    aider,
    amp,
    atif,
    chat,
    claude_code,
    claude_stream,
    cline,
    codex,
    codex_exec,
    copilot,
    database,
    gemini,
    hermes,
    inspect_log,
    jsonl,
    kimi,
    langfuse,
    langsmith,
    locomo,
    mini_swe_agent,
    native,
    openclaw,
    opencode,
    openhands,
    otlp,
    pi,
    qwen,
    swe_agent,
    tau_bench,
)
from compactlab.scenarios.readers.folders import files_below
from compactlab.scenarios.readers.refused import CHAT, refusal
from compactlab.scenarios.readers.script import Format, enumerated
from compactlab.sim.core.conversation import Conversation, PassedOver
from compactlab.sim.core.errors import InputError, NoCallsError, RefusedError, UsageError
from compactlab.sim.core.isolation import isolated
from compactlab.sim.core.json import LARGEST
from compactlab.sim.core.message import Message, verbatim
from compactlab.sim.core.registry import Registry

# No two take the same file. docs/formats.md and the folders of clients have this order.
FORMATS: tuple[Format, ...] = (
    native.FORMAT,
    claude_code.FORMAT,
    claude_stream.FORMAT,
    codex.FORMAT,
    codex_exec.FORMAT,
    pi.FORMAT,
    kimi.FORMAT,
    hermes.FORMAT,
    opencode.FORMAT,
    openclaw.FORMAT,
    gemini.FORMAT,
    copilot.FORMAT,
    qwen.FORMAT,
    cline.FORMAT,
    cline.SESSIONS,
    amp.FORMAT,
    aider.FORMAT,
    openhands.FORMAT,
    mini_swe_agent.FORMAT,
    swe_agent.FORMAT,
    atif.FORMAT,
    inspect_log.FORMAT,
    langfuse.FORMAT,
    langsmith.FORMAT,
    otlp.FORMAT,
    locomo.FORMAT,
    tau_bench.FORMAT,
    chat.ANTHROPIC,
    chat.OPENAI,
)
_SHOWN = 8  # number of keys listed in an error
TEXT = "text"  # the format of plain text, and the id of its one message
_JSON = re.compile(rb'\s*(?:\{\s*["}]|\[\s*[\[{"\]])')


@cache
def formats() -> dict[str, Format]:
    """Return all formats by name: built-in ones, then those of installed packages.

    A built-in format takes precedence by name, and detects files first. A plugin that fails to load
    only causes a warning.
    """
    return READERS.usable(lambda error: warnings.warn(f"reader {error}", stacklevel=4))


def _checked(name: str, found: object, point: EntryPoint) -> Format:
    if not isinstance(found, Format):
        raise UsageError(f"{name} is not a reader: it must be a Format of compactlab")
    return replace(found, name=name, package=_package(point))


def _package(point: EntryPoint) -> str:
    module = point.value.partition(":")[0]
    return f"{point.dist.name} {point.dist.version}, {module}" if point.dist else module


READERS = Registry("readers", "reader", {each.name: each for each in FORMATS}, _checked)


def format_of(path: str | Path) -> Format | None:
    """Detect the format of a file; None if it is unknown."""
    return _reader(_first(named(path)[0]))


def read(path: str | Path, *, strict: bool = False) -> Iterator[Conversation]:
    """Yield the conversations of a file, or one of a database (``PATH#SESSION``).

    Unknown content is counted in :attr:`Conversation.passed_over`; if ``strict``, it is an error.
    """
    path, session = named(path)
    known = ", ".join(formats())
    try:
        first = _first(path)
        reader = _reader(first)
        if reader is None and isinstance(first[0], str):
            jsonl.load(path)  # raises an error that says why it is not JSON
    except InputError as error:
        if error.line != 1:
            raise
        # The first line is not JSON; perhaps the whole file is not.
        text = f"{error.message}; transcripts are of one of these formats: {known}"
        raise InputError(text, error.path, error.line) from None
    if reader is None:
        raise InputError(f"{_unknown(first)}; known formats are {known}", str(path))
    return _counted(reader, jsonl.Lines(path, strict, session))


def _counted(reader: Format, lines: jsonl.Lines) -> Iterator[Conversation]:
    """Yield the conversations of a file, each with the counts of skipped content."""
    last: Conversation | None = None
    try:
        for conversation in _conversations(reader, lines):
            if last is not None:
                yield last
            last = _with(conversation, lines.taken())
    except RefusedError:
        raise
    except InputError as error:
        # If nothing is left, the first skipped error is the reason.
        fault = error if last else lines.fault or error
        if last is not None:
            yield _with(last, lines.taken())
        raise fault from None
    except (MemoryError, OSError):
        raise
    except Exception as error:
        # Last resort for all commands: a bug in a reader only fails this file.
        text = f"the reader {reader.name} failed ({type(error).__name__}: {error})"
        raise InputError(f"{text}: please report it", str(lines.path), lines.number) from error
    if last is not None:
        yield _with(last, lines.taken())


def _conversations(reader: Format, lines: jsonl.Lines) -> Iterable[Conversation]:
    """Run a reader; that of an installed package runs in its own process."""
    if not reader.package:
        return reader.read(lines)
    outcome = isolated(lambda: ([*reader.read(lines)], lines.taken()))
    if outcome.value is None:
        text = outcome.fault if outcome.refused else f"its reader failed: {outcome.fault}"
        raise InputError(f"{text} ({reader.name}, {reader.package})", str(lines.path))
    conversations, passed = outcome.value
    return [*(_with(each, passed) for each in conversations[:1]), *conversations[1:]]


def _with(conversation: Conversation, passed: tuple[PassedOver, ...]) -> Conversation:
    whole = (*conversation.passed_over, *passed)
    return replace(conversation, passed_over=whole) if passed else conversation


def named(path: str | Path) -> tuple[Path, str]:
    """Split a path into the file and the session: ``opencode.db#ses_1``; "" for all sessions.

    A ``#`` in the name of an existing file is part of the name.
    """
    path = Path(path)
    file, mark, session = str(path).rpartition("#")
    if mark and file and session and not _exists(path) and database.is_database(Path(file)):
        return Path(file), session
    return path, ""


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # too long, or not a valid path
        return False


def read_as(path: Path, name: str, *, strict: bool = False) -> Iterator[Conversation]:
    """Read a file for replay: at least one of its conversations must have a call."""
    uncalled: list[Conversation] = []
    called = False
    try:
        for each in read(path, strict=strict):
            called = called or bool(each.calls)
            if called:
                yield from (*uncalled, each)
                uncalled = []
            else:
                uncalled.append(each)
    except InputError as error:
        where = name if error.path in (str(path), str(named(path)[0])) else error.path
        raise type(error)(error.message, where, error.line) from None
    if uncalled:
        roles = Counter(message.role for each in uncalled for message in each.messages)
        raise NoCallsError(f"there is no call in it, only messages: {enumerated(roles)}", name)


def find(paths: Iterable[str | Path]) -> tuple[list[Path], int]:
    """List the transcripts among files and below directories."""
    transcripts: dict[Path, Path] = {}
    skipped = pieces = 0
    for path in map(Path, paths):
        if not _is_folder(path):
            read(path)
            transcripts.setdefault(path.resolve(), path)
            continue
        for file in files_below(path):
            # A link to itself has no target; here it is not an error.
            inside = file.is_symlink() and Path(os.path.realpath(file)).is_relative_to(
                path.resolve()
            )
            if inside and file.exists():
                continue  # the target of the link is read
            if database.is_companion(file):
                continue  # it is read with its database
            if not _is_transcript(file):
                pieces += _is_piece(file)
                skipped += 1
            elif file.is_symlink():
                text = f"a link to a transcript outside of {path}; name the transcript itself"
                raise InputError(text, str(file))
            else:
                transcripts.setdefault(file.resolve(), file)
    # Files that are read with their session are not unread.
    return list(transcripts.values()), skipped - pieces if transcripts else skipped


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except PermissionError as error:
        raise InputError(error.strerror or str(error), str(path)) from None
    except (OSError, ValueError) as error:  # too long, or not a valid path
        raise InputError(f"this is not a path: {error}") from None


def _first(path: Path) -> list[Any]:
    if not _is_folder(path) and path.exists() and not path.is_file():
        raise InputError("this is not a regular file", str(path))
    return jsonl.peek(path)


def _reader(first: list[Any]) -> Format | None:
    return next((each for each in formats().values() if _sniffs(each, first)), None)


def _sniffs(reader: Format, first: list[Any]) -> bool:
    if not reader.package:
        return reader.sniff(first)
    # Detection by a foreign format may fail.
    return bool(isolated(lambda: bool(reader.sniff(first))).value)


def _unknown(first: list[Any]) -> str:
    """Describe a file of unknown format: the client it is from, or its contents."""
    if opencode.is_piece(first[0] if first else None):
        return "this is a piece of a session of OpenCode: name the session's file, or its folder"
    refused = refusal(first)
    if refused:
        named = f"this looks like a transcript of {refused.client}, which is not read"
        return f"{named}: {refused.instead}"
    value = first[0] if first else None
    keys = list(value) if isinstance(value, dict) else []
    if keys == ["sqlite"] and isinstance(value, dict):
        held = ", ".join([*value["sqlite"]][:_SHOWN]) or "nothing"
        return f"this is a database of no known client: it holds {held}"
    seen = f": it begins with {', '.join(keys[:_SHOWN])}" if keys else ""
    return f"this is not a transcript of a known format{seen}; {CHAT}"


def _is_transcript(file: Path) -> bool:
    try:
        return not _whole(file) and _reader(_first(file)) is not None
    except InputError:
        # An unreadable file may be a transcript; reading it will raise the error.
        return file.exists() and not os.access(file, os.R_OK)


def _is_piece(file: Path) -> bool:
    """Whether a file is read together with another one, its session."""
    with suppress(InputError):
        return _whole(file) or opencode.is_piece(_first(file)[0])
    return False


def _whole(file: Path) -> bool:
    """Whether the file that another belongs to exists, judged by names."""
    return any(each.part_of(file) for each in FORMATS)


def strangers(paths: Iterable[str | Path]) -> dict[str, str]:
    """The known clients whose files are present but cannot be read, and what to do instead."""
    clients: dict[str, str] = {}
    for path in map(Path, paths):
        for file in files_below(path) if _is_folder(path) else [path]:
            with suppress(InputError):
                if refused := refusal(_first(file)):
                    clients[refused.client] = refused.instead
    return clients


def read_compacted(path: str | Path) -> list[Conversation]:
    """Read the contexts of a file."""
    path = Path(path)
    try:
        return list(read(path))
    except InputError:
        text = _plain(path)
        if text is None:
            raise
    message = Message(TEXT, "user", (verbatim(TEXT, "text", text),), meta=True)
    return [Conversation(path.stem, TEXT, (message,), source=str(path))]


def _plain(path: Path) -> str | None:
    try:
        if not path.is_file() or path.stat().st_size > LARGEST:
            return None
        data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
        text = data.decode("utf-8")
    except (OSError, ValueError):
        return None
    return text if text.strip() and "\0" not in text and not _JSON.match(data) else None
