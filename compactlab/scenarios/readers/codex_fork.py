"""What a rollout of Codex repeats of the thread that it was forked from."""

from __future__ import annotations

import re
from typing import Any

# The lines of the parent are copied within some milliseconds, and an answer takes longer than this.
COPIED_WITHIN = 1.0  # seconds
_UUID_7 = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


class Fork:
    """Whose lines these are: a fork's file begins with a copy of its parent's.

    The copy has the headers of all ancestors, and most versions write it with the time of the fork
    (ccusage#1370). Its end shows in one of four ways, the surest first: the header says at which
    ordinal the own lines begin; a record names the thread that it is of; turns have ids that tell
    when they began (UUID 7), as the thread has; the times of lines are later than the copying.
    """

    def __init__(self) -> None:
        self.id = self.parent = ""
        self.root = ""  # the oldest ancestor that is known
        self.inherited = False  # whether the newest line is one of the parent's
        self._time = 0.0
        self._first_own: int | None = None
        self._dated = False  # whether turns tell when they began

    def open(self, id: str, parent: str, time: float, first_own: int | None, copied: bool) -> None:
        """Take the file's own header; ``copied`` if lines of the parent may follow it."""
        self.id, self.parent, self.root = id, parent, parent or id
        self.inherited = copied and (bool(parent) or (first_own or 0) > 1)
        self._time, self._first_own = time, first_own

    def pass_header(self, id: str, parent: str) -> None:
        """Take another header: of the parent, then of the parent's parent."""
        if self.inherited:
            self.root = parent or id or self.root

    def pass_line(self, time: float, ordinal: int | None, turn: str | None, thread: str) -> None:
        """Take where the next line stands, and the turn and the thread that it names."""
        if not self.inherited:
            return
        if self._first_own is not None and ordinal is not None:
            self.inherited = ordinal < self._first_own
        elif thread:
            self.inherited = thread != self.id
        elif (began := _milliseconds(turn)) and (forked := _milliseconds(self.id)):
            self._dated = True
            self.inherited = began < forked
        elif not self._dated:
            self.inherited = not self._time or time <= self._time + COPIED_WITHIN


def number_of(value: Any) -> int | None:
    """A number, which some versions write as a text.

    Examples
    --------
    >>> number_of("24"), number_of(3), number_of(None)
    (24, 3, None)
    """
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value[:18])
    return value if type(value) is int else None


def _milliseconds(id: str | None) -> int:
    """When an id was made, in milliseconds since 1970; 0 if it does not tell."""
    match = _UUID_7.fullmatch(id or "")
    return int(match[1] + match[2], 16) if match else 0
