"""Conversations reconstructed from requests, each with its whole prompt."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

from compactlab.scenarios.readers.blocks import as_summary, opaque, owned
from compactlab.scenarios.readers.script import Draft, Script, numbered
from compactlab.sim.core.conversation import Conversation, SideRequest
from compactlab.sim.core.message import Call, Part, Role

SYSTEM_ROLES = ("system", "developer")


@dataclass(frozen=True, eq=False)
class Said:
    """A message, or one of its results; equal messages are the same object.

    Its parts have the empty id as their source, until it is added to a script.
    """

    role: Role
    parts: tuple[Part, ...]
    origin: str = ""  # the role, if it is a system role


@dataclass
class Request:
    """A call of a model, with its prompt and its answer."""

    start: float
    end: float
    conversation: str
    call: Call | None  # None if the answer costs nothing
    asked: list[Said]
    answered: list[Said]
    system: list[Part] = field(default_factory=list)
    compacted: bool = False  # whether the client compacted the context before it
    tokens_before: int = 0  # of the context before the compaction


class Known:
    """All distinct messages."""

    def __init__(self) -> None:
        self._said: dict[str, Said] = {}

    def said(self, role: Role, parts: Iterable[Part], origin: str = "") -> Said:
        """Return the object of a message; reasoning is ignored, because it is not sent again."""
        made = tuple(owned(part, "") for part in parts)
        heard = [(p.type, p.text, p.name, p.size) for p in made if p.type != "thinking"]
        key = json.dumps([origin or role, heard])
        return self._said.setdefault(key, Said(role, made, origin))

    def of(self, drafts: Iterable[Draft]) -> list[Said]:
        return [self.said(d.role, d.parts, d.origin) for d in drafts]


@dataclass
class _Thread:
    """A conversation being reconstructed: its script, and the messages of its branch."""

    script: Script = field(default_factory=Script)
    said: list[tuple[Said | None, Draft]] = field(default_factory=list)
    inserted: int = 0  # first messages, inserted by a compaction; not in the script

    def common(self, asked: list[Said]) -> int:
        """Count the common messages at the start of the thread and a prompt."""
        pairs = zip(self.said, asked, strict=False)
        same = (
            mine is its or (mine is None and its.role == "assistant") for (mine, _), its in pairs
        )
        return next(
            (at for at, each in enumerate(same) if not each), min(len(self.said), len(asked))
        )


def conversations(
    format: str,
    path: Path,
    requests: Iterable[Request],
    *,
    id: str = "",
    beside: Iterable[SideRequest] = (),
    project: str = "",
) -> Iterator[Conversation]:
    """Yield the conversations of requests, ordered by their starts.

    Requests of one conversation without common messages, such as those of subagents, become
    separate conversations. The side requests belong to the first.
    """
    groups: dict[str, list[Request]] = {}
    for request in sorted(requests, key=lambda each: each.start):
        groups.setdefault(request.conversation, []).append(request)
    stem = id or path.stem
    for number, group in enumerate(groups.values(), 1):
        named = numbered(stem, number)
        for at, thread in enumerate(_threads(group), 1):
            thread.script.locate(project)
            thread.script.side_requests += beside
            beside = ()
            own = named if at == 1 else f"{named}#{at}"
            yield thread.script.conversation(own, format, path, counted=True)


def _threads(requests: list[Request]) -> list[_Thread]:
    """Group requests: each continues the thread with the longest common start."""
    threads: list[_Thread] = []
    for request in requests:
        leading = list(takewhile(lambda said: bool(said.origin), request.asked))
        asked = request.asked[len(leading) :]
        thread = max(threads, key=lambda each: each.common(asked), default=None)
        common = thread.common(asked) if thread else 0
        strange = bool(asked and thread and thread.said and not common)
        if thread is None or (strange and not request.compacted) or common < thread.inserted:
            thread = _Thread()
            threads.append(thread)
        if not thread.script.system:
            led = (owned(part, "system") for said in leading for part in said.parts)
            thread.script.system += [*request.system, *led]
        _continue(thread, request, asked)
    return threads


def _continue(thread: _Thread, request: Request, asked: list[Said]) -> None:
    common, script = thread.common(asked), thread.script
    if request.compacted and common < len(thread.said):
        common = _compact(thread, request, asked)
    elif asked and common < len(thread.said):
        script.rewind(thread.said[common - 1][1] if common else None)
        del thread.said[common:]
    for said in asked[common:]:
        thread.said.append((said, script.add(_draft(script, said, request.start))))
    usage = request.call.usage if request.call else None
    if usage is None and not request.answered:
        return  # a failed request
    unlogged: list[Said | None] = [None]
    for at, answered in enumerate(request.answered or unlogged):
        draft = _draft(script, answered, request.end) if answered else None
        draft = draft or script.draft("assistant", None, request.end)
        if at == 0:
            draft.role, draft.call = "assistant", request.call
            size = usage.output if usage else 0
            draft.parts = draft.parts or [opaque(draft.id, "text", "not logged", size)]
        thread.said.append((answered, script.add(draft)))


def _compact(thread: _Thread, request: Request, asked: list[Said]) -> int:
    """Record a compaction; return the number of the prompt's messages in the context after it.

    Messages of the prompt that repeat the end of the previous context were kept; the messages
    before them were inserted.
    """
    script = thread.script
    first = next((at for at in range(len(asked)) if _repeats(thread, asked[at:])), len(asked))
    count = _repeats(thread, asked[first:])
    kept = thread.said[len(thread.said) - count :] if count else []
    boundary = script.compact(
        request.start,
        kept=kept[0][1] if kept else None,
        trigger="auto",
        tokens_before=request.tokens_before,
    )
    before = {id(said) for said, _ in thread.said}
    front: list[tuple[Said | None, Draft]] = []
    # Without a kept message, those up to the first new one were inserted.
    end = next((at + 1 for at, said in enumerate(asked) if id(said) not in before), len(asked))
    for said in asked[: first if kept else end]:
        draft = _draft(script, said, request.start)
        if id(said) not in before:
            draft.parts = [as_summary(part, boundary.covered) for part in draft.parts]
        boundary.inserted.append(draft)
        front.append((said, draft))
    thread.said, thread.inserted = [*front, *kept], len(front)
    return len(thread.said)


def _repeats(thread: _Thread, tail: list[Said]) -> int:
    """Count the first messages of a prompt's tail that are the last ones of a thread."""
    if not tail:
        return 0
    at = next((i for i, (said, _) in enumerate(thread.said) if said is tail[0]), None)
    if at is None or not at:  # a message at the very start was repeated, not kept
        return 0
    rest = thread.said[at:]
    same = len(rest) <= len(tail) and all(
        mine is its for (mine, _), its in zip(rest, tail, strict=False)
    )
    return len(rest) if same else 0


def _draft(script: Script, said: Said, time: float) -> Draft:
    draft = script.draft(said.role, None, time, bool(said.origin), origin=said.origin)
    draft.parts = [owned(part, draft.id) for part in said.parts]
    return draft
