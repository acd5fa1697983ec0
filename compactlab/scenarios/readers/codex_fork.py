"""The part of a Codex rollout that repeats the thread it was forked from."""

from __future__ import annotations

import re
from typing import Any

# The parent's lines are copied within some milliseconds; an answer takes longer than this.
COPIED_WITHIN = 1.0  # seconds
_UUID_7 = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


class Fork:
    """Whether lines are a fork's own: its file begins with a copy of its parent's lines.

    The copy has the headers of all ancestors, and most versions write it with the time of the fork
    (ccusage#1370). Four signs mark its end, the most reliable first: the header contains the
    ordinal of the first own line; a record names its thread; the ids of turns contain their start
    (UUID 7), as the thread's does; the times of lines are later than the copying.
    """

    def __init__(self) -> None:
        self.id = self.parent = ""
        self.root = ""  # the oldest known ancestor
        self.inherited = False  # whether the newest line is a copy of the parent's
        self._time = 0.0
        self._first_own: int | None = None
        self._dated = False  # whether ids of turns contain times

    def open(self, id: str, parent: str, time: float, first_own: int | None, copied: bool) -> None:
        """Take the file's own header; ``copied`` if lines of the parent may follow."""
        self.id, self.parent, self.root = id, parent, parent or id
        self.inherited = copied and (bool(parent) or (first_own or 0) > 1)
        self._time, self._first_own = time, first_own

    def pass_header(self, id: str, parent: str) -> None:
        """Take another header: of the parent, then of the parent's parent."""
        if self.inherited:
            self.root = parent or id or self.root

    def pass_line(self, time: float, ordinal: int | None, turn: str | None, thread: str) -> None:
        """Take the position of the next line, and the turn and thread that it names."""
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
    """Read a number, which some versions write as text.

    Examples
    --------
    >>> number_of("24"), number_of(3), number_of(None)
    (24, 3, None)
    """
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value[:18])
    return value if type(value) is int else None


def _milliseconds(id: str | None) -> int:
    """Return the creation time in an id, in milliseconds since 1970; 0 if there is none."""
    match = _UUID_7.fullmatch(id or "")
    return int(match[1] + match[2], 16) if match else 0
