"""The rules that every answer of a strategy is held against, one function each.

A rule is judged against what the strategy was given: what was broken before it is not its fault.
Each yields what is wrong, in words.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import pairwise

from compactlab.sim.contract.watched import Asked
from compactlab.sim.message import Message, Part
from compactlab.sim.messages import Messages
from compactlab.sim.view import View

Rule = Callable[[Asked], Iterator[str]]


def input_unchanged(asked: Asked) -> Iterator[str]:
    """The view and the log that it was given stand as they were."""
    if not asked.intact:
        yield "the view or the log that it was given was changed"


def notes_are_json(asked: Asked) -> Iterator[str]:
    """Its notes are plain JSON, so that they can be kept and taken back."""
    try:
        same = json.loads(json.dumps(asked.notes)) == asked.notes
    except (TypeError, ValueError) as error:
        yield f"its notes are no JSON: {error}"
    else:
        if not same:
            yield f"its notes are no plain JSON: {asked.notes!r:.80}"


def provenance(asked: Asked) -> Iterator[str]:
    """Every part names messages of the log, and a verbatim one has their words."""
    said = {message.id: message for message in asked.log}
    old = {id(part) for part in _parts(asked.before)}
    for part in _parts(asked.after):
        if id(part) in old:
            continue
        strangers = [s.id for s in part.sources if s.id not in said and s.id != "system"]
        if strangers:
            yield f"a {part.kind} part comes from {strangers[0]!r}, which is not in the log"
        elif part.kind == "verbatim" and not any(
            part.text in _words(said[source.id]) for source in part.sources
        ):
            yield f"a verbatim part does not have the words of its source: {part.text!r:.60}"


def order(asked: Asked) -> Iterator[str]:
    """Messages of the log stand in its order, and none stands twice."""
    place = {id(message): n for n, message in enumerate(asked.log)}
    stood = _disorder(asked.before, place)
    stands = _disorder(asked.after, place)
    if stands and not stood:
        yield stands


def pairs(asked: Asked) -> Iterator[str]:
    """No result is left without its call, and no call without its result."""
    calls, results = _ids(asked.before, "tool_call"), _ids(asked.before, "tool_result")
    calls_left, results_left = _ids(asked.after, "tool_call"), _ids(asked.after, "tool_result")
    orphans = (results_left & calls) - calls_left
    unanswered = (calls_left & results) - results_left
    if orphans:
        yield f"the result of {min(orphans)} has lost its call"
    if unanswered:
        yield f"the call {min(unanswered)} has lost its result"


def last_user_message(asked: Asked) -> Iterator[str]:
    """What the user said last is still there, word for word."""
    last = next((m for m in reversed(asked.before.messages) if m.starts_turn), None)
    if last is None or any(message is last for message in reversed(asked.after.messages)):
        return
    words = {part.text for part in last.parts if part.text}
    there = {
        part.text
        for part in _parts(asked.after)
        if part.kind == "verbatim" and any(source.id == last.id for source in part.sources)
    }
    if words - there:
        yield f"the last message of the user, {last.id}, is gone"


def size(asked: Asked) -> Iterator[str]:
    """It never makes a view larger, but for what it caused to be said."""
    born = asked.count(View((), Messages(asked.born)))
    before, after = asked.count(asked.before), asked.count(asked.after) - born
    if after > before:
        yield f"{before} tokens became {after}"


RULES: dict[str, Rule] = {
    "input": input_unchanged,
    "notes": notes_are_json,
    "provenance": provenance,
    "order": order,
    "pairs": pairs,
    "last user message": last_user_message,
    "size": size,
}


def _parts(view: View) -> Iterator[Part]:
    yield from view.system
    for message in view.messages:
        yield from message.parts


def _words(message: Message) -> str:
    return "".join(part.text for part in message.parts)


def _ids(view: View, type: str) -> set[str]:
    return {
        part.call_id
        for message in view.messages
        for part in message.parts
        if part.type == type and part.call_id
    }


def _disorder(view: View, place: dict[int, int]) -> str:
    known = [m for m in view.messages if id(m) in place]
    for one, other in pairwise(known):
        if place[id(one)] >= place[id(other)]:
            return f"{other.id} stands after {one.id}"
    return ""
