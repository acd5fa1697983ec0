"""What an agent has put down for later, outside of its context."""

from __future__ import annotations

from typing import Literal

import msgspec

from compactlab.sim.message import Source

# What is worth keeping before a compaction, after section 6.4.3 of the Signet specification.
Topic = Literal["decision", "user", "progress", "action"]


class Remembered(msgspec.Struct, frozen=True):
    """One note in an agent's memory.

    Parameters
    ----------
    topic
        ``decision``, what was learnt about the ``user``, ``progress`` and what blocks it, or an
        ``action`` to be taken.
    text
        What it says.
    sources
        The messages that it comes from.
    time
        When it was written, in seconds since 1970.
    """

    topic: Topic
    text: str
    sources: tuple[Source, ...]
    time: float = 0.0
