"""The interface of a reader, and the script that it builds from incomplete messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from compactlab.scenarios.readers import jsonl
from compactlab.scenarios.readers.blocks import as_summary, compact, opaque, owned
from compactlab.scenarios.readers.database import Database
from compactlab.sim.core.conversation import Compaction, Conversation, Event, Rewind, SideRequest
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Call, Kind, Message, Part, Role, Source, verbatim

T = TypeVar("T")


class Home(NamedTuple):
    """A place in which a client keeps its files, by default or by configuration.

    ``variables`` are environment variables, of which the first that is set is used. A ``/`` in one
    separates it from a subfolder. A value may list several folders, separated by commas, as Claude
    Code's does for ccusage. ``usual`` are the defaults; ``{config}`` and ``{data}`` in front stand
    for folders that differ by platform: settings, and data. ``inside`` are folders and files, or
    patterns of them.
    """

    client: str
    variables: tuple[str, ...]
    usual: tuple[str, ...]
    inside: tuple[str, ...] = ("",)


@dataclass(frozen=True)
class Format:
    """A format of transcripts that can be read.

    Parameters
    ----------
    name, description
        Its name, and a description.
    sniff
        Whether the first values of a file (at least one) have this format: JSON values,
        ``{"sqlite": {table: [columns]}}`` for a database, ``{"zip": [names]}`` for an archive, or
        the beginning of a plain text.
    read
        Yields the conversations of a file.
    package
        The package that provides it, with its version; "" for a built-in format.
    part_of
        Returns the file with which a file is read, by its path; None if it is read alone.
    homes
        Where its clients keep their files.
    """

    name: str
    description: str
    sniff: Callable[[list[Any]], bool]
    read: Callable[[jsonl.Lines], Iterator[Conversation]]
    package: str = ""
    part_of: Callable[[Path], Path | None] = lambda _: None
    homes: tuple[Home, ...] = ()


def conversations(
    lines: jsonl.Lines,
    make: Callable[[jsonl.Lines, Any, int], Conversation],
    split: Callable[[Any], Iterable[Any]] = lambda value: [value],
) -> Iterator[Conversation]:
    """Make a conversation of each item of a file, numbered from 1; there must be at least one."""
    count = 0
    for number, value in jsonl.values(lines):
        for item in split(value):
            conversation = None
            with lines.at(number, item):
                conversation = make(lines, item, count + 1)
            if conversation:
                count += 1
                yield conversation
    if not count:
        raise nothing(lines)


def nothing(lines: jsonl.Lines, why: str = "") -> InputError:
    """Return the error for a file without a conversation."""
    return InputError(f"there is no conversation in it{why}", str(lines.path))


def stored(
    lines: jsonl.Lines,
    database: Database,
    sessions: Iterable[tuple[str, T]],
    make: Callable[[str, T], Conversation | None],
) -> Iterator[Conversation]:
    """Make a conversation of each session of a database, or of one named session."""
    listed = list(sessions)
    if lines.session and lines.session not in dict(listed):
        raise InputError(f"there is no session {lines.session!r} in it", str(lines.path))
    count, lines.has_lines = 0, False
    for id, about in listed:
        conversation = None
        if lines.session in ("", id):
            with lines.at(0), database.snapshot():
                conversation = make(id, about)
        if conversation is not None:
            count += 1
            yield conversation
    if not count:
        raise nothing(lines)


def numbered(name: str, number: int) -> str:
    """Return the id of one of several conversations of a file, numbered from 1."""
    return name if number == 1 else f"{name}/{number}"


SYSTEM = "system"  # the source of the parts of the system prompt; no message has this id


def declared(tools: Any) -> list[Part]:
    """Return the definitions of tools as a part of the system prompt, if there are any."""
    return [verbatim(SYSTEM, "text", compact(tools), name="tools")] if tools else []


@dataclass(eq=False)
class Draft:
    """A message that may still grow."""

    id: str
    role: Role
    time: float = 0.0
    meta: bool = False
    origin: str = ""
    parts: list[Part] = field(default_factory=list)
    call: Call | None = None
    before: Draft | None = None
    depth: int = -1
    turn: int = -1
    reply: int = -1


@dataclass(eq=False)
class Boundary:
    """A compaction whose inserted messages are still being read.

    ``covered`` are the sources of the summary. ``restored`` is the kind of parts that repeat a
    message of the script verbatim.
    """

    covered: tuple[Source, ...]
    restored: Kind
    kept_from: str
    time: float
    trigger: str
    tokens_before: int
    inserted: list[Draft] = field(default_factory=list)
    call: Call | None = None  # the request that wrote the summary

    def insert(
        self, draft: Draft, parts: list[Part] | None = None, *, summary: bool = False
    ) -> None:
        """Insert a message, unless it is empty; its texts may summarise what is covered."""
        made = draft.parts if parts is None else parts
        draft.parts = [as_summary(part, self.covered) for part in made] if summary else made
        if draft.parts:
            self.inserted.append(draft)


class Script:
    """The events of a conversation that is being read, and the current branch."""

    def __init__(self) -> None:
        self.events: list[Draft | Boundary | Rewind] = []
        self.path: list[Draft] = []
        self.system: list[Part] = []
        self._taken = {SYSTEM: 1}
        self._drafts = 0
        self.asked: set[str] = set()  # ids of calls, where a reader checks them
        self.project = ""  # the working folder of the agent
        self.subagent = False
        self.parent = ""  # the session that it was forked from
        self.side_requests: list[SideRequest] = []

    def locate(self, folder: Any) -> None:
        """Set the working folder of the agent, if a log names it; only the first one is used."""
        if not self.project and isinstance(folder, str):
            self.project = folder

    @property
    def last(self) -> Draft | None:
        return self.path[-1] if self.path else None

    def draft(
        self,
        role: Role,
        id: str | None = "",
        time: float = 0.0,
        meta: bool = False,
        *,
        origin: str = "",
        call: Call | None = None,
    ) -> Draft:
        """Begin a message with a unique id."""
        self._drafts += 1
        id = self._unique(id or f"m{self._drafts}")
        return Draft(id, role, time, meta, origin, call=call)

    def add(self, draft: Draft, parts: list[Part] | None = None) -> Draft:
        """Append a message to the branch, perhaps with its parts."""
        if parts is not None:
            draft.parts = parts
        before = draft.before = self.last
        draft.depth = len(self.path)
        prompt = draft.role == "user" and not draft.meta
        draft.turn = draft.depth if prompt else before.turn if before else -1
        draft.reply = draft.depth if draft.call else before.reply if before else -1
        self.path.append(draft)
        self.events.append(draft)
        return draft

    def say(
        self, role: Role, text: str, id: str | None = "", time: float = 0.0, **about: Any
    ) -> Draft:
        """Append a message with a text."""
        draft = self.draft(role, id, time, **about)
        return self.add(draft, [verbatim(draft.id, "text", text)])

    def copy(self, draft: Draft) -> Draft:
        """Copy a message, for a compaction that inserts it."""
        copy = self.draft(draft.role, None, draft.time, meta=True)
        copy.parts = [owned(part, copy.id) for part in draft.parts]
        return copy

    def bill(self, purpose: str, call: Call, time: float = 0.0) -> None:
        """Record a request that belongs to no answer."""
        self.side_requests.append(SideRequest(purpose, call, time))

    def has(self, draft: Draft | None) -> bool:
        """Return whether a message is on the branch; the start always is."""
        if draft is None:
            return True
        return 0 <= draft.depth < len(self.path) and self.path[draft.depth] is draft

    def rewind(self, to: Draft | None) -> None:
        """Go back to a message, on this branch or another."""
        if self.has(to):
            del self.path[to.depth + 1 if to else 0 :]
        else:
            self.path = []
            while to:
                self.path.append(to)
                to = to.before
            self.path.reverse()
        self.events.append(Rewind(self.path[-1].id if self.path else ""))

    def compact(
        self,
        time: float,
        *,
        kept: Draft | None = None,
        restored: Kind = "recovered",
        trigger: str = "",
        tokens_before: int = 0,
    ) -> Boundary:
        """Record a compaction of the branch that keeps it from a message on."""
        gone = self.path[: kept.depth] if kept else self.path
        covered = tuple(Source(draft.id) for draft in gone)
        kept_from = kept.id if kept else ""
        boundary = Boundary(covered, restored, kept_from, time, trigger, tokens_before)
        self.events.append(boundary)
        return boundary

    def conversation(
        self, id: str, format: str, path: Path, *, inside: bool = False, counted: bool = False
    ) -> Conversation:
        """Build the conversation: order times, and link results to tools and copies to originals.

        ``counted``: calls with usage may lack text; they are read only for their cost.
        """
        drafts = [event for event in self.events if isinstance(event, Draft)]
        if not drafts:
            raise InputError("there are no messages in it", str(path))
        told = any(part.text or part.type == "image" for draft in drafts for part in draft.parts)
        if not told and not (counted and any(d.call and d.call.usage for d in drafts)):
            raise InputError(_wordless(drafts), str(path))
        about: dict[str, Any] = {
            "starts_inside": inside,
            "source": str(path),
            "project": self.project,
        }
        about |= {"subagent": self.subagent, "parent": self.parent}
        system, beside = tuple(self.system), tuple(self.side_requests)
        events = tuple(_finish(self.events))
        return Conversation(id, format, events, system=system, side_requests=beside, **about)

    def _unique(self, wanted: str) -> str:
        count = self._taken[wanted] = self._taken.get(wanted, 0) + 1
        return wanted if count == 1 else self._unique(f"{wanted}~{count}")


class Tree:
    """Parents by id; a line may come before its parent."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}  # an ancestor of each id, towards the root

    def hang(self, id: str, parent: str | None) -> None:
        """Set the parent of an id; the parent of a root is None."""
        if not parent or id in self._above:
            return
        top = self._top(parent)
        if top == id:
            raise InputError(f"{id!r} hangs from {parent!r}, and that from {id!r}: in a circle")
        self._above[id] = top

    def _top(self, id: str) -> str:
        passed = []
        while id in self._above:
            passed.append(id)
            id = self._above[id]
        self._above.update(dict.fromkeys(passed, id))
        return id


def _wordless(drafts: list[Draft]) -> str:
    """Describe the values of a file in which nothing can be read."""
    count = f"{len(drafts):,} message{'s' if len(drafts) > 1 else ''}"
    seen = Counter([part.name or part.type for draft in drafts for part in draft.parts])
    roles = enumerated(Counter(draft.role for draft in drafts))
    return f"{count} without any text: {roles}; in them {enumerated(seen) or 'nothing'}"


def enumerated(counts: Counter[Any]) -> str:
    """Write counts in words, largest first.

    Examples
    --------
    >>> enumerated(Counter(user=1, assistant=2))
    '2 assistant, 1 user'
    """
    return ", ".join(f"{count:,} {what}" for what, count in counts.most_common())


def _finish(events: Iterable[Draft | Boundary | Rewind]) -> Iterable[Event]:
    clock = 0.0
    tools: dict[str, str] = {}
    originals: dict[str, Source] = {}
    made: dict[Draft, Message] = {}
    for event in events:
        if isinstance(event, Rewind):
            yield event
            continue
        clock = max(clock, event.time)
        if isinstance(event, Boundary):
            yield _compaction(event, clock, originals, made)
            continue
        message = made[event] = _message(event, clock, tools)
        originals |= {p.text: Source(message.id, i) for i, p in enumerate(message.parts) if p.text}
        yield message


def _message(draft: Draft, time: float, tools: dict[str, str]) -> Message:
    parts = draft.parts or [opaque(draft.id, "text", "empty")]
    for index, part in enumerate(parts):
        if part.type == "tool_call":
            tools[part.call_id] = part.name
        elif part.type == "tool_result" and not part.name and part.call_id in tools:
            parts[index] = msgspec.structs.replace(part, name=tools[part.call_id])
    return Message(draft.id, draft.role, tuple(parts), time, draft.meta, draft.call, draft.origin)


def _compaction(
    boundary: Boundary, time: float, originals: dict[str, Source], made: dict[Draft, Message]
) -> Compaction:
    for draft in boundary.inserted:
        if draft not in made:  # otherwise it is an unchanged part from before the compaction
            parts = tuple(_grounded(part, draft.id, boundary, originals) for part in draft.parts)
            time = max(time, draft.time)
            made[draft] = Message(draft.id, draft.role, parts, time, True, origin=draft.origin)
    inserted = tuple(made[draft] for draft in boundary.inserted)
    first_kept, trigger, before = boundary.kept_from, boundary.trigger, boundary.tokens_before
    return Compaction(inserted, first_kept, time, trigger, before, boundary.call)


def _grounded(part: Part, id: str, boundary: Boundary, originals: dict[str, Source]) -> Part:
    if part.sources != (Source(id),) or part.kind == "opaque":
        return part
    original = originals.get(part.text)
    if original is None:
        return msgspec.structs.replace(part, kind="synthetic", sources=())
    return msgspec.structs.replace(part, kind=boundary.restored, sources=(original,))
