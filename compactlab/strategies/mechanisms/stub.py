"""Placeholders that replace tool results, so that every call keeps a result."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from weakref import ReferenceType, ref

import msgspec

from compactlab.sim.core.message import Message, Part, Source
from compactlab.sim.core.tokens import utf16_length
from compactlab.sim.core.view import Messages
from compactlab.sim.replay.host import Host
from compactlab.strategies.mechanisms.cut import starts_turn
from compactlab.strategies.mechanisms.handover import is_summary
from compactlab.strategies.mechanisms.text import changed_to, with_parts

Result = tuple[Part, ...]
"""What answers one call: the tool's text, and whatever else it sent with it."""

# Number of edited messages in the cache before it is cleared.
_REMEMBERED = 20_000


def results_of(message: Message) -> list[Result]:
    """Split a tool message into its results, by call; parts before the first result are ignored.

    A result is its text and the parts up to the next one: images have no call of their own.
    """
    parts = message.parts
    if message.role != "tool":
        return []
    if len(parts) == 1:  # nearly always
        return [parts] if parts[0].type == "tool_result" else []
    results: list[list[Part]] = []
    for part in parts:
        new = part.type == "tool_result" and (not results or part.call_id != results[-1][0].call_id)
        if new:
            results.append([part])
        elif results:
            results[-1].append(part)
    return [tuple(result) for result in results]


def is_stub(result: Result) -> bool:
    """Whether a result is already a placeholder."""
    return result[0].kind == "stub"


def unstubbed(message: Message) -> int:
    """Weigh a message by the number of its results that are not placeholders."""
    if message.role != "tool":
        return 0
    if len(message.parts) == 1:
        return int(message.parts[0].kind != "stub")
    return sum(not is_stub(result) for result in results_of(message))


def stub(result: Result, text: str) -> Part:
    """Make a placeholder of a result: another text for the same call."""
    first, sources = result[0], sources_of(result)
    return Part(
        "tool_result",
        text,
        "stub" if sources else "synthetic",
        sources,
        first.name,
        first.call_id,
        first.is_error,
        first.handle,
    )


def sources_of(parts: Sequence[Part]) -> tuple[Source, ...]:
    """Return all sources of parts, each once."""
    if len(parts) == len(parts[0].sources) == 1:  # nearly always
        return parts[0].sources
    return tuple(dict.fromkeys(source for part in parts for source in part.sources))


def with_stubs(message: Message, say: Callable[[int, Result], str | None]) -> Message:
    """Replace results by placeholders.

    ``say`` returns the replacement of a result, or None to keep it. Its arguments are the result's
    number in the message and the result. A message without replacements is returned unchanged.
    """
    results = results_of(message)
    if len(results) == len(message.parts) == 1:  # nearly always
        text = say(0, results[0])
        if text is None:
            return message
        return msgspec.structs.replace(message, parts=(stub(results[0], text),))
    front = len(message.parts) - sum(map(len, results))
    parts: list[Part] = list(message.parts[:front])
    for index, result in enumerate(results):
        text = say(index, result)
        parts += result if text is None else (stub(result, text),)
    return with_parts(message, parts)


@dataclass
class Edits:
    """Caches edited messages, so that the same edit returns the same object.

    A message that is edited again for every request would be counted and named again, too.
    """

    known: dict[tuple[object, ...], tuple[Message, Message]] = field(default_factory=dict)
    # Other cached data of messages, by object id; the entry must keep the message alive.
    found: dict[tuple[object, ...], Any] = field(default_factory=dict)

    def of(self, message: Message, how: tuple[object, ...], edit: Callable[[], Message]) -> Message:
        """Return the edited message."""
        key = (id(message), *how)
        known = self.known.get(key)
        if known is None:
            if len(self.known) >= _REMEMBERED:
                self.known.clear()
            # The message is also stored, because the id of a deleted object may be reused.
            known = self.known[key] = (message, edit())
        return known[1]


T = TypeVar("T")


class PerReplay(Generic[T]):
    """One object per replay, found by its host.

    It is for caches that make a strategy faster, or let it return the same objects. It is not saved
    as JSON, and a rewind does not change it. A strategy may serve several replays, one after the
    other or at once; data of one must not affect another.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._known: dict[int, tuple[ReferenceType[Host], T]] = {}

    def of(self, host: Host) -> T:
        """Return the object of a host's replay."""
        known = self._known.get(id(host))
        if known is None or known[0]() is not host:
            self._known = {key: each for key, each in self._known.items() if each[0]()}
            known = self._known[id(host)] = (ref(host), self._make())
        return known[1]

    def __reduce__(self) -> tuple[type[PerReplay[T]], tuple[Callable[[], T]]]:
        # A copy on another worker starts empty.
        return PerReplay, (self._make,)


# Old tool outputs become placeholders; the call and its position stay.

STUB = "[Old tool output erased]"
SKILL = ("skill",)


def erased(message: Message) -> Message:
    """Replace a message's tool results by placeholders, without their images."""
    parts = tuple(_stub(part) for part in message.parts if part.type != "image")
    return msgspec.structs.replace(message, parts=parts)


def _stub(part: Part) -> Part:
    if part.type != "tool_result" or part.kind == "stub":
        return part
    return msgspec.structs.replace(part, text=STUB, kind=changed_to("stub", part), size=0)


def is_erased(message: Message) -> bool:
    """Whether a message has a cleared tool result."""
    return any(part.type == "tool_result" and part.kind == "stub" for part in message.parts)


def with_erased(messages: Messages, places: Collection[int]) -> Messages:
    """Clear results of some messages; return the same messages if there are none to clear."""
    return messages.replace({index: erased(messages[index]) for index in places})


def output_tokens(message: Message) -> int:
    """Estimate the tokens of a message's tool outputs as OpenCode does: a quarter, rounded."""
    return sum(
        int(utf16_length(part.text) / 4 + 0.5)
        for part in message.parts
        if part.type == "tool_result"
    )


def prunable(
    messages: Messages,
    *,
    protect: int,
    minimum: int,
    turns: int = 2,
    exempt: Iterable[str] = SKILL,
) -> list[int]:
    """Return the messages whose outputs are to be cleared; as OpenCode's ``prune`` (31e22f6).

    The walk from the end skips the newest turns. Outputs are added up, except failed ones and those
    of exempt tools; outputs after the sum exceeds ``protect`` are to be cleared. The walk ends at a
    summary, or at a cleared output. The indices are in order from the newest; there are none unless
    they have more than ``minimum`` tokens together.
    """
    exempt, places = frozenset(exempt), []
    total = gone = passed = 0
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        passed += starts_turn(message)
        if passed < turns:
            continue
        if is_summary(message):
            break
        if message.role != "tool" or _spared(message, exempt):
            continue
        if is_erased(message):
            break
        tokens = output_tokens(message)
        total += tokens
        if total > protect:
            gone += tokens
            places.append(index)
    return places if gone > minimum else []


def _spared(message: Message, exempt: Collection[str]) -> bool:
    results = [part for part in message.parts if part.type == "tool_result"]
    return all(part.is_error or part.name in exempt for part in results)


def older_outputs(messages: Messages, keep: int) -> list[int]:
    """Return the positions of uncleared tool outputs, except the newest."""
    newest_first = [
        n
        for n in range(len(messages) - 1, -1, -1)
        if messages[n].role == "tool" and not is_erased(messages[n])
    ]
    return newest_first[keep:]
