"""Messages as Anthropic's Messages API takes them, alone or in the body of a request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from compactlab.scenarios.readers import chat
from compactlab.sim.core.conversation import Conversation

name = "anthropic-messages"
description = "messages or request bodies of Anthropic's Messages API (JSON or JSONL)"


def sniff(first: list[Any]) -> bool:
    """Say whether the first values of a file look like this format."""
    return chat.kind_of(first) == "anthropic"


def read(path: Path, lenient: bool = False) -> Iterator[Conversation]:
    """Yield the conversations of a file.

    Raises
    ------
    InputError
        If something in it is neither a message nor a conversation.
    """
    return chat.read(path, lenient, name)
