"""Detects restarts of Claude Code within a session, from its transcript."""

from __future__ import annotations

from typing import Any

import msgspec

from compactlab.scenarios.readers import jsonl
from compactlab.scenarios.readers.script import decoder


class _Hook(msgspec.Struct, rename="camel"):
    """The data of a line about a hook."""

    hook_name: Any = None


class _Progress(msgspec.Struct):
    """A line of progress that names a hook."""

    data: _Hook | None = None


_PROGRESS = decoder(_Progress)
# The hook events of a client that was restarted within a session. Other session starts are
# compactions and clearings.
_STARTS = ("SessionStart:resume", "SessionStart:startup")
_STARTED = b"SessionStart:"


class Starts:
    """Whether the client was restarted since the last answer.

    A new process builds the system prompt anew, so that the cached prefix of a request ends before
    it. There are two signs: a session-start hook has run; or the user speaks after a finished
    answer, and the stop hooks have left no line, although they did so earlier in this session,
    because a closed client had no time to write it.
    """

    def __init__(self) -> None:
        self._anew = self._stops = self._stopped = self._finished = False

    def progress(self, data: bytes) -> None:
        """Take a line of progress, if it is about a start."""
        if _STARTED in data:
            line = jsonl.decode(data, _PROGRESS)
            self.saw(line.data.hook_name if line.data else None)

    def saw(self, hook: Any) -> None:
        """Take the name of a hook that has run."""
        self._anew |= hook in _STARTS

    def stopped(self) -> None:
        """Note that the stop hooks have run."""
        self._stops = self._stopped = True

    def broken_off(self) -> None:
        """Note that the agent was interrupted; then no stop hook runs."""
        self._finished = False

    def spoken(self) -> None:
        """Note that a person has spoken."""
        self._anew |= self._finished and self._stops and not self._stopped

    def answered(self) -> bool:
        """At the first line of an answer, return whether the client was restarted before it."""
        anew = self._anew
        self._anew = self._stopped = self._finished = False
        return anew

    def finish(self, asks: bool) -> None:
        """Take a line of an answer: whether it calls a tool."""
        self._finished = not asks
