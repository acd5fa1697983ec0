"""Place-holders that stand where a tool's result stood, so that its call keeps its result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from compactlab.sim.message import Message, Part, Source

Result = tuple[Part, ...]
"""What answers one call: the tool's text, and whatever else it sent with it."""

# How many edited messages are remembered before all are forgotten.
_REMEMBERED = 20_000


def results_of(message: Message) -> list[Result]:
    """Split a tool's message into its results, by call; what stands in front of them is none.

    A result is its text and what follows it up to the next one: images have no call of their own.
    """
    parts = message.parts
    if message.role != "tool":
        return []
    if len(parts) == 1:  # nearly always
        return [parts] if parts[0].type == "tool_result" else []
    found: list[list[Part]] = []
    for part in parts:
        new = part.type == "tool_result" and (not found or part.call_id != found[-1][0].call_id)
        if new:
            found.append([part])
        elif found:
            found[-1].append(part)
    return [tuple(result) for result in found]


def is_stub(result: Result) -> bool:
    """Whether a result has given way to a place-holder already."""
    return result[0].kind == "stub"


def unstubbed(message: Message) -> int:
    """Weigh a message by how many results of it still say what they said."""
    if message.role != "tool":
        return 0
    if len(message.parts) == 1:
        return int(message.parts[0].kind != "stub")
    return sum(not is_stub(result) for result in results_of(message))


def stub(result: Result, text: str) -> Part:
    """The place-holder of a result: another text, under the same call."""
    first = result[0]
    return Part(
        "tool_result",
        text,
        "stub",
        sources_of(result),
        first.name,
        first.call_id,
        first.is_error,
        first.handle,
    )


def sources_of(parts: Sequence[Part]) -> tuple[Source, ...]:
    """All that parts stand for, each once."""
    if len(parts) == len(parts[0].sources) == 1:  # nearly always
        return parts[0].sources
    return tuple(dict.fromkeys(source for part in parts for source in part.sources))


def with_stubs(message: Message, say: Callable[[int, Result], str | None]) -> Message:
    """Put place-holders in the place of results.

    Parameters
    ----------
    message
        A tool's message.
    say
        Given a result and its place among those of the message, the text that takes its place;
        None to leave it as it is.

    Returns
    -------
    Message
        The message; itself, if nothing was replaced.
    """
    results = results_of(message)
    if len(results) == len(message.parts) == 1:  # nearly always
        text = say(0, results[0])
        if text is None:
            return message
        return msgspec.structs.replace(message, parts=(stub(results[0], text),))
    front = len(message.parts) - sum(map(len, results))
    parts: list[Part] = list(message.parts[:front])
    for place, result in enumerate(results):
        text = say(place, result)
        parts += result if text is None else (stub(result, text),)
    if all(one is other for one, other in zip(parts, message.parts, strict=False)):
        return message
    return msgspec.structs.replace(message, parts=tuple(parts))


@dataclass
class Edits:
    """Remembers edited messages, so that the same edit gives the same object.

    A message that is edited anew for every request would be counted and named anew as well.

    Attributes
    ----------
    found
        What else was found out of messages, by their ids; whoever puts it there holds them.
    """

    known: dict[tuple[object, ...], tuple[Message, Message]] = field(default_factory=dict)
    found: dict[tuple[object, ...], Any] = field(default_factory=dict)

    def of(self, message: Message, how: tuple[object, ...], edit: Callable[[], Message]) -> Message:
        """The message, edited that way."""
        key = (id(message), *how)
        known = self.known.get(key)
        if known is None:
            if len(self.known) >= _REMEMBERED:
                self.known.clear()
            # The message is held too: an id may be given again once its object is gone.
            known = self.known[key] = (message, edit())
        return known[1]
