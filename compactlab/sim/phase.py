"""The moments at which a strategy can be asked."""

from __future__ import annotations

from enum import StrEnum


class Phase(StrEnum):
    """A moment in the life of a session."""

    BEFORE_TURN = "before_turn"
    """A person has spoken; the first call of the turn is about to be made."""
    BEFORE_CALL = "before_call"
    """A request is about to be made."""
    AFTER_CALL = "after_call"
    """The answer has just come; the cache is warm."""
    AFTER_TURN = "after_turn"
    """The last answer of a turn has come: it calls no tool."""
    ON_OVERFLOW = "on_overflow"
    """The prompt is larger than the window; asked once a call."""
    ON_IDLE = "on_idle"
    """Nothing has happened for a while; how long it will last is not known."""
