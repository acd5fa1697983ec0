"""What a session has come to."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import Any

from compactlab.sim.core.conversation import Compaction
from compactlab.sim.core.message import Usage
from compactlab.sim.core.view import Messages, View


@dataclass(frozen=True, slots=True)
class Compacted:
    """A compaction of the session's view that has happened in this replay."""

    before: int  # tokens of the view
    after: int
    last: str  # id of the newest message in the log at that time


@dataclass(frozen=True, slots=True)
class Recorded:
    """A compaction that the recorded agent made, and the newest message at that time."""

    compaction: Compaction
    last: str


@dataclass
class State:
    """What a session has come to, and a rewind takes back."""

    view: View = field(default_factory=View)
    log: Messages = field(default_factory=Messages)
    notes: list[dict[str, Any]] = field(default_factory=list)  # of each strategy its JSON state
    turn: View | None = None  # holds for the turn; None where none does
    sent: View | None = None  # the prompt that was sent last
    heard: int = 0  # how much of the log had been said by then
    new_turn: bool = False  # whether a person has spoken since
    reported: Usage | None = None  # usage of that call
    rewound: bool = False  # whether the script has gone back since
    marked: int = 0  # so many leading messages end at a cache mark of a strategy's own
    compactions: list[Compacted] = field(default_factory=list)
    recorded: tuple[Recorded, ...] = ()

    def snapshot(self) -> State:
        """A copy that nothing changes any more."""
        notes, compactions = copy.deepcopy(self.notes), list(self.compactions)
        return replace(self, notes=notes, compactions=compactions)
