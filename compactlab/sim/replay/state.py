"""The state of a session."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import Any

from compactlab.sim.core.conversation import Compaction
from compactlab.sim.core.message import Usage
from compactlab.sim.core.view import Messages, View


@dataclass(frozen=True, slots=True)
class Compacted:
    """A compaction of the session's view in this replay."""

    before: int  # tokens of the view
    after: int
    last: str  # id of the newest message in the log at that time
    removed: bool = True  # whether there are fewer messages


@dataclass(frozen=True, slots=True)
class Recorded:
    """A compaction that the recorded agent made, and the newest message at that time."""

    compaction: Compaction
    last: str


@dataclass
class State:
    """The state of a session, which a rewind restores."""

    view: View = field(default_factory=View)
    log: Messages = field(default_factory=Messages)
    notes: list[dict[str, Any]] = field(default_factory=list)  # JSON state by strategy
    turn: View | None = None  # the view for the turn; None if there is none
    sent: View | None = None  # the last prompt sent
    heard: int = 0  # length of the log at that time
    new_turn: bool = False  # whether a user message came since
    reported: Usage | None = None  # usage of that call
    rewound: bool = False  # whether the script was rewound since
    marked: int = 0  # number of leading messages before a strategy's own cache mark
    compactions: list[Compacted] = field(default_factory=list)
    recorded: tuple[Recorded, ...] = ()

    def snapshot(self) -> State:
        """Return an independent copy."""
        notes, compactions = copy.deepcopy(self.notes), list(self.compactions)
        return replace(self, notes=notes, compactions=compactions)
