"""Encrypted compaction items: measured sizes and retention, by kind."""

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
    """Measured items of OpenAI's endpoint: a model was asked about their content."""

    tokens: int  # the mean
    kept: float  # share of correct answers about records that only the item could hold


# gpt-5.6-sol, github.com/algal/pi-openai-server-compaction, benchmarks at 8a3de2f3 (2026-07-23),
# MIT; 75 exactly graded questions each. Prompts had 35,000 tokens (project) and 67,000. Items and
# questions: docs/strategies.md. Only two short and two long items: examples, not a law.
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
        Its kind. An unknown one has ``tokens``, and its facts have an unknown state. A measured one
        has the mean size of its kind, and holds each message with the probability of its kind.
    written
        The summary that an unknown item stands for.
    replaced
        The messages that a measured item stands for.
    tokens
        The size of an unknown item.
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
