"""The preparation of pi's compaction: entries, cut point, and lists of files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from compactlab.sim.core.message import FRAME, Message, Part, Source, plain
from compactlab.strategies.mechanisms.estimate import estimate, estimate_context, role_of
from compactlab.strategies.mechanisms.text import arguments_of

# The tools whose calls pi evaluates (0.49.3 to 0.73.1).
_TOOLS = {"read": "read", "write": "written", "edit": "edited"}


@dataclass
class Files:
    """Paths by operation, each with the id of the first message that names it."""

    # read, written, edited: paths by operation
    read: dict[str, str] = field(default_factory=dict)
    written: dict[str, str] = field(default_factory=dict)
    edited: dict[str, str] = field(default_factory=dict)

    def note(self, messages: Iterable[Message]) -> None:
        """Add the files named in tool calls of messages."""
        for message in messages:
            if message.role != "assistant":
                continue
            for part in message.parts:
                kind = _TOOLS.get(part.name) if part.type == "tool_call" else None
                if kind and (path := _path(part)):
                    getattr(self, kind).setdefault(path, message.id)

    def carried(self) -> Files:
        """Return the files for the next compaction: those only read, and those changed."""
        return Files(read=self.only_read, edited=self.modified)

    @property
    def modified(self) -> dict[str, str]:
        """The changed files, sorted."""
        return _sorted(self.written | self.edited)

    @property
    def only_read(self) -> dict[str, str]:
        """The files that were read but not changed, sorted."""
        changed = self.written.keys() | self.edited.keys()
        return _sorted({path: id for path, id in self.read.items() if path not in changed})


def _path(part: Part) -> str:
    arguments = arguments_of(part)
    path = arguments.get("path") if isinstance(arguments, dict) else None
    return path if isinstance(path, str) else ""


def _sorted(paths: Mapping[str, str]) -> dict[str, str]:
    """Sort paths by UTF-16 code units, as JavaScript does."""
    return {path: paths[path] for path in sorted(paths, key=_units)}


def _units(path: str) -> bytes:
    return path.encode("utf-16-be", "surrogatepass")


def file_section(files: Files) -> list[Part]:
    """Format the lists for the end of a summary; [] if there are no files."""
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
        plain(f"\n\n<{tag}>\n"),
        Part("text", text, kind, sources),  # type: ignore[arg-type]
        plain(f"\n</{tag}>"),
    ]


# The entries of a session of pi; a compaction is an entry, too.


def unframed(message: Message) -> tuple[Part, ...]:
    """Return the parts of a message without its frame."""
    return tuple(p for p in message.parts if not (p.kind == "synthetic" and p.name == FRAME))


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry on the path from the session's start to its newest message."""

    id: str  # its id; "" if it has none
    # ``message``; ``custom_message`` and ``branch_summary``, which the model sees; ``compaction``;
    # other types are metadata.
    type: str = "message"
    message: Message | None = None  # its content for the model
    kept_from: str = ""  # of a compaction: id of the first kept entry
    # Of a compaction: its lists of files; None if an extension wrote its summary, as OpenClaw's
    # safeguard does, because pi does not reuse those lists.
    files: Files | None = None

    @property
    def summary(self) -> tuple[Part, ...]:
        """The parts of a compaction's summary."""
        return unframed(self.message) if self.message else ()


def last_compaction(entries: Sequence[Entry]) -> int:
    """Return the index of the last compaction; -1 if there is none."""
    for index in range(len(entries) - 1, -1, -1):
        if entries[index].type == "compaction":
            return index
    return -1


def messages_of(entries: Sequence[Entry]) -> list[Message]:
    """Return the messages of entries, without compactions."""
    return [e.message for e in entries if e.message is not None and e.type != "compaction"]


# Cut points in a session's history.

# Roles of messages before which a cut is allowed: not tool results, which follow their call.
_CUTS = {"user", "assistant", "bashExecution", "custom", "branchSummary", "compactionSummary"}
# Entries with the user role for the model that are not messages for pi.
_ADDED = {"custom_message", "branch_summary"}


class CutPoint(NamedTuple):
    """Index of the first entry to keep; start of a split turn, or -1; whether one is split."""

    first_kept: int
    turn_start: int = -1
    split: bool = False


def find_cut_point(
    entries: Sequence[Entry], start: int, end: int, keep_recent_tokens: float
) -> CutPoint:
    """Cut so that about this many tokens are kept: pi's ``findCutPoint`` (0.49.3 to 0.73.1).

    Estimates are added from the end until they reach the budget. The cut is at the first allowed
    entry from there on. If there is none, because the budget is reached within the last tool
    results, or if everything fits, the cut is before the first allowed entry: nothing is removed.
    Entries that are not messages count 0.
    """
    cuts = [index for index in range(start, end) if _may_cut(entries[index])]
    if not cuts:
        return CutPoint(start)
    crossing = _crossing(entries, start, end, keep_recent_tokens)
    cut = next((index for index in cuts if index >= crossing), cuts[0])
    while cut > start and entries[cut - 1].type not in ("message", "compaction"):
        cut -= 1
    if entries[cut].type == "message" and _role(entries[cut]) == "user":
        return CutPoint(cut)
    turn = _turn_start(entries, cut, start)
    return CutPoint(cut, turn, turn != -1)


def _crossing(entries: Sequence[Entry], start: int, end: int, budget: float) -> int:
    """Return the index at which the tail reaches its budget; the end, if it does not."""
    tokens = 0
    for index in range(end - 1, start - 1, -1):
        entry = entries[index]
        if entry.type == "message" and entry.message is not None:
            tokens += estimate(entry.message)
            if tokens >= budget:
                return index
    return end


def _may_cut(entry: Entry) -> bool:
    return entry.type in _ADDED or (entry.type == "message" and _role(entry) in _CUTS)


def _role(entry: Entry) -> str:
    return role_of(entry.message) if entry.message is not None else ""


def _turn_start(entries: Sequence[Entry], index: int, start: int) -> int:
    """Return the index of the entry that starts an entry's turn; -1 if there is none."""
    for at in range(index, start - 1, -1):
        entry = entries[at]
        if entry.type in _ADDED:
            return at
        if entry.type == "message" and _role(entry) in ("user", "bashExecution"):
            return at
    return -1


# From this version on, a compaction includes the messages that the previous one kept.
KEPT_ARE_SEEN = "0.63.1"


def is_at_least(version: str, other: str) -> bool:
    """Whether a version is another one or a later one."""
    return _numbers(version) >= _numbers(other)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in version.split("."))


@dataclass(frozen=True, slots=True)
class Preparation:
    """The content of a compaction."""

    first_kept: int  # index of the first entry to keep
    history: tuple[Message, ...]  # the messages to summarise
    # The messages of the split turn before the cut; they are summarised separately.
    prefix: tuple[Message, ...]
    split: bool  # whether a turn is split
    tokens_before: float  # tokens in context
    previous: tuple[Part, ...]  # the previous summary; empty if there was none
    files: Files  # the files that were read and changed


def prepare(
    entries: Sequence[Entry],
    keep_recent_tokens: float,
    version: str,
    reported: Callable[[Message], float | None],
) -> Preparation | None:
    """Decide what to summarise and what to keep: pi's ``prepareCompaction``.

    Before 0.63.1, only entries after the last compaction are included: the messages that it kept
    are neither summarised nor kept, so they are lost. The result is None if the newest entry is a
    compaction, or if the first entry to keep has no id.
    """
    last = last_compaction(entries)
    if last >= 0 and last == len(entries) - 1:
        return None
    start = _start(entries, last, version)
    cut = find_cut_point(entries, start, len(entries), keep_recent_tokens)
    if cut.first_kept >= len(entries) or not entries[cut.first_kept].id:
        return None
    end = cut.turn_start if cut.split else cut.first_kept
    history = messages_of(entries[start:end])
    prefix = messages_of(entries[end : cut.first_kept]) if cut.split else []
    before = entries[last] if last >= 0 else None
    context = _context(entries, start, last)
    return Preparation(
        cut.first_kept,
        tuple(history),
        tuple(prefix),
        cut.split,
        estimate_context(context, reported).tokens,
        before.summary if before else (),
        _files(before, [*history, *prefix]),
    )


def _start(entries: Sequence[Entry], last: int, version: str) -> int:
    """Return the index of the first entry that is included."""
    if last < 0:
        return 0
    if is_at_least(version, KEPT_ARE_SEEN):
        for index, entry in enumerate(entries):
            if entry.id and entry.id == entries[last].kept_from:
                return index
    return last + 1


def _context(entries: Sequence[Entry], start: int, last: int) -> list[Message]:
    """Return the context as this version sees it: the summary, and the messages after it."""
    if last < 0:
        return messages_of(entries)
    summary = entries[last].message
    return [*([summary] if summary else []), *messages_of(entries[start:])]


def _files(before: Entry | None, messages: Sequence[Message]) -> Files:
    files = Files()
    if before is not None and before.files is not None:
        files = Files(dict(before.files.read), edited=dict(before.files.edited))
    files.note(messages)
    return files
