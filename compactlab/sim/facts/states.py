"""In which state each fact is."""

from __future__ import annotations

from typing import NamedTuple

STATES = (
    "verbatim",
    "conflict",
    "intact",
    "stale",
    "mutated",
    "retrievable",
    "unknown",
    "lost",
)


class States(NamedTuple):
    """The state of every fact in a prompt: exactly one, of the first that applies.

    After the project's notes on metrics, section 4. Each field is a set of facts as bits.

    Parameters
    ----------
    verbatim
        A piece that states it stands there as it was said.
    conflict
        Where nothing is verbatim, its value and an older one are both said, and no word tells
        which is the newer.
    intact
        Key, value and polarity stand near each other.
    stale
        Only an older value is there.
    mutated
        Its key is there, without its value or without its polarity.
    retrievable
        Nothing of it is there but a way to fetch it: the call of a tool, a pointer to a file that
        holds it, a note in memory.
    unknown
        What came from it is there as tokens without text.
    lost
        None of these.
    """

    verbatim: int = 0
    conflict: int = 0
    intact: int = 0
    stale: int = 0
    mutated: int = 0
    retrievable: int = 0
    unknown: int = 0
    lost: int = 0

    @property
    def kept(self) -> int:
        """Those that the agent can use as they are: verbatim or intact."""
        return self.verbatim | self.intact

    def of(self, fact: int) -> str:
        """The state of one fact, by its number."""
        for name, facts in zip(self._fields, self, strict=True):
            if facts >> fact & 1:
                return name
        return "lost"
