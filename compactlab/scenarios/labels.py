"""What labels must hold: facts and needs refer to what is there."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from compactlab.sim.conversation import Fact, Need
from compactlab.sim.errors import InputError, unknown
from compactlab.sim.message import Message, Source


def check_fact(fact: Fact, messages: Mapping[str, Message], facts: Collection[str]) -> None:
    """See that all that a fact refers to is there.

    Parameters
    ----------
    fact
        The fact.
    messages
        The conversation's messages by id.
    facts
        Ids of all its facts.

    Raises
    ------
    InputError
        If a message, a part of one, a span or another fact is not.
    """
    for source in fact.origin:
        _check_source(source, messages)
    scope = "" if fact.scope == "session" else fact.scope
    for id in (fact.deleted_at, scope, fact.handle):
        require(id, messages)
    if fact.handle and messages[fact.handle].role != "tool":
        raise InputError(f"{fact.handle!r} is no result of a tool")
    for other in (*fact.supersedes, *fact.depends_on):
        if other not in facts:
            raise InputError(unknown("fact", other, facts))


def check_need(need: Need, messages: Mapping[str, Message], facts: Collection[str]) -> None:
    """See that what a need refers to is there.

    Raises
    ------
    InputError
        If there is no such fact, or no such answer.
    """
    if need.fact not in facts:
        raise InputError(unknown("fact", need.fact, facts))
    require(need.at or " ", messages)
    if messages[need.at].role != "assistant":
        raise InputError(f"{need.at!r} is no message of the assistant")


def require(id: str, messages: Mapping[str, Message]) -> None:
    """See that there is a message of an id; no id is no message.

    Raises
    ------
    InputError
        If there is none.
    """
    if id and id not in messages:
        raise InputError(unknown("message", id, messages))


def _check_source(source: Source, messages: Mapping[str, Message]) -> None:
    require(source.id or " ", messages)
    parts = messages[source.id].parts
    if not -1 <= source.part < len(parts):
        raise InputError(f"message {source.id!r} has no part {source.part}: it has {len(parts)}")
    size = len(parts[source.part].text)
    end = size if source.end == -1 else source.end
    if source.part >= 0 and not 0 <= source.start <= end <= size:
        raise InputError(
            f"part {source.part} of message {source.id!r} has no characters {source.start} to "
            f"{source.end}: it has {size}"
        )
