"""The tree of a session of pi or OpenClaw, and what the model sees at a place in it.

Both clients append entries that hang from each other, and build each request anew from the way
that leads to the newest one: the last compaction (or reset) hides what came before it, and edits
omit or replace messages. The rules are those of pi 1.6.0 and OpenClaw 2026.9.6; the answers of
pi's own function are among this project's tests.
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
    """An entry that changes what the model sees.

    ``draft`` is what it tells the model: a message, the summary of a compaction, or what an edit
    puts in the place of its ``target``, None where that is omitted.
    """

    parent: Node | None
    kind: Kind
    draft: Draft | None = None
    system: Draft | None = None  # of a compaction: what has changed in the system prompt so far
    target: Node | None = None
    kept: Kept | None = None
    time: float = 0.0


@dataclass(frozen=True)
class Kept:
    """Where what a compaction keeps begins: at a node, or after it; None is the root."""

    node: Node | None
    after: bool


def told(leaf: Node | None) -> list[Draft]:
    """The messages that the model sees after an entry, as the client puts them together."""
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
    """Whether nothing but edits stands between an entry and one above it."""
    while node is not other and node and node.kind == "edit":
        node = node.parent
    return node is other


def _kept(before: list[Node], boundary: Node) -> list[Node]:
    """What a compaction keeps; of a reset, what was said without results that nobody asked for."""
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
    asked = {part.call_id for node in kept for part in _parts(node) if part.type == "tool_call"}
    return [node for node in kept if node.kind in ("edit", *_HIDES) or _survives(node, asked)]


def _survives(node: Node, asked: set[str]) -> bool:
    """Whether a reset keeps a message: what users, models and answered tools said."""
    draft = node.draft
    if draft is None or draft.origin:
        return False
    return draft.role != "tool" or any(part.call_id in asked for part in draft.parts)


def _parts(node: Node) -> list[Part]:
    return node.draft.parts if node.draft else []


def edited(draft: Draft, parts: list[Part], original: Draft) -> Draft:
    """What stands in the place of a message: parts that were there already are the same."""
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
    """Whether a text is a piece of another, perhaps with a note at its end."""
    half = text[: (len(text) + 1) // 2]
    return bool(text) and (text in whole or whole.startswith(half))
