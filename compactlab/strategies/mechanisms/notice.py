"""Notices that replace messages: files and commands, by rule, without a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

import msgspec

from compactlab.sim.core.message import Message, Part
from compactlab.sim.core.view import Messages
from compactlab.strategies.mechanisms.cut import exchanges
from compactlab.strategies.mechanisms.stub import sources_of
from compactlab.strategies.mechanisms.text import arguments_of

# Descriptions of gaps in a history by rule: files read and changed, commands run.

# Maximum names in each list of a notice, and maximum length of a command.
LISTED, COMMAND = 20, 80
NOTICE = "notice"

_PATHS = ("path", "file_path", "filename", "file", "notebook_path")
_COMMANDS = ("command", "cmd")
_CHANGES = ("write", "edit", "patch", "replace", "create", "insert")


def told_by_rule(messages: Messages, boundary: int, answers: int) -> Messages:
    """Replace the middle of a conversation by notices about the work done there.

    Typed messages, earlier notices and the texts of the newest answers are kept. A call with a
    result after the boundary is kept with all its results.
    """
    behind = {id(message) for message in messages[boundary:]}
    whole = {
        id(message)
        for exchange in exchanges(messages)
        if any(id(message) in behind for message in exchange)
        for message in exchange
    }
    speaking = [m for m in messages[:boundary] if m.role == "assistant" and _words(m)]
    words = {id(message) for message in speaking[-answers:]} if answers else set()

    def stays(message: Message) -> bool:
        return id(message) in whole or message.starts_turn or message.origin == NOTICE

    shorter: list[Message] = []
    gaps = groupby(messages[:boundary], lambda m: stays(m) or id(m) in words)
    for keeps, group in gaps:
        if keeps:
            shorter += (
                m if stays(m) else msgspec.structs.replace(m, parts=_words(m)) for m in group
            )
        else:
            shorter.append(notice(list(group)))
    return Messages([*shorter, *messages[boundary:]])


def _words(message: Message) -> tuple[Part, ...]:
    return tuple(part for part in message.parts if part.type == "text" and part.text)


def notice(gap: list[Message]) -> Message:
    """Make a notice that replaces messages: their number, files and commands."""
    lines = [f"[{len(gap)} messages left out]", *told_files(gap)]
    parts = [part for message in gap for part in message.parts]
    kind = "summary" if sources_of(parts) else "synthetic"
    part = Part("text", "\n".join(lines), kind, sources_of(parts))  # type: ignore[arg-type]
    first = gap[0]
    return Message(f"{NOTICE}-{first.id}", "user", (part,), first.time, meta=True, origin=NOTICE)


def told_files(messages: Iterable[Message]) -> list[str]:
    """Describe the effects of calls in messages: files read and changed, commands run."""
    return list(_lists(p for m in messages for p in m.parts if p.type == "tool_call"))


def path_of(call: Part) -> str:
    """Return the file that a call is about; "" for none."""
    return _argument(call, _PATHS)


def _lists(calls: Iterable[Part]) -> Iterator[str]:
    read: dict[str, None] = {}
    changed: dict[str, None] = {}
    run: dict[str, None] = {}
    for call in calls:
        path, command = path_of(call), _argument(call, _COMMANDS)
        if path:
            changes = any(word in call.name.lower() for word in _CHANGES)
            (changed if changes else read)[path] = None
        elif command:
            run[" ".join(command.split())[:COMMAND]] = None
    named = {"read": read.keys() - changed.keys(), "changed": changed.keys(), "run": run.keys()}
    for title, names in named.items():
        listed = [name for name in (read | changed | run) if name in names]
        if listed:
            more = f" and {len(listed) - LISTED} more" if len(listed) > LISTED else ""
            yield f"{title}: {', '.join(listed[:LISTED])}{more}"


def _argument(call: Part, names: Iterable[str]) -> str:
    arguments = arguments_of(call)
    if not isinstance(arguments, dict):
        return ""
    return next((a for name in names if isinstance(a := arguments.get(name), str)), "")
