"""What comes to be in a replay beside the script and beside the prompt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from compactlab.sim.errors import InputError
from compactlab.sim.message import Message
from compactlab.sim.messages import Messages
from compactlab.sim.session import Session
from compactlab.sim.side_calls import SideCalls
from compactlab.sim.strategy import Strategy
from compactlab.sim.trace import NOWHERE, Outside


@dataclass
class Elsewhere:
    """Messages that were born, notes in memory, and what strategies have put away.

    Parameters
    ----------
    parts
        The strategies.
    session
        What they work on.
    side
        Where extra turns are made.
    """

    parts: tuple[Strategy, ...]
    session: Session
    side: SideCalls
    _born: list[Message] = field(default_factory=list)
    _outside: Outside = NOWHERE
    _handles: set[str] = field(default_factory=set)
    _notes: int = 0
    _seen: Messages = field(default_factory=Messages)

    def __post_init__(self) -> None:
        self.session.host._fetch = self.fetch
        self._fetching = tuple(p for p in self.parts if type(p).fetch is not Strategy.fetch)

    def look(self) -> tuple[tuple[Message, ...], Outside]:
        """What is new since it was last looked."""
        host, side = self.session.host, self.side
        stored = tuple(self._stored()) if self._fetching else ()
        if not side.turns and len(host.memory) == self._notes and not stored:
            return (), NOWHERE
        turns, side.turns = tuple(side.turns), []
        new = Outside(tuple(host.memory[self._notes :]), stored)
        self._notes = len(host.memory)
        self._born += turns
        before = self._outside
        self._outside = Outside((*before.notes, *new.notes), (*before.stored, *new.stored))
        return turns, new

    def bear(self, message: Message) -> None:
        """A message was born in the replay."""
        self._born.append(message)

    def taken(self) -> tuple[tuple[Message, ...], Outside]:
        """What is new since it was last taken."""
        born, outside = tuple(self._born), self._outside
        if born:
            self._born = []
        self._outside = NOWHERE
        return born, outside

    def fetch(self, handle: str) -> str:
        """What a handle leads to, from the strategy that knows it."""
        found = self._found(handle)
        if found is None:
            raise InputError(f"nobody has put anything away under {handle!r}")
        return found

    def _found(self, handle: str) -> str | None:
        refused: InputError | None = None
        for part in self._fetching:
            try:
                found = part.fetch(handle, self.session.host)
            except InputError as error:
                refused = error
                continue
            if found is not None:
                return found
        if refused is not None:
            raise refused
        return None

    def _stored(self) -> Iterator[tuple[str, str]]:
        """What can be fetched by the handles that have come into the session's view.

        A path that is only named, as of a file that was read, leads nowhere here: no replay opens
        a file.
        """
        view = self.session.state.view.messages
        _, come = self._seen.difference(view)
        self._seen = view
        for message in come:
            for part in message.parts:
                if part.handle and part.handle not in self._handles:
                    self._handles.add(part.handle)
                    found = self._found(part.handle)
                    if found is not None:
                        yield part.handle, found
