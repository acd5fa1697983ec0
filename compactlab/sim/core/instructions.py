"""Instruction files, such as CLAUDE.md, which clients send before the first user message."""

from __future__ import annotations

import re
from collections.abc import Iterable

from compactlab.sim.core.message import Message

# Codex: "# AGENTS.md instructions for <folder>" (codex-rs 0100b10); Claude Code: "Contents of
# <folder>/CLAUDE.md", after a few introductory sentences. A command that only mentions such a file
# is none.
_NAMES = re.compile(
    r"^(?:#+ |Contents of )(?:\S*/)?(?:CLAUDE|AGENTS|GEMINI)(?:\.local|\.override)?\.md\b",
    re.MULTILINE,
)
_OPENING = 1_000  # characters that contain the name of the file


def instruction_files(messages: Iterable[Message]) -> list[Message]:
    r"""Return the messages with instruction files that a client sent before any user message.

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
