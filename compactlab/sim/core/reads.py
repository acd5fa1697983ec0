"""The files that an agent's tool calls read, as far as their text shows."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from compactlab.sim.core.message import Part

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
