"""In which words facts are stated, revised, taken back and closed.

There are two families, of which one is held out: whoever makes rules for finding facts may look at
the public one, and is tested on the other. Key and value stand literally in what states a fact;
with a demand or a prohibition there is a word that carries it. No sentence holds a word that a
strategy or summariser of this package looks for. Nobody says `I`, so that a sentence may be a
person's as well as the agent's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from compactlab.sim.core.conversation import FactType

Phrasing = Literal["public", "held_out"]
Polarity = Literal["is", "must", "must_not"]

POLARITY: Mapping[FactType, Polarity] = {"constraint": "must", "prohibition": "must_not"}


@dataclass(frozen=True)
class Family:
    """Templates with ``{key}``, ``{value}`` and ``{old}``, the value that was.

    Parameters
    ----------
    states
        By type of fact, how a person or the agent states it.
    shows
        How it stands in a tool's result, which says nothing of what was before.
    revises
        By polarity, how it is replaced: in some the order is said, in others it is not.
    deletes, closes
        How a fact is taken back, and how an open loop ends. The value is not said.
    """

    states: Mapping[FactType, tuple[str, ...]]
    shows: tuple[str, ...]
    revises: Mapping[Polarity, tuple[str, ...]]
    deletes: tuple[str, ...]
    closes: tuple[str, ...]


_PUBLIC = Family(
    states={
        "decision": (
            "For the {key} it will be {value}.",
            "The question of the {key} is closed: {value}.",
            "Choice for the {key}: {value}.",
        ),
        "constraint": (
            "The {key} has to read {value} on whatever goes out.",
            "It is compulsory that the {key} is {value}.",
            "{value} is to stand there as the {key}, every time.",
        ),
        "prohibition": (
            "The {key}, that is {value}, is not to be touched.",
            "Hands off the {key} ({value}): it has other owners.",
            "No edits to the {key}, {value}, by anybody here.",
        ),
        "preference": (
            "For the {key}, {value} reads best.",
            "A {key} in the manner of {value} is what people like here.",
            "{value} suits everybody as the {key}.",
        ),
        "artifact": (
            "The {key} lives at {value}.",
            "{value} holds the {key}.",
            "The {key} was written to {value}.",
        ),
        "open_loop": (
            "The {key} is waiting for an answer, reference {value}.",
            "Nobody has got back about the {key} so far, see {value}.",
            "The {key} is open under {value}.",
        ),
        "tool_detail": (
            "The run gave {value} for the {key}.",
            "{value} came out as the {key}.",
            "The {key} turned out to be {value}.",
        ),
        "entity": (
            "The {key} belongs to {value}.",
            "{value} looks after the {key}.",
            "Behind the {key} stands {value}.",
        ),
        "procedure": (
            "The way to run the {key} is `{value}`.",
            "`{value}` starts the {key}.",
            "The {key} goes like this: `{value}`.",
        ),
        "goal": (
            "The {key} aims at {value}.",
            "{value} is what the {key} is meant to reach.",
            "All this serves the {key}: {value}.",
        ),
    },
    shows=("{key}: {value}", "{key} = {value}", "found {key} at {value}", "{key} is {value}"),
    revises={
        "is": (
            "The {key} is now {value}, no longer {old}.",
            "The {key} changed from {old} to {value}.",
            "Make the {key} {value}.",
            "{value} is right for the {key}.",
        ),
        "must": (
            "The {key} was {old} and now has to be {value}.",
            "The {key} changed from {old} and has to be {value}.",
            "Make the {key} {value}, it has to say that.",
        ),
        "must_not": (
            "The {key} is now {value}, no longer {old}; it is not to be touched.",
            "The {key} changed from {old} to {value}, and is not to be touched.",
            "Hands off {value}: that is the {key}.",
        ),
    },
    deletes=(
        "What was said about the {key} does not hold any more.",
        "The {key} is withdrawn.",
        "Strike the {key}, nothing takes its place.",
    ),
    closes=(
        "An answer about the {key} is here, that one is closed.",
        "The {key} came back and can be ticked off.",
        "Nothing is open about the {key} any more.",
    ),
)

_HELD_OUT = Family(
    states={
        "decision": (
            "On the {key}, {value} wins.",
            "{value} it is for the {key}.",
            "The vote on the {key} came out as {value}.",
        ),
        "constraint": (
            "Whatever leaves this house, its {key} needs to be {value}.",
            "At all times the {key} is {value}.",
            "{value} ought to appear as the {key}, whoever asks.",
        ),
        "prohibition": (
            "{value}, the {key}, is off limits.",
            "Steer clear of the {key}: {value} is under seal.",
            "The {key} at {value} is taboo.",
        ),
        "preference": (
            "The taste here runs to {value} for the {key}.",
            "The {key} looks nicest as {value}.",
            "Given a choice of {key}, {value} is the favourite.",
        ),
        "artifact": (
            "You find the {key} under {value}.",
            "{value} is where the {key} went.",
            "As to the {key}, look into {value}.",
        ),
        "open_loop": (
            "There is silence so far on the {key}, filed as {value}.",
            "The {key} hangs in the air; its slip says {value}.",
            "{value}, about the {key}, is pending.",
        ),
        "tool_detail": (
            "Measured: the {key} is {value}.",
            "As {key}, {value} showed up.",
            "The screen says {value} for the {key}.",
        ),
        "entity": (
            "The {key} is in the hands of {value}.",
            "{value} runs the {key}.",
            "Ask {value} about the {key}.",
        ),
        "procedure": (
            "Type `{value}` for the {key}.",
            "A {key} takes `{value}`.",
            "The {key} is launched by `{value}`.",
        ),
        "goal": (
            "In the end the {key} is there for {value}.",
            "Success on the {key} means {value}.",
            "The finish line of the {key} is {value}.",
        ),
    },
    shows=("<{key}> {value}", "{value} ({key})", "[{key}] {value}", "{key} | {value}"),
    revises={
        "is": (
            "{value} replaces {old} as the {key}.",
            "What used to be {old} is {value}: the {key}.",
            "Take {value} for the {key}.",
            "As {key}, write {value}.",
        ),
        "must": (
            "{value} replaces {old} as the {key}, and is compulsory.",
            "The {key} used to be {old}; it needs to be {value}.",
            "Take {value} for the {key}, at all times.",
        ),
        "must_not": (
            "{value} replaces {old} as the {key}, and is off limits.",
            "The {key} used to be {old}; {value} is taboo.",
            "Steer clear of {value}, the {key}.",
        ),
    },
    deletes=(
        "What you heard about the {key} is void.",
        "The {key} is off the table for good.",
        "Disregard the {key} from here on.",
    ),
    closes=(
        "That matter of the {key} is over.",
        "The {key} has been dealt with.",
        "Case closed on the {key}.",
    ),
)

FAMILIES: Mapping[Phrasing, Family] = {"public": _PUBLIC, "held_out": _HELD_OUT}
