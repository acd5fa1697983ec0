"""Instruction files, such as CLAUDE.md: what clients put in front before anybody speaks."""

from __future__ import annotations

import re
from collections.abc import Iterable

from compactlab.sim.core.message import Message

# Codex: "# AGENTS.md instructions for <folder>" (codex-rs 0100b10); Claude Code: "Contents of
# <folder>/CLAUDE.md", behind a few sentences of its own. A command that only speaks of such a file
# is none.
_NAMES = re.compile(
    r"^(?:#+ |Contents of )(?:\S*/)?(?:CLAUDE|AGENTS|GEMINI)(?:\.local|\.override)?\.md\b",
    re.MULTILINE,
)
_OPENING = 1_000  # characters in which the name of the file stands


def instruction_files(messages: Iterable[Message]) -> list[Message]:
    r"""The messages by which a client has put instruction files in front, before anybody spoke.

    Examples
    --------
    >>> from compactlab.sim.core.message import verbatim
    >>> file = Message("i", "user", (verbatim("i", "text", "# AGENTS.md\nUse tabs."),), meta=True)
    >>> asks = Message("u", "user", (verbatim("u", "text", "What does CLAUDE.md say?"),))
    >>> [message.id for message in instruction_files([file, asks])]
    ['i']
    """
    files = []
    for message in messages:
        if not message.meta:
            break
        if _NAMES.search(message.text[:_OPENING]):
            files.append(message)
    return files
