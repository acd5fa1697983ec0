"""The tree of a session of pi or OpenClaw, and the context of the model at a node.

Both clients append entries that form a tree, and build each request from the path to the newest
entry. The last compaction (or reset) hides the entries before it, and edits omit or replace
messages. The rules are those of pi 1.6.0 and OpenClaw 2026.9.6; the outputs of pi's own function
are among this project's tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec

from compactlab.scenarios.readers.script import Draft
from compactlab.sim.core.message import Part, Source

Kind = Literal["message", "system", "compaction", "reset", "edit"]
_HIDES = ("compaction", "reset")


@dataclass(eq=False)
class Node:
    """An entry that changes the context of the model.

    ``draft`` is its content: a message, the summary of a compaction, or the replacement of an
    edit's ``target``, which is None if the target is omitted.
    """

    parent: Node | None
    kind: Kind
    draft: Draft | None = None
    system: Draft | None = None  # of a compaction: the changes of the system prompt so far
    target: Node | None = None
    kept: Kept | None = None
    time: float = 0.0


@dataclass(frozen=True)
class Kept:
    """The first node that a compaction keeps, or the one before (``after``); None is the root."""

    node: Node | None
    after: bool


def told(leaf: Node | None) -> list[Draft]:
    """Return the messages that the model sees at a node, in the client's order."""
    way: list[Node] = []
    while leaf:
        way.append(leaf)
        leaf = leaf.parent
    way.reverse()
    newest = max((n for n, node in enumerate(way) if node.kind in _HIDES), default=-1)
    shown = way[newest + 1 :]
    if newest >= 0:
        shown = [way[newest], *_kept(way[:newest], way[newest]), *shown]
    edits = {id(node.target): node for node in shown if node.kind == "edit"}
    messages = []
    for node in shown:
        if node.kind == "edit" or (node.kind in _HIDES and node is not way[newest]):
            continue
        edit = edits.get(id(node))
        says = (edit.draft,) if edit else (node.system, node.draft)
        messages += [draft for draft in says if draft]
    return messages


def hangs_by_edits(node: Node | None, other: Node | None) -> bool:
    """Whether there are only edits between an entry and one of its ancestors."""
    while node is not other and node and node.kind == "edit":
        node = node.parent
    return node is other


def _kept(before: list[Node], boundary: Node) -> list[Node]:
    """Return what a compaction or a reset keeps; a reset drops results without their call."""
    first = boundary.kept
    if first is None:
        return []
    start = 0
    if first.node is not None:
        places = [n for n, node in enumerate(before) if node is first.node]
        if not places:
            return []
        start = places[0] + first.after
    kept = [node for node in before[start:] if node.kind != "system"]
    if boundary.kind == "compaction":
        return kept
    parts = (part for node in kept if node.draft for part in node.draft.parts)
    asked = {part.call_id for part in parts if part.type == "tool_call"}
    return [node for node in kept if node.kind in ("edit", *_HIDES) or _survives(node, asked)]


def _survives(node: Node, asked: set[str]) -> bool:
    """Whether a message survives a reset: those of users, models, and tools that were called."""
    draft = node.draft
    if draft is None or draft.origin:
        return False
    return draft.role != "tool" or any(part.call_id in asked for part in draft.parts)


def edited(draft: Draft, parts: list[Part], original: Draft) -> Draft:
    """Return the replacement of a message; unchanged parts are reused."""
    draft.origin, draft.role, draft.meta = original.origin, original.role, original.meta
    draft.parts = [_copied(part, original) for part in parts]
    return draft


def _copied(part: Part, original: Draft) -> Part:
    alike = [there for there in original.parts if there.type == part.type]
    same = ((p.text, p.call_id, p.size) for p in alike)
    if (part.text, part.call_id, part.size) in same:
        return msgspec.structs.replace(part, sources=(Source(original.id),))
    shortened = any(_piece(part.text, there.text) for there in alike)
    kind: Literal["truncated", "stub"] = "truncated" if shortened else "stub"
    return msgspec.structs.replace(part, kind=kind, sources=(Source(original.id),))


def _piece(text: str, whole: str) -> bool:
    """Whether a text is an excerpt of another, perhaps with a note at its end."""
    half = text[: (len(text) + 1) // 2]
    return bool(text) and (text in whole or whole.startswith(half))
