"""Conversations that state, revise and take back facts, and what all kinds of strategies make of
them at each call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

import msgspec

from compactlab.sim.core.conversation import Conversation, Event, Fact, Rewind
from compactlab.sim.core.message import Call, Kind, Message, Part, Source, verbatim
from compactlab.sim.core.notes import Remembered
from compactlab.sim.core.view import Messages, View

T = TypeVar("T")

KEYS = ["port", "deploy target", "file", "limit"]
VALUES = [
    "8123", "812", "eu-west-3", "eu-west-31", "src/a.py", "b/src/a.py", "1,500", "1.5", "15",
    "blue door",
]  # fmt: skip
LOOKS = ["{}", "{},", "({})", "{}.", "`{}`", "  {}"]
OTHERS = [
    "open", "decided", "must", "never", "always", "not", "now", "formerly", "and", "so", "1500",
    "./src/a.py", "PORT", "blue",
]  # fmt: skip
FILLERS = [" ".join("x" * 8), " ".join("y" * 20), " ".join("z" * 36)]

WORDS = [*KEYS, *KEYS, *VALUES, *VALUES, *OTHERS, *FILLERS]


def text(draw: Random) -> str:
    """Words that may say a fact, or nearly."""
    many = draw.randint(1, 7)
    return " ".join(draw.choice(LOOKS).format(draw.choice(WORDS)) for _ in range(many))


def some(draw: Random, things: Sequence[T], most: int) -> tuple[T, ...]:
    """A few of many, each once."""
    return tuple(draw.sample(things, min(len(things), draw.randint(0, most))))


@dataclass(frozen=True)
class Sent:
    """A prompt, and what was known beside it when it was sent."""

    at: str
    view: View
    stored: dict[str, str]
    notes: tuple[Remembered, ...]
    created: tuple[Message, ...]


def script(draw: Random) -> Conversation:
    """A conversation with facts."""
    events: list[Event] = []
    said: list[str] = []
    for number in range(draw.randint(2, 5)):
        events += _round(draw, str(number))
        said += [
            event.id for event in events if isinstance(event, Message) and event.id not in said
        ]
        if draw.randint(0, 5) == 0:
            events.append(Rewind(draw.choice(["", *_way(events)])))
    messages = [event for event in events if isinstance(event, Message)]
    ids = [f"f{number}" for number in range(draw.randint(1, 5))]
    facts = tuple(fact_of(draw, id, ids, messages) for id in ids)
    return Conversation("c", "native", tuple(events), facts=facts)


def _way(events: list[Event]) -> list[str]:
    way: list[str] = []
    for event in events:
        if isinstance(event, Rewind):
            way = way[: way.index(event.to) + 1] if event.to else []
        elif isinstance(event, Message):
            way.append(event.id)
    return way


def _round(draw: Random, number: str) -> Iterator[Event]:
    """A person asks, a tool may be called, the agent answers."""
    ask, call, gave, end = (f"{kind}{number}" for kind in "uctz")
    yield Message(ask, "user", (verbatim(ask, "text", text(draw)),))
    if draw.random() < 0.5:
        words = verbatim(call, "text", text(draw))
        calls = verbatim(call, "tool_call", "{}", name="read", call_id=f"call{number}")
        yield Message(call, "assistant", (words, calls), call=Call())
        back = verbatim(gave, "tool_result", text(draw), name="read", call_id=f"call{number}")
        yield Message(gave, "tool", (back,))
    yield Message(end, "assistant", (verbatim(end, "text", text(draw)),), call=Call())


def fact_of(draw: Random, id: str, ids: list[str], messages: list[Message]) -> Fact:
    """A fact that some of the messages state."""
    names = [message.id for message in messages]
    tools = [message.id for message in messages if message.role == "tool"]
    return Fact(
        id,
        draw.choice(["entity", "entity", "done"]),
        draw.choice(["", *KEYS, *KEYS]),
        draw.choice(VALUES),
        tuple(_span(draw, message) for message in some(draw, messages, 3)),
        draw.choice(["is", "is", "must", "must_not", "asks"]),
        supersedes=some(draw, ids, 2),
        deleted_at=draw.choice(["", "", "", *names]),
        scope=draw.choice(["session", "session", "session", *names]),
        handle=draw.choice(["", *tools]),
        aliases=some(draw, KEYS, 1),
        whole=draw.random() < 0.5,
    )


def _span(draw: Random, message: Message) -> Source:
    if draw.random() < 0.5:
        return Source(message.id)
    size = len(message.parts[0].text)
    start = draw.randint(0, size)
    return Source(message.id, 0, start, draw.choice([-1, size, min(size, start + 9)]))


def session(draw: Random) -> tuple[Conversation, list[Sent]]:
    """A conversation, and what was sent at each of its calls."""
    talk = script(draw)
    log: list[Message] = []
    made: dict[int, Message] = {}
    stored: dict[str, str] = {}
    notes: tuple[Remembered, ...] = ()
    created: tuple[Message, ...] = ()
    sent: list[Sent] = []
    for event in talk.events:
        if isinstance(event, Rewind):
            ids = [message.id for message in log]
            log = log[: ids.index(event.to) + 1] if event.to else []
        elif isinstance(event, Message):
            if event.call is not None:
                if log and draw.randint(0, 3) == 0:
                    created = (*created, _recovered(draw, f"born{len(created)}", log))
                view = _view(draw, log, created, made, stored)
                if log and draw.randint(0, 3) == 0:
                    notes = (*notes, Remembered("action", text(draw), _sources(draw, log)))
                sent.append(Sent(event.id, view, dict(stored), notes, created))
            log.append(event)
    return talk, sent


def _recovered(draw: Random, id: str, log: list[Message]) -> Message:
    message = draw.choice(log)
    return Message(
        id, "user", (Part("text", message.text, "recovered", (Source(message.id),)),), meta=True
    )


def _view(
    draw: Random,
    log: list[Message],
    created: tuple[Message, ...],
    made: dict[int, Message],
    stored: dict[str, str],
) -> View:
    """What is sent: some as it was, some changed (and then left so), some gone, some summarised."""
    shown: list[Message] = []
    for message in (*created, *log):
        fate = draw.choice(["keep", "keep", "drop", "change", "again", "twice"])
        if fate == "change" or (fate == "again" and id(message) not in made):
            made[id(message)] = _changed(draw, message, stored)
        if fate != "drop":
            shown.append(message if fate in ("keep", "twice") else made[id(message)])
        if fate == "twice":
            shown.append(message)
    if (log or created) and draw.random() < 0.5:
        sources = _sources(draw, [*log, *created])
        kind: Kind = draw.choice(["summary", "summary", "memory", "recovered", "opaque"])
        part = Part("text", text(draw), kind, sources, size=9)
        shown.insert(draw.randint(0, len(shown)), Message("made", "user", (part,), meta=True))
    system: tuple[Part, ...] = ()
    if log and draw.randint(0, 3) == 0:
        system = (Part("text", text(draw), "memory", _sources(draw, log)),)
    return View(system, Messages(shown))


def _sources(draw: Random, messages: list[Message]) -> tuple[Source, ...]:
    chosen = some(draw, messages, 3) or messages[-1:]
    return tuple(Source(message.id) for message in chosen)


def _changed(draw: Random, message: Message, stored: dict[str, str]) -> Message:
    """A message with its first part truncated, put away, quoted, hidden or copied."""
    first, *rest = message.parts
    kind: Kind = draw.choice(["truncated", "stub", "recovered", "opaque", "verbatim"])
    words, handle = first.text, ""
    if kind == "truncated":
        cut = draw.randint(0, len(words))
        words = draw.choice([words[:cut], words[cut:]])
    elif kind == "stub":
        handle = draw.choice(["", "out/1", "out/2"])
        words = f"[put away: {handle}]"
        if handle and handle not in stored and draw.random() < 0.5:
            stored[handle] = draw.choice([first.text, first.text[:20], text(draw)])
    elif kind == "opaque":
        words = ""
    part = msgspec.structs.replace(first, kind=kind, text=words, handle=handle)
    return msgspec.structs.replace(message, parts=(part, *rest))
