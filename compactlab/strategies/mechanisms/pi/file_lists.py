"""Which files were read and which were changed: the lists under a summary of pi's."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from compactlab.sim.message import Message, Part, Source

# The tools whose calls pi looks into (0.49.3 to 0.73.1).
_TOOLS = {"read": "read", "write": "written", "edit": "edited"}


@dataclass
class Files:
    """Paths, in the order in which they were named, each with the id of the message that names it.

    Parameters
    ----------
    read, written, edited
        By what was done with them.
    """

    read: dict[str, str] = field(default_factory=dict)
    written: dict[str, str] = field(default_factory=dict)
    edited: dict[str, str] = field(default_factory=dict)

    def note(self, messages: Iterable[Message]) -> None:
        """Take up what the calls in messages name."""
        for message in messages:
            if message.role != "assistant":
                continue
            for part in message.parts:
                kind = _TOOLS.get(part.name) if part.type == "tool_call" else None
                if kind and (path := _path(part)):
                    getattr(self, kind).setdefault(path, message.id)

    def carried(self) -> Files:
        """What the next compaction starts from: what was only read, and what was changed."""
        return Files(read=self.only_read, edited=self.modified)

    @property
    def modified(self) -> dict[str, str]:
        """Those that were changed, sorted."""
        return _sorted(self.written | self.edited)

    @property
    def only_read(self) -> dict[str, str]:
        """Those that were read and not changed, sorted."""
        changed = self.written.keys() | self.edited.keys()
        return _sorted({path: id for path, id in self.read.items() if path not in changed})


def _path(part: Part) -> str:
    try:
        arguments = json.loads(part.text)
    except (ValueError, RecursionError):
        return ""
    path = arguments.get("path") if isinstance(arguments, dict) else None
    return path if isinstance(path, str) else ""


def _sorted(paths: Mapping[str, str]) -> dict[str, str]:
    """In the order of their UTF-16 code units, as JavaScript sorts."""
    return {path: paths[path] for path in sorted(paths, key=_units)}


def _units(path: str) -> bytes:
    return path.encode("utf-16-be", "surrogatepass")


def file_section(files: Files) -> list[Part]:
    """The lists as they stand under a summary; nothing if there are no files.

    As pi's ``computeFileLists`` and ``formatFileOperations`` (0.49.3 to 0.73.1).
    """
    return [
        *_list("read-files", files.only_read),
        *_list("modified-files", files.modified),
    ]


def _list(tag: str, paths: Mapping[str, str]) -> list[Part]:
    if not paths:
        return []
    sources = tuple(Source(id) for id in dict.fromkeys(paths.values()) if id)
    text, kind = "\n".join(paths), "summary" if sources else "synthetic"
    return [
        Part("text", f"\n\n<{tag}>\n", "synthetic", ()),
        Part("text", text, kind, sources),  # type: ignore[arg-type]
        Part("text", f"\n</{tag}>", "synthetic", ()),
    ]
