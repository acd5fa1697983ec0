"""Chat messages as OpenAI's Chat Completions take them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from compactlab.scenarios.readers import chat
from compactlab.sim.core.conversation import Conversation

name = "openai-chat"
description = "messages of OpenAI's Chat Completions (JSON or JSONL, one conversation or many)"


def sniff(first: list[Any]) -> bool:
    """Say whether the first values of a file look like this format."""
    return chat.kind_of(first) == "openai"


def read(path: Path, lenient: bool = False) -> Iterator[Conversation]:
    """Yield the conversations of a file.

    Raises
    ------
    InputError
        If something in it is neither a message nor a conversation.
    """
    return chat.read(path, lenient, name)
