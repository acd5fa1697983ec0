"""In which words facts are stated, revised, taken back and closed.

There are two families, of which one is held out: whoever makes rules for finding facts may look at
the public one, and is tested on the other. Key and value stand literally in what states a fact;
with a demand or a prohibition there is a word that carries it. No sentence holds a word that a
strategy or summariser of this package looks for. Nobody says `I`, so that a sentence may be a
person's as well as the agent's.
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

# Of rules, which come in as many demands as prohibitions.
POLARITY: Mapping[FactType, Polarity] = {"constraint": "must", "prohibition": "must_not"}


def polarity_of(kind: FactType) -> Polarity:
    """Whether facts of a type state, demand, forbid or ask something."""
    return "asks" if kind == "proposal" else POLARITY.get(kind, "is")


class Family(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Templates with ``{key}``, ``{value}`` and ``{old}``, the value that was."""

    states: Mapping[FactType, tuple[str, ...]]  # how a person or the agent states it
    shows: tuple[str, ...]  # how it stands in a tool's result
    revises: Mapping[Polarity, tuple[str, ...]]  # some say the order; what asks is not revised
    # How a fact is taken back, and how an open loop ends. The value is not said.
    deletes: tuple[str, ...]
    closes: tuple[str, ...]


class Phrases(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All of ``phrases.toml``."""

    says: Mapping[FactType, tuple[str, ...]]  # how the agent uses one: its value, without its key
    public: Family
    held_out: Family

    def family(self, phrasing: Phrasing) -> Family:
        """The family of a name."""
        return self.held_out if phrasing == "held_out" else self.public


@cache
def phrases() -> Phrases:
    """All phrases, read once."""
    data = Path(__file__).with_suffix(".toml").read_bytes()
    return msgspec.toml.decode(data, type=Phrases)
