"""The preparation of pi's compaction: entries, cut point, and lists of files."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import ClassVar, NamedTuple

import msgspec

from compactlab.sim.core.message import FRAME, Message, Part, Source, plain
from compactlab.sim.core.tokens import utf16_length
from compactlab.strategies.mechanisms.estimate import (
    Context,
    estimate,
    estimate_context,
    estimate_pictured,
    role_of,
)
from compactlab.strategies.mechanisms.text import arguments_of

# pi's changes by their first version: from its CHANGELOG of 1.6.0 (2026-11-20), otherwise from the
# packages 0.79.0 to 1.4.0.
SINCE = {
    "results are cut": "0.56.3",
    "stale usage is ignored": "0.56.3",
    "what was kept is seen": "0.63.1",
    "nothing is refused": "0.79.8",
    "all roles count": "0.80.4",  # in the tail, and as the beginning of a turn
    "summaries are unmarked": "0.82.0",  # for the cache
    "cut summaries are refused": "0.84.3",
    "it looks within turns": "0.84.4",
    "calls stay with large results": "0.86.0",
    "edits": "0.87.0",  # edits of the context, which remove a refused request
    "previous summaries stay": "0.87.0",
    "a split turn has headings": "0.87.1",
    "thinking is left out": "1.2.0",
    "summaries are not capped": "1.4.0",
    "a split turn has a focus": "1.4.0",  # the user's instructions for the summary
    "characters stay whole": "1.5.1",
}


def follows(version: str, rule: str) -> bool:
    """Whether a version has a rule of :data:`SINCE`."""
    return is_at_least(version, SINCE[rule])


def is_at_least(version: str, other: str) -> bool:
    """Whether a version is another one or a later one."""
    return _numbers(version) >= _numbers(other)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in version.split("."))


# The tools whose calls pi evaluates (0.49.3 to 1.6.0).
_TOOLS = {"read": "read", "write": "written", "edit": "edited"}


@dataclass
class Files:
    """Paths by operation, each with the id of the first message that names it."""

    arguments: ClassVar[Sequence[str]] = ("path",)  # of calls; the first that is a text counts

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
                kind = _TOOLS.get(self.tool_of(part)) if part.type == "tool_call" else None
                if kind and (path := _path(part, self.arguments)):
                    getattr(self, kind).setdefault(path, message.id)

    @staticmethod
    def tool_of(part: Part) -> str:
        """Return the name by which a call's tool is known."""
        return part.name

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


def _path(part: Part, names: Sequence[str]) -> str:
    found = arguments_of(part)
    values = [found.get(name) for name in names] if isinstance(found, dict) else []
    return next((value for value in values if isinstance(value, str)), "")


def _sorted(paths: Mapping[str, str]) -> dict[str, str]:
    """Sort paths by UTF-16 code units, as JavaScript does."""
    return {path: paths[path] for path in sorted(paths, key=_units)}


def _units(path: str) -> bytes:
    return path.encode("utf-16-be", "surrogatepass")


def file_section(files: Files, most: float = math.inf) -> list[Part]:
    """Format the lists for the end of a summary, each of limited length; [] if there are none."""
    return [
        *_list("read-files", files.only_read, most),
        *_list("modified-files", files.modified, most),
    ]


def _list(tag: str, paths: Mapping[str, str], most: float) -> list[Part]:
    room = most - len(f"<{tag}>\n\n</{tag}>")
    shown, rest = list[str](), len(paths)
    for path in paths:
        more = f"...and {rest - 1} more\n" if rest > 1 else ""
        if utf16_length(path) + 1 + len(more) > room:
            break
        shown.append(path)
        room, rest = room - utf16_length(path) - 1, rest - 1
    left = f"...and {rest} more"
    left = left if rest and len(left) < room else ""
    if not (shown or left):
        return []
    sources = tuple(Source(id) for id in dict.fromkeys(map(paths.get, shown)) if id)
    text, kind = "\n".join(shown), "summary" if sources else "synthetic"
    return [
        plain(f"\n\n<{tag}>\n"),
        *([Part("text", text, kind, sources)] if shown else []),  # type: ignore[arg-type]
        *([plain(f"\n{left}" if shown else left)] if left else []),
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
    # ``context_edit``; other types are metadata.
    type: str = "message"
    message: Message | None = None  # its content for the model
    kept_from: str = ""  # a compaction's id of the first kept entry
    # A compaction's lists of files; None if an extension wrote its summary, as OpenClaw's safeguard
    # does, because pi does not reuse those lists.
    files: Files | None = None
    target: str = ""  # an edit's id of the edited entry
    # An edit's replacement for the entry's parts; None removes its message.
    parts: tuple[Part, ...] | None = None
    omitted: str = ""  # role of the message that an edit removed

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


def projected(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries in context, each as last edited: pi's ``buildSessionProjection``."""
    last, chosen = last_compaction(entries), list(entries)
    if last >= 0:
        kept = entries[last].kept_from
        first = next((i for i, e in enumerate(entries[:last]) if kept and e.id == kept), last)
        older = (e if e.type != "compaction" else replace(e, message=None) for e in entries[:last])
        chosen = [entries[last], *islice(older, first, None), *entries[last + 1 :]]
    edits = {entry.target: entry for entry in chosen if entry.type == "context_edit"}
    return [_edited(entry, edits.get(entry.id)) for entry in chosen] if edits else chosen


def _edited(entry: Entry, edit: Entry | None) -> Entry:
    message = entry.message
    if edit is None or message is None:
        return entry
    if edit.parts is None:
        return replace(entry, message=None, omitted=role_of(message))
    if role_of(message) not in _EDITABLE:
        return entry
    return replace(entry, message=msgspec.structs.replace(message, parts=edit.parts))


_EDITABLE = {"user", "assistant", "toolResult", "custom"}


def projected_tokens(
    entries: Sequence[Entry], reported: Callable[[Message], float | None]
) -> Context:
    """Return the tokens in context: pi's ``estimateProjectedContextTokens`` (1.6.0).

    A usage of zero, or from before the last compaction or edit, is ignored.
    """
    changes = [n for n, e in enumerate(entries) if e.type in ("compaction", "context_edit")]
    valid = {id(entry.message) for entry in entries[max(changes, default=-1) + 1 :]}

    def believed(message: Message) -> float | None:
        tokens = reported(message) if id(message) in valid else None
        return tokens if tokens is not None and tokens > 0 else None

    shown = [entry.message for entry in projected(entries) if entry.message is not None]
    return estimate_context(shown, believed, estimate_pictured)


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
    entries: Sequence[Entry],
    start: int,
    end: int,
    keep_recent_tokens: float,
    version: str,
    *,
    front: int = 0,
) -> CutPoint:
    """Cut so that about this many tokens are kept: ``findCutPoint`` (0.49.3 to 0.73.1).

    Since 0.87.0 the entries are projected (``findProjectedCutPoint``). Estimates are added from the
    end until they reach the budget. The cut is at the first allowed entry from there on. If
    everything fits, or the budget is reached within the last tool results, it is at the first
    allowed entry, so nothing is removed. Since 0.86.0 it is at the call of such results.
    """
    cuts = [index for index in range(start, end) if _may_cut(entries[index])]
    if not cuts:
        return CutPoint(start)
    crossing = _crossing(entries, start, end, keep_recent_tokens, version)
    exceeded = crossing < end
    other = cuts[-1] if exceeded and follows(version, "calls stay with large results") else cuts[0]
    cut = next((index for index in cuts if index >= crossing), other)
    if _is_recovery(entries[cut + 1 : end]):
        # The system prompt is the first entry of the session, with its estimated tokens.
        sizes = (estimate_pictured(entry.message) for entry in entries if entry.message)
        cut += exceeded or (front > 0 and front + sum(sizes) >= keep_recent_tokens)
    wide = follows(version, "all roles count")
    while cut > start and _is_bare(entries[cut - 1], wide):
        cut -= 1
    first = entries[cut]
    if _starts_turn(first, wide) if wide else (first.type, _role(first)) == ("message", "user"):
        return CutPoint(cut)
    turns = (index for index in range(cut, start - 1, -1) if _starts_turn(entries[index], wide))
    turn = next(turns, -1)
    return CutPoint(cut, turn, turn != -1)


def _crossing(entries: Sequence[Entry], start: int, end: int, budget: float, version: str) -> int:
    """Return the index at which the tail reaches its budget; the end, if it does not."""
    tokens, wide = 0, follows(version, "all roles count")
    weigh = estimate_pictured if wide else estimate
    for index in range(end - 1, start - 1, -1):
        entry = entries[index]
        if entry.message is None or not (wide or entry.type == "message"):
            continue
        size = weigh(entry.message)
        tokens += size
        if tokens >= budget and (size or not wide):
            return index
    return end


def _may_cut(entry: Entry) -> bool:
    return entry.type != "compaction" and _role(entry) in _CUTS


def _is_bare(entry: Entry, wide: bool) -> bool:
    """Whether an entry belongs to the next one: metadata, in earlier versions all but messages."""
    return entry.type != "compaction" and (
        entry.message is None if wide else entry.type != "message"
    )


def _role(entry: Entry) -> str:
    return role_of(entry.message) if entry.message is not None else ""


def _starts_turn(entry: Entry, wide: bool) -> bool:
    if wide:
        return entry.type != "compaction" and _role(entry) in _CUTS - {"assistant"}
    return entry.type in _ADDED or (
        entry.type == "message" and _role(entry) in ("user", "bashExecution")
    )


def _is_recovery(suffix: Sequence[Entry]) -> bool:
    """Whether only a removed answer follows, as after a refused request.

    Then the messages that it should have answered may be summarised, too. Other edits forbid that.
    """
    gone = {entry.id for entry in suffix if entry.omitted}
    return (
        any(entry.type == "message" and entry.omitted == "assistant" for entry in suffix)
        and all(entry.message is None and entry.type != "compaction" for entry in suffix)
        and all(entry.parts is None or entry.target in gone for entry in suffix)
    )


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
    front: int = 0,
) -> Preparation | None:
    """Decide what to summarise and what to keep: pi's ``prepareCompaction``.

    Before 0.63.1, only entries after the last compaction are included: the messages that it kept
    are neither summarised nor kept, so they are lost. The result is None if the newest entry is a
    compaction, if the first entry to keep has no id, or (since 0.79.8) if there is nothing to
    summarise.
    """
    last = last_compaction(entries)
    if last >= 0 and last == len(entries) - 1:
        return None
    edited, before = follows(version, "edits"), entries[last] if last >= 0 else None
    shown = projected(entries) if edited else entries
    start = int(before is not None) if edited else _start(entries, last, version)
    front = 0 if before else front  # a compaction's entry holds the system prompt, too
    cut = find_cut_point(shown, start, len(shown), keep_recent_tokens, version, front=front)
    if cut.first_kept >= len(shown) or not shown[cut.first_kept].id:
        return None
    end = cut.turn_start if cut.split else cut.first_kept
    history = messages_of(shown[start:end])
    prefix = messages_of(shown[end : cut.first_kept]) if cut.split else []
    if not history and not prefix and follows(version, "nothing is refused"):
        return None
    if not edited:
        first = cut.first_kept
        context = estimate_context(_context(entries, start, last), reported)
    else:
        first = next(n for n, entry in enumerate(entries) if entry.id == shown[cut.first_kept].id)
        context = projected_tokens(entries, reported)
    return Preparation(
        first,
        tuple(history),
        tuple(prefix),
        cut.split,
        context.tokens,
        before.summary if before else (),
        _files(before, [*history, *prefix]),
    )


def _start(entries: Sequence[Entry], last: int, version: str) -> int:
    """Return the index of the first entry that is included."""
    if last < 0:
        return 0
    if follows(version, "what was kept is seen"):
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
