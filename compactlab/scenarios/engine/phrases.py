"""The phrases in which facts are stated, revised, withdrawn and closed.

There are two families, one of them held out: rules for finding facts may be written with the public
one and are tested on the other. A statement contains key and value literally. A demand or
prohibition contains a word that marks it. No sentence contains a word that a strategy or summariser
of this package searches for. No sentence says `I`, so that both a person and the agent can say it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from compactlab.sim.core.conversation import FactType

Phrasing = Literal["public", "held_out"]
Polarity = Literal["is", "must", "must_not", "asks"]

# Types of rules, with as many demands as prohibitions.
POLARITY: Mapping[FactType, Polarity] = {"constraint": "must", "prohibition": "must_not"}


def polarity_of(kind: FactType) -> Polarity:
    """Return whether facts of a type state, demand, forbid or ask something."""
    return "asks" if kind == "proposal" else POLARITY.get(kind, "is")


class Family(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Templates with ``{key}``, ``{value}`` and ``{old}``, the previous value."""

    states: Mapping[FactType, tuple[str, ...]]  # a person or the agent states a fact
    shows: tuple[str, ...]  # a tool's result states a fact
    revises: Mapping[Polarity, tuple[str, ...]]  # questions are not revised
    # Phrases that withdraw a fact or close an open loop, without its value.
    deletes: tuple[str, ...]
    closes: tuple[str, ...]


class Phrases(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The contents of ``phrases.toml``."""

    says: Mapping[FactType, tuple[str, ...]]  # the agent uses a fact: its value without its key
    public: Family
    held_out: Family

    def family(self, phrasing: Phrasing) -> Family:
        """Return the family of this name."""
        return self.held_out if phrasing == "held_out" else self.public


@cache
def phrases() -> Phrases:
    """Return all phrases, read once."""
    data = Path(__file__).with_suffix(".toml").read_bytes()
    return msgspec.toml.decode(data, type=Phrases)
