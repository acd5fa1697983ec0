"""Place-holders that stand where a tool's result stood, so that its call keeps its result."""

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
    results: list[list[Part]] = []
    for part in parts:
        new = part.type == "tool_result" and (not results or part.call_id != results[-1][0].call_id)
        if new:
            results.append([part])
        elif results:
            results[-1].append(part)
    return [tuple(result) for result in results]


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

    ``say`` gives the text that takes the place of a result, or None to leave it; it is told
    which of the message's results it is. A message of which nothing is replaced is given back
    as it is.
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
    return with_parts(message, parts)


@dataclass
class Edits:
    """Remembers edited messages, so that the same edit gives the same object.

    A message that is edited anew for every request would be counted and named anew as well.
    """

    known: dict[tuple[object, ...], tuple[Message, Message]] = field(default_factory=dict)
    # What else was found out of messages, by their ids; whoever puts it there holds them.
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


T = TypeVar("T")


class PerReplay(Generic[T]):
    """One of something for each replay, known by its host.

    For what makes a strategy faster, or lets it give the same object twice, and changes nothing
    else: it is no JSON, and no rewind takes it back. A strategy may serve one replay after the
    other, or several at once; what it remembers of one must not tell in another.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._known: dict[int, tuple[ReferenceType[Host], T]] = {}

    def of(self, host: Host) -> T:
        """The one of the replay to which a host belongs."""
        known = self._known.get(id(host))
        if known is None or known[0]() is not host:
            self._known = {key: each for key, each in self._known.items() if each[0]()}
            known = self._known[id(host)] = (ref(host), self._make())
        return known[1]

    def __reduce__(self) -> tuple[type[PerReplay[T]], tuple[Callable[[], T]]]:
        # A copy on another worker begins with nothing.
        return PerReplay, (self._make,)


# Old tool outputs give way to a stub; the call and its place stay.

STUB = "[Old tool output erased]"
SKILL = ("skill",)


def erased(message: Message) -> Message:
    """A message whose tool results are stubs; images that came with them are gone."""
    parts = tuple(_stub(part) for part in message.parts if part.type != "image")
    return msgspec.structs.replace(message, parts=parts)


def _stub(part: Part) -> Part:
    if part.type != "tool_result" or part.kind == "stub":
        return part
    return msgspec.structs.replace(part, text=STUB, kind=changed_to("stub", part), size=0)


def is_erased(message: Message) -> bool:
    """Whether a message has a tool result that was erased."""
    return any(part.type == "tool_result" and part.kind == "stub" for part in message.parts)


def with_erased(messages: Messages, places: Collection[int]) -> Messages:
    """Messages, some of which are erased; the same ones if there are none to erase."""
    return messages.replace({place: erased(messages[place]) for place in places})


def output_tokens(message: Message) -> int:
    """Tokens of a message's tool outputs as OpenCode estimates them: a quarter, rounded."""
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
    """Which messages' outputs are to be erased; as OpenCode's ``prune`` (31e22f6).

    Walks back from the end, passing over the newest turns. Outputs are added up, those of
    exempt tools and failed ones left out; what comes when the sum is over ``protect`` is to go.
    The walk ends at a summary, or at an output that is erased already. The places come newest
    first; there are none unless they have more than ``minimum`` tokens together.
    """
    exempt, places = frozenset(exempt), []
    total = gone = passed = 0
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
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
            places.append(place)
    return places if gone > minimum else []


def _spared(message: Message, exempt: Collection[str]) -> bool:
    results = [part for part in message.parts if part.type == "tool_result"]
    return all(part.is_error or part.name in exempt for part in results)


def older_outputs(messages: Messages, keep: int) -> list[int]:
    """Places of all tool outputs but the newest few that are not erased yet."""
    newest_first = [
        n
        for n in range(len(messages) - 1, -1, -1)
        if messages[n].role == "tool" and not is_erased(messages[n])
    ]
    return newest_first[keep:]
