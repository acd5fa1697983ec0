"""The system prompt and tools of a session of pi, as its log declares and changes them."""

from __future__ import annotations

from typing import Any, Protocol

from compactlab.scenarios.readers.blocks import Given, compact, given, parts
from compactlab.scenarios.readers.jsonl import Lines
from compactlab.scenarios.readers.script import SYSTEM, declared
from compactlab.sim.core.message import Part, frame, verbatim


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
        """Return the parts of the system prompt at the start of a session."""
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
