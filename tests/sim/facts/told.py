"""Small scripts in which facts are stated, and views that somebody made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from compactlab.sim.core.conversation import Conversation, Event, Fact, Need, Rewind
from compactlab.sim.core.message import Call, Kind, Message, Part, Role, Source, verbatim
from compactlab.sim.core.notes import Remembered
from compactlab.sim.core.view import Messages, View
from compactlab.sim.facts import Ledger, Tracker, ledger_of


def say(id: str, text: str, role: Role = "user") -> Message:
    """Something that a person, or a tool, says; of an assistant, something that cost no call."""
    return Message(id, role, (verbatim(id, "text", text),))


def answer(id: str, text: str = "Fine.") -> Message:
    """An answer that cost a call."""
    return Message(id, "assistant", (verbatim(id, "text", text),), call=Call())


def calls(id: str, call_id: str, arguments: str = "{}") -> Message:
    """An answer that calls a tool."""
    part = verbatim(id, "tool_call", arguments, name="read", call_id=call_id)
    return Message(id, "assistant", (part,), call=Call())


def result(id: str, call_id: str, text: str) -> Message:
    """What a tool gave."""
    return Message(id, "tool", (verbatim(id, "tool_result", text, name="read", call_id=call_id),))


def script(*events: Event, facts: Iterable[Fact] = (), needs: Iterable[Need] = ()) -> Conversation:
    """A conversation."""
    return Conversation("c", "native", events, facts=tuple(facts), needs=tuple(needs))


def back_to(id: str) -> Rewind:
    """A person goes back."""
    return Rewind(id)


def made(text: str, *sources: str | Source, kind: Kind = "summary", handle: str = "") -> Message:
    """A message that a strategy made, which stands for others."""
    told = tuple(Source(each) if isinstance(each, str) else each for each in sources)
    return Message("made", "user", (Part("text", text, kind, told, handle=handle),), meta=True)


def states(
    told: Conversation | Ledger,
    *view: Message,
    system: tuple[Part, ...] = (),
    stored: Mapping[str, str] | None = None,
    notes: Iterable[Remembered] = (),
    created: Iterable[Message] = (),
) -> dict[str, str]:
    """The state of every fact in a view, by its id."""
    ledger = told if isinstance(told, Ledger) else ledger_of(told)
    tracker = Tracker(ledger, stored)
    for message in created:
        tracker.hear(message)
    tracker.remember(notes)
    found = tracker.move(View(system, Messages(view)))
    return {fact.id: found.of(number) for number, fact in enumerate(ledger.facts)}


def due(told: Conversation, at: str = "") -> set[str]:
    """Ids of the facts that are due at a call, or at the end."""
    ended = replace(told, events=(*told.events, answer("the end")))
    ledger = ledger_of(told if at else ended)
    moment = ledger.moments[at or "the end"]
    return {fact.id for number, fact in enumerate(ledger.facts) if moment.due >> number & 1}
