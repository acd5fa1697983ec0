"""The same conversation with other values. A library for ``validate_laws``; it is no script.

A value is renamed so that every text that holds it has as many characters and as many tokens as
before: digits become other digits, and words without digits change places.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from compactlab import Conversation, Message, Part
from compactlab.sim.core.conversation import Fact
from compactlab.sim.core.stream import stream

_TRIES = 200


def renamed(
    conversation: Conversation, count: Callable[[str], int]
) -> tuple[Conversation, list[str]]:
    """Rename all values, wherever they stand.

    Parameters
    ----------
    conversation
        The script.
    count
        Counts the tokens of a text.

    Returns
    -------
    tuple
        The other script, and the values for which there was no other of equal length.
    """
    texts = [part.text for message in conversation.messages for part in message.parts]
    texts = list(dict.fromkeys((*texts, *(part.text for part in conversation.system))))
    spellings = dict.fromkeys(v for f in conversation.facts for v in (f.value, *f.variants))
    changes: dict[str, str] = {}
    kept: list[str] = []
    # What follows from a fact may have its value in its own: it is renamed with it.
    for value in sorted(spellings, key=len):
        if _put(value, changes) != value:
            continue
        held = [_put(text, changes) for text in texts if value in text]
        other = next(
            (each for each in _others(value, conversation.seed) if _fits(value, each, held, count)),
            None,
        )
        if other is None:
            kept.append(value)
        else:
            changes[value] = other
    return _with(conversation, changes), kept


def _fits(value: str, other: str, texts: list[str], count: Callable[[str], int]) -> bool:
    return all(count(text.replace(value, other)) == count(text) for text in texts)


def _others(value: str, seed: int) -> Iterator[str]:
    """Yield values of equal length."""
    dice = stream(seed, "renamed", value)
    for _ in range(_TRIES):
        other = _redrawn(value, dice)
        if other != value:
            yield other


def _redrawn(value: str, dice: random.Random) -> str:
    if any(character.isdigit() for character in value):
        return "".join(str(dice.randrange(10)) if c.isdigit() else c for c in value)
    words = value.split("-")
    dice.shuffle(words)
    return "-".join(words)


def _put(text: str, changes: dict[str, str]) -> str:
    for value, other in changes.items():
        text = text.replace(value, other)
    return text


def _with(conversation: Conversation, changes: dict[str, str]) -> Conversation:
    def part(each: Part) -> Part:
        return replace(each, text=_put(each.text, changes))

    def fact(each: Fact) -> Fact:
        variants = tuple(_put(variant, changes) for variant in each.variants)
        return replace(each, value=_put(each.value, changes), variants=variants)

    events = tuple(
        replace(event, parts=tuple(map(part, event.parts))) if isinstance(event, Message) else event
        for event in conversation.events
    )
    return dataclasses.replace(
        conversation,
        events=events,
        system=tuple(map(part, conversation.system)),
        facts=tuple(map(fact, conversation.facts)),
    )
