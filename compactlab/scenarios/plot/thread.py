"""A fact in the making."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from compactlab.scenarios.plot.domain import Voice
from compactlab.scenarios.plot.phrases import POLARITY
from compactlab.sim.conversation import Fact, FactType
from compactlab.sim.message import Source


@dataclass(eq=False)
class Thread:
    """A fact in the making: when it is to be stated, and what becomes of it.

    Parameters
    ----------
    kind, key, thing, value, voice
        What it is, of what it is one, and who states it.
    turn
        Of a user's: the turn, from 0.
    place
        After so many tokens it is stated; of a user's, where its turn begins.
    old, parent
        The fact that it replaces, and that it follows from.
    newer
        The fact that replaces it.
    ends
        After so many tokens it does not hold any more.
    dropped
        Turn in which it is taken back or, of an open loop, closed; -1 if it is not.
    restated
        Turns in which the user says it again, in other words, if it holds by then.
    branch
        On which branch of the conversation it is stated; 0 for the one that is never abandoned.
    tried
        What replaces it on other branches.
    told, gone
        Whether it has been stated, and taken back, on the way to where the conversation is now.
    """

    kind: FactType
    key: str
    thing: str
    value: str
    voice: Voice
    turn: int
    place: float
    ends: float
    old: Thread | None = None
    parent: Thread | None = None
    newer: Thread | None = None
    dropped: int = -1
    id: str = ""
    origin: list[Source] = field(default_factory=list)
    handle: str = ""
    gone_at: str = ""
    restated: tuple[int, ...] = ()
    branch: int = 0
    tried: list[Thread] = field(default_factory=list)
    told: bool = False
    gone: bool = False

    @property
    def holds(self) -> bool:
        """Whether it has been stated, and neither replaced nor taken back, on the way to here."""
        replaced = self.newer is not None and self.newer.told
        return self.told and not (replaced or self.gone or any(each.told for each in self.tried))

    def found_on(self, path: Collection[str]) -> None:
        """Go to where other messages have been said."""
        self.told = any(source.id in path for source in self.origin)
        self.gone = self.gone_at in path

    def fact(self) -> Fact:
        """The fact that has become of it."""
        closed = self.gone_at if self.kind == "open_loop" else ""
        return Fact(
            self.id,
            self.kind,
            self.key,
            self.value,
            origin=tuple(self.origin),
            polarity=POLARITY.get(self.kind, "is"),
            supersedes=(self.old.id,) if self.old else (),
            depends_on=(self.parent.id,) if self.parent else (),
            deleted_at="" if closed else self.gone_at,
            scope=closed or "session",
            handle=self.handle,
        )
