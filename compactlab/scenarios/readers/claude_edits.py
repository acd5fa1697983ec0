"""Edits of Claude Code's context that do not summarise all of it, such as cleared results.

They are recorded as compactions: changed messages are inserted first, and the rest is kept.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from compactlab.scenarios.readers.script import Boundary, Draft, Script
from compactlab.sim.core.conversation import EDIT
from compactlab.sim.core.message import Part, Source

STUB = "[Old tool result content cleared]"  # Claude Code's replacement of a cleared result


@dataclass
class _Left:
    """The context after a compaction: the inserted messages, and the first message kept."""

    last: Draft | None  # length of the branch at that time
    front: list[Draft]
    start: int


class Context:
    """The part of a script that the model still sees."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._left: list[_Left] = []
        self._changed: dict[Draft, Draft] = {}  # replacements of messages of the script

    def compact(self, time: float, *, kept: Draft | None = None, **about: Any) -> Boundary:
        boundary = self._script.compact(time, kept=kept, **about)
        if kept:
            boundary.kept_from = self._changed.get(kept, kept).id
        start = kept.depth if kept else len(self._script.path)
        self._left.append(_Left(self._script.last, boundary.inserted, start))
        return boundary

    def keep(self, boundary: Boundary, drafts: Collection[Draft]) -> None:
        """Keep messages that are not the whole end of the branch; they are inserted first."""
        ids = {draft.id for draft in drafts}
        boundary.covered = tuple(source for source in boundary.covered if source.id not in ids)
        for draft in sorted(drafts, key=lambda each: each.depth):
            now = self._changed.get(draft, draft)
            named = [
                msgspec.structs.replace(part, sources=(Source(draft.id, at),))
                if part.kind == "verbatim"
                else part
                for at, part in enumerate(now.parts)
            ]
            boundary.inserted.append(replace(now, parts=named))

    def edit(
        self,
        time: float,
        *,
        gone: Collection[Draft] = (),
        cleared: Collection[str] = (),
        stub: str = STUB,
        summary: str = "",
        **about: Any,
    ) -> None:
        """Record that messages are gone, perhaps for a summary, or that results are cleared.

        ``cleared`` are the ids of the results' calls; each result was replaced by ``stub``.
        """
        front, rest = self._view()
        view = [*front, *rest]
        touched = [
            index for index, draft in enumerate(view) if draft in gone or _has(draft, cleared)
        ]
        if not touched:
            return
        end = max(touched[-1] + 1, len(front))
        kept = view[end] if end < len(view) else None
        originals = {after: before for before, after in self._changed.items()}
        kept = originals.get(kept, kept) if kept else None
        if not summary:
            about["trigger"] = EDIT
        boundary = self.compact(time, kept=kept, restored="verbatim", **about)
        covered = tuple(Source(draft.id) for draft in view[:end] if draft in gone)
        for draft in view[:end]:
            if draft not in gone:
                again = self._cleared(draft, cleared, stub) if _has(draft, cleared) else draft
                boundary.inserted.append(again)
            elif summary:
                id = f"{draft.id}-collapsed"
                collapsed = self._script.draft("user", id, draft.time, meta=True)
                boundary.insert(collapsed, [Part("text", summary, "summary", covered)])
                summary = ""

    def _view(self) -> tuple[list[Draft], list[Draft]]:
        """Return the inserted messages, and the messages of the branch after them."""
        while self._left and not self._script.has(self._left[-1].last):
            self._left.pop()
        left = self._left[-1] if self._left else _Left(None, [], 0)
        branch = self._script.path[left.start :]
        return left.front, [self._changed.get(draft, draft) for draft in branch]

    def _cleared(self, draft: Draft, cleared: Collection[str], stub: str) -> Draft:
        copy = self._script.draft(draft.role, f"{draft.id}-cleared", draft.time, meta=True)
        copy.depth = draft.depth
        copy.parts = [
            msgspec.structs.replace(part, text=stub, kind="stub", sources=(Source(draft.id, at),))
            if part.type == "tool_result" and part.call_id in cleared
            else part
            for at, part in enumerate(draft.parts)
            if part.type != "image"
        ]
        self._changed[draft] = copy
        return copy


def _has(draft: Draft, cleared: Collection[str]) -> bool:
    """Whether a message contains a result that is newly cleared."""
    return any(
        part.type == "tool_result" and part.call_id in cleared and part.kind != "stub"
        for part in draft.parts
    )
