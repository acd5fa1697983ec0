"""Whether what the model is to answer now is in front of it: the request, and what it asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from compactlab.sim.conversation import Conversation, Rewind
from compactlab.sim.message import Message
from compactlab.sim.metrics.metric import OVER_CALLS, OWN, Metric
from compactlab.sim.metrics.reading import Reading
from compactlab.sim.metrics.shared import shared

# What is left of a message in its own words. A summary may say it or may not.
_STANDS = frozenset({"verbatim", "truncated", "recovered"})


def request_missing(reading: Reading) -> int:
    """Calls whose prompt lacks the newest message that a person typed: a hard failure.

    Of the calls of the script. It is there if any part of the prompt that is verbatim, truncated
    or put back comes from it. A summary of it does not count, as it may have left out what was
    asked.
    """
    return _missing(reading).requests


def pending_missing(reading: Reading) -> int:
    """Calls whose prompt lacks something that the model waits for: it cannot go on from there.

    Of the calls of the script. Waited for are the results that came since the model last spoke,
    and its last message, if a call in it has no result and no person has spoken since. Each is
    there if any of its parts is, verbatim, truncated or put back.
    """
    return _missing(reading).pending


class _Missing(NamedTuple):
    """Calls without the newest request, and calls without what is pending."""

    requests: int
    pending: int


@shared
def _missing(reading: Reading) -> _Missing:
    requests = pending = 0
    due = _due_in(reading.conversation)
    said = set(map(id, reading.conversation.messages))
    standing: dict[str, int] = {}
    for step, gone, come, *_ in reading.changes:
        for message in gone:
            for source in (message.id,) if id(message) in said else _left_of(message):
                standing[source] -= 1
        for message in come:
            for source in (message.id,) if id(message) in said else _left_of(message):
                standing[source] = standing.get(source, 0) + 1
        if step.answer in due:
            request, waited = due[step.answer]
            requests += bool(request) and not standing.get(request)
            pending += not all(map(standing.get, waited))
    return _Missing(requests, pending)


def _left_of(message: Message) -> set[str]:
    """The messages of which something stands in one that a strategy made."""
    return {s.id for part in message.parts if part.kind in _STANDS for s in part.sources}


class _Due(NamedTuple):
    """Ids of what a call is to answer: the newest request, and the messages waited for."""

    request: str
    waited: tuple[str, ...]


class _Path(NamedTuple):
    """The way to here: the newest request, and all since the model last spoke, that included."""

    request: str = ""
    since: tuple[Message, ...] = ()


_latest: dict[str, dict[str, _Due]] = {}


def _due_in(conversation: Conversation) -> dict[str, _Due]:
    """What the calls of a conversation are to answer; the last one asked for is remembered."""
    if conversation.digest not in _latest:
        _latest.clear()
        _latest[conversation.digest] = _due(conversation)
    return _latest[conversation.digest]


def _due(conversation: Conversation) -> dict[str, _Due]:
    """Of each call of a script, by the id of its answer, what it is to answer."""
    due: dict[str, _Due] = {}
    path = _Path()
    targets = {event.to for event in conversation.events if isinstance(event, Rewind)}
    paths = {"": path}
    for event in conversation.events:
        if isinstance(event, Rewind):
            path = paths[event.to]
        elif isinstance(event, Message):
            if event.call is not None:
                due[event.id] = _Due(path.request, tuple(_waited_for(path.since)))
            request = event.id if event.starts_turn else path.request
            path = _Path(request, (event,) if event.role == "assistant" else (*path.since, event))
            if event.id in targets:
                paths[event.id] = path
    return due


def _waited_for(since: Sequence[Message]) -> Iterator[str]:
    """Ids of the messages that the model is waiting for, of those since it last spoke."""
    results = [m for m in since if m.role == "tool"]
    yield from (message.id for message in results)
    if since and since[0].role == "assistant" and not any(m.starts_turn for m in since):
        answered = {part.call_id for message in results for part in message.parts}
        if any(p.type == "tool_call" and p.call_id not in answered for p in since[0].parts):
            yield since[0].id


METRICS = (
    Metric("calls", "lower", "calls whose prompt lacks what a person asked last", OVER_CALLS, OWN,
           request_missing),
    Metric("calls", "lower", "calls whose prompt lacks a result that the model waits for",
           OVER_CALLS, OWN, pending_missing),
)  # fmt: skip
