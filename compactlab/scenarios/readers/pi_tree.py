"""The tree of a session of pi or OpenClaw, and what the model sees at a node.

Both clients append entries that form a tree, and build each request from the path to the newest
entry. The last compaction (or reset) hides the entries before it, and edits omit or replace
messages. The rules are those of pi 1.6.0 and OpenClaw 2026.9.6; the outputs of pi's own function
are among this project's tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

import msgspec

from compactlab.scenarios.readers.blocks import Given, compact, given, parts
from compactlab.scenarios.readers.jsonl import Lines
from compactlab.scenarios.readers.script import SYSTEM, Draft, declared
from compactlab.sim.core.message import Part, Source, frame, verbatim

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
    half = part.text[: (len(part.text) + 1) // 2]  # of an excerpt, perhaps with a note at its end
    shortened = part.text and any(
        part.text in there.text or there.text.startswith(half) for there in alike
    )
    kind: Literal["truncated", "stub"] = "truncated" if shortened else "stub"
    return msgspec.structs.replace(part, kind=kind, sources=(Source(original.id),))


# The system prompt and tools, as a log declares and changes them


class Declaration(Protocol):
    """A ``system`` message: text, sections by name (None removes one), and tools."""

    content: Given
    sections: dict[str, str | None] | None
    tools_added: list[dict[str, Any]] | None
    tools_removed: list[dict[str, Any]] | None


class SystemPrompt:
    """The first declaration of the system prompt; later ones contain changes.

    Some models take system messages within a conversation: they get a change where it happened. For
    others, pi rewrites the prompt at the start. A log does not distinguish the two.
    """

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._text = ""
        self._sections: dict[str, str | None] = {}
        self._tools: dict[Any, dict[str, Any]] = {}

    def begin(self, message: Declaration) -> list[Part]:
        self._text = self._words(message)
        self._sections = dict(message.sections or {})
        self._tools = {tool.get("name"): tool for tool in message.tools_added or []}
        texts = [self._text, *self._sections.values()]
        told = [verbatim(SYSTEM, "text", text) for text in texts if text]
        return [*told, *declared(list(self._tools.values()))]

    def change(self, message: Declaration, id: str) -> list[Part]:
        """Return a later declaration, as the model gets it within a conversation."""
        text = self._words(message)
        told = [verbatim(id, "text", text)] if text else []
        for name, section in (message.sections or {}).items():
            told += _section(name, section, id)
        if message.tools_added:
            told.append(verbatim(id, "text", compact(message.tools_added), name="tools"))
        gone = ", ".join(str(tool.get("name")) for tool in message.tools_removed or [])
        return [*told, frame(f"These tools are gone: {gone}")] if gone else told

    def since(self, message: Declaration, id: str) -> list[Part]:
        """Return the changes since the first declaration, from a complete one."""
        text = self._words(message).removeprefix(self._text).strip()
        told = [verbatim(id, "text", text)] if text else []
        sections = message.sections or {}
        for name in dict.fromkeys((*self._sections, *sections)):
            if sections.get(name) != self._sections.get(name):
                told += _section(name, sections.get(name), id)
        tools = {tool.get("name"): tool for tool in message.tools_added or []}
        new = [tool for name, tool in tools.items() if self._tools.get(name) != tool]
        if new:
            told.append(verbatim(id, "text", compact(new), name="tools"))
        gone = ", ".join(str(name) for name in self._tools if name not in tools)
        return [*told, frame(f"These tools are gone: {gone}")] if gone else told

    def _words(self, message: Declaration) -> str:
        declares = message.sections or message.tools_added or message.tools_removed
        if not declares:
            given(message.content, "a system message")
        return "\n".join(part.text for part in parts(message.content, SYSTEM, self._lines))


def _section(name: str, text: str | None, id: str) -> list[Part]:
    if text is None:
        return [frame(f"The section {name!r} of the system prompt is gone.\n\n")]
    said = [verbatim(id, "text", text)] if text else []
    return [frame(f"The section {name!r} of the system prompt is now:\n\n"), *said]
