"""The table of messages: those that do not stand in the script, by what they say."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from operator import attrgetter

from compactlab.sim.message import Message, encoded
from compactlab.sim.metrics import Reading
from compactlab.sim.tables.table import Column, Columns, Table


def script_of(reading: Reading) -> dict[str, Message]:
    """The messages of the script by their ids."""
    return {message.id: message for message in reading.conversation.messages}


def written(message: Message, script: Mapping[str, Message]) -> bool:
    """Whether a message does not stand just so in the script."""
    said = script.get(message.id)
    if said is message:
        return False
    return said is None or (said.role, said.parts) != (message.role, message.parts)


def name_of(message: Message, script: Mapping[str, Message]) -> str:
    """How the store names a message: its id; ``#`` and a digest, for what a strategy wrote."""
    if not written(message, script):
        return message.id
    said = encoded((message.role, message.parts))
    return f"#{hashlib.blake2b(said, digest_size=8).hexdigest()}"


def loops(reading: Reading) -> Iterator[tuple[str, Reading]]:
    """The replays of a run, each once: open, at best, at worst."""
    traces = [reading.trace]
    yield "open", reading
    for name, replay in (("best", reading.best), ("worst", reading.worst)):
        if replay is not None and not any(replay.trace is trace for trace in traces):
            traces.append(replay.trace)
            yield name, replay


def _of(reading: Reading) -> Columns:
    script = script_of(reading)
    steps = (step for _, replay in loops(reading) for step in replay.trace.steps)
    unique = {id(m): m for step in steps for m in step.added if written(m, script)}
    named = {name_of(message, script): message for message in unique.values()}
    messages = list(named.values())
    return {
        "message": list(named),
        "role": [message.role for message in messages],
        "kinds": [list(map(attrgetter("kind"), message.parts)) for message in messages],
        "text": list(map(text_of, messages)),
    }


def text_of(message: Message) -> str:
    """What the model reads of a message, a line break between two parts."""
    return "\n".join(told(part.text) for part in message.parts)


def told(text: str) -> str:
    """A text as a table can hold it: half a character is none."""
    return text.encode("utf-8", "replace").decode()


MESSAGES = Table(
    "messages",
    "a message that a strategy wrote or changed, or that came to be in the replay",
    {
        "message": Column("text", "digest of what it says, with # in front"),
        "role": Column("text", "who says it"),
        "kinds": Column("texts", "what its parts are: summary, stub, truncated, ..."),
        "text": Column("text", "what the model reads"),
    },
    _of,
)
