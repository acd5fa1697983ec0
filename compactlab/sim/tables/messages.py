"""The table of messages: those that a strategy wrote or changed, by what they say."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from operator import attrgetter

import msgspec

from compactlab.sim.message import Message
from compactlab.sim.metrics import Reading
from compactlab.sim.tables.table import Column, Columns, Table

_encoded = msgspec.json.Encoder(order="deterministic").encode


def written(message: Message) -> bool:
    """Whether a message is not just as it was said."""
    return any(part.kind not in ("verbatim", "opaque") for part in message.parts)


def name_of(message: Message) -> str:
    """How the store names a message: its id; ``#`` and a digest, for what a strategy wrote."""
    if not written(message):
        return message.id
    said = _encoded((message.role, message.parts))
    return f"#{hashlib.blake2b(said, digest_size=8).hexdigest()}"


def loops(reading: Reading) -> Iterator[tuple[str, Reading]]:
    """The replays of a run, each once: open, at best, at worst."""
    yield "open", reading
    if reading.best is not None and reading.best is not reading:
        yield "best", reading.best
    if reading.worst is not None and reading.worst is not reading.best:
        yield "worst", reading.worst


def _of(reading: Reading) -> Columns:
    steps = (step for _, replay in loops(reading) for step in replay.trace.steps)
    unique = {id(message): message for step in steps for message in step.added if written(message)}
    named = {name_of(message): message for message in unique.values()}
    messages = list(named.values())
    return {
        "message": list(named),
        "role": [message.role for message in messages],
        "kinds": [list(map(attrgetter("kind"), message.parts)) for message in messages],
        "text": ["\n".join(_told(part.text) for part in m.parts) for m in messages],
    }


def _told(text: str) -> str:
    # No table can hold half a character.
    return text.encode("utf-8", "replace").decode()


MESSAGES = Table(
    "messages",
    "a message that a strategy wrote or changed",
    {
        "message": Column("text", "digest of what it says, with # in front"),
        "role": Column("text", "who says it"),
        "kinds": Column("texts", "what its parts are: summary, stub, truncated, ..."),
        "text": Column("text", "what the model reads"),
    },
    _of,
)
