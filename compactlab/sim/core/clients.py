"""What clients write into messages: instruction files, and the files that tool calls read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from compactlab.sim.core.message import Message, Part

# Codex: "# AGENTS.md instructions for <folder>" (codex-rs 0100b10); Claude Code: "Contents of
# <folder>/CLAUDE.md", after a few introductory sentences. A command that only mentions such a file
# is none.
_NAMES = re.compile(
    r"^(?:#+ |Contents of )(?:\S*/)?(?:CLAUDE|AGENTS|GEMINI)(?:\.local|\.override)?\.md\b",
    re.MULTILINE,
)
_OPENING = 1_000  # characters that contain the name of the file


def instruction_files(messages: Iterable[Message]) -> list[Message]:
    r"""Return the messages with instruction files that a client sent before any user message.

    Examples
    --------
    >>> from compactlab.sim.core.message import verbatim
    >>> file = Message("i", "user", (verbatim("i", "text", "# AGENTS.md\nUse tabs."),), meta=True)
    >>> asks = Message("u", "user", (verbatim("u", "text", "What does CLAUDE.md say?"),))
    >>> [message.id for message in instruction_files([file, asks])]
    ['i']
    """
    files = []
    for message in messages:
        if not message.meta:
            break
        if _NAMES.search(message.text[:_OPENING]):
            files.append(message)
    return files


_PATHS = ("file_path", "path", "filePath", "absolute_path", "filename", "file")
_COMMANDS = ("cmd", "command")
# Shell programs that agents use to read files.
_LOOKING = ("cat", "sed", "head", "tail", "nl", "less", "bat", "type", "Get-Content")
_SEGMENT = re.compile(r"&&|\|\||[;|\n]")
_SCRIPT = re.compile(r"[\d,$]+p?")  # line ranges of sed
_ARGUMENTS = msgspec.json.Decoder(dict[str, Any])


def looked_at(part: Part) -> str:
    """Return the file that a tool call reads; "" if there is none.

    Examples
    --------
    >>> from compactlab.sim.core.message import verbatim
    >>> looked_at(verbatim("a", "tool_call", '{"file_path":"a.py","limit":9}', name="Read"))
    'a.py'
    >>> looked_at(verbatim("a", "tool_call", '{"cmd":"cd x && sed -n 1,9p a.py"}', name="shell"))
    'a.py'
    >>> looked_at(verbatim("a", "tool_call", '{"file_path":"a.py"}', name="Write"))
    ''
    """
    try:
        given = _ARGUMENTS.decode(part.text)
    except (msgspec.DecodeError, ValueError):
        return ""
    command = next((given[key] for key in _COMMANDS if isinstance(given.get(key), str)), "")
    if command:
        return _shown(command)
    name = part.name.lower()
    if "read" not in name and name not in ("view", "open", "cat"):
        return ""
    return str(next((given[key] for key in _PATHS if isinstance(given.get(key), str)), ""))


def _shown(command: str) -> str:
    """Return the file that a shell command shows, judged by its text; "" if there is none."""
    for segment in _SEGMENT.split(command):
        program, *words = segment.split() or [""]
        if program in _LOOKING:
            named = [word.strip("'\"") for word in words if not word.startswith(("-", ">", "<"))]
            files = [w for w in named if ("." in w or "/" in w) and not _SCRIPT.fullmatch(w)]
            return files[-1] if files else ""
    return ""
