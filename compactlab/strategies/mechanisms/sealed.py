"""Compaction items that nobody can read: sizes and retention that were measured, by kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from compactlab.sim.core.message import KEPT_UNSEEN, Message, Part
from compactlab.sim.replay.host import Host
from compactlab.strategies.mechanisms.stub import sources_of

Item = Literal["unknown", "project", "short", "long"]
"""The kind of item: ``unknown``, or one of :data:`MEASURED`."""


@dataclass(frozen=True)
class Measured:
    """Items of OpenAI's endpoint whose content a model was asked about."""

    tokens: int  # the mean
    kept: float  # share of the records that only the item could hold and that were told rightly


# gpt-5.6-sol, github.com/algal/pi-openai-server-compaction, benchmarks at 8a3de2f3 (2026-07-23),
# MIT; 75 exactly graded questions each. Prompts had 35,000 tokens (project) and 67,000. Items and
# questions: docs/strategies.md. Two short and two long ones, so both are examples and no law.
MEASURED = MappingProxyType(
    {
        "project": Measured(6022, 450 / 450),  # native-vs-text: six items
        "short": Measured(3562, 17 / 102),  # product-defaults, 180 records in a thousand: two
        "long": Measured(23924, 102 / 102),  # product-defaults, 200 records in a thousand: two
    }
)


def sealed(
    item: Item, written: Sequence[Part], replaced: Iterable[Message], tokens: int, host: Host
) -> Part:
    """Make a compaction item.

    Parameters
    ----------
    item
        Its kind. An unknown one has ``tokens``, and the state of what it stands for is unknown. A
        measured one has the mean size of its kind and holds each message with the kind's share.
    written
        What the summariser wrote, which an unknown item stands for.
    replaced
        The messages that a measured item stands for.
    tokens
        The size of an unknown one.
    """
    if item == "unknown":
        return Part("text", "", "opaque", sources_of(written), name="compaction", size=tokens)
    kind, rng = MEASURED[item], host.rng("what a compaction item keeps")
    sources = sources_of([part for message in replaced for part in message.parts])
    kept = tuple(source for source in sources if rng.random() < kind.kept)
    return Part("text", "", "opaque", kept, name=KEPT_UNSEEN, size=kind.tokens)


def size_of(item: Item, tokens: int) -> int:
    """Return the tokens of an item, ``tokens`` if it is unknown."""
    return tokens if item == "unknown" else MEASURED[item].tokens
