"""Reading a context that some product compacted: messages of any format, or plain text."""

from __future__ import annotations

import re
from pathlib import Path

from compactlab.scenarios import jsonl, transcript
from compactlab.sim.conversation import Conversation
from compactlab.sim.errors import InputError
from compactlab.sim.message import Message, verbatim

TEXT = "text"  # the format of what is plain text, and the id of its one message
_JSON = re.compile(rb'\s*(?:\{\s*["}]|\[\s*[\[{"\]])')


def read_compacted(path: str | Path) -> list[Conversation]:
    """Read the contexts of a file.

    Parameters
    ----------
    path
        A transcript of any format. What is none, and does not begin like JSON, is plain text: one
        message of the user's.

    Returns
    -------
    list
        One conversation for each context.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    path = Path(path)
    try:
        return list(transcript.read(path))
    except InputError:
        text = _plain(path)
        if text is None:
            raise
    message = Message(TEXT, "user", (verbatim(TEXT, "text", text),), meta=True)
    return [Conversation(path.stem, TEXT, (message,), source=str(path))]


def _plain(path: Path) -> str | None:
    """The text of a file; None if it is JSON, or is not to be read as a text."""
    try:
        if not path.is_file() or path.stat().st_size > jsonl.LARGEST:
            return None
        data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
        text = data.decode("utf-8")
    except (OSError, ValueError):
        return None
    return text if text.strip() and "\0" not in text and not _JSON.match(data) else None
