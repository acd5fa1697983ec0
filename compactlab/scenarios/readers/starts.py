"""Whether Claude Code was started anew in the middle of a session, as its transcript shows."""

from __future__ import annotations

from typing import Any

import msgspec

from compactlab.scenarios.readers import jsonl
from compactlab.scenarios.readers.script import decoder


class _Hook(msgspec.Struct, rename="camel"):
    """What a line tells of a hook that ran."""

    hook_name: Any = None


class _Progress(msgspec.Struct):
    """A line of progress that tells of a hook."""

    data: _Hook | None = None


_PROGRESS = decoder(_Progress)
# The hooks of a client that has been started anew, in the middle of a session. Other starts of a
# session are its compactions and its clearings.
_STARTS = ("SessionStart:resume", "SessionStart:startup")
_STARTED = b"SessionStart:"


class Starts:
    """Whether the client was started anew since the last answer.

    A new process makes the system prompt anew, so what a request finds again ends before it. It
    shows in one of two ways: a hook for the start of a session has run; or a person speaks after a
    finished answer, and the hooks that run when the agent stops have left no line since, though
    they did so before in this session: a client that was closed had no time to write it.
    """

    def __init__(self) -> None:
        self._anew = self._stops = self._stopped = self._finished = False

    def progress(self, data: bytes) -> None:
        """Take a line of progress, as far as it tells of a start."""
        if _STARTED in data:
            line = jsonl.decode(data, _PROGRESS)
            self.saw(line.data.hook_name if line.data else None)

    def saw(self, hook: Any) -> None:
        """Take the name of a hook that has run."""
        self._anew |= hook in _STARTS

    def stopped(self) -> None:
        """The hooks have run that run when the agent stops."""
        self._stops = self._stopped = True

    def broken_off(self) -> None:
        """The agent was interrupted: then no such hook runs."""
        self._finished = False

    def spoken(self) -> None:
        """A person has spoken."""
        self._anew |= self._finished and self._stops and not self._stopped

    def answered(self) -> bool:
        """Tell at the first line of an answer whether the client was started anew before it."""
        anew = self._anew
        self._anew = self._stopped = self._finished = False
        return anew

    def finish(self, asks: bool) -> None:
        """Take what a line of an answer says: whether it asks for a tool."""
        self._finished = not asks
