"""Time stamps in logs, in seconds since 1970."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


class Moment(float):
    """Seconds since 1970, from a time stamp of a format."""


def decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    """Return a decoder from JSON to a structure, with times in seconds."""
    return msgspec.json.Decoder(kind, dec_hook=_read_moment)


def converted(value: Any, kind: type[T]) -> T:
    """Convert a value to a structure, with times in seconds."""
    return msgspec.convert(value, kind, dec_hook=_read_moment)


def seconds(when: Moment | None) -> float:
    """Return seconds since 1970; 0 if unknown."""
    return 0.0 if when is None else float(when)


def time_of(stamp: Any) -> float:
    """Convert a stamp in text or milliseconds to seconds since 1970; 0 if it is neither.

    Examples
    --------
    >>> time_of(1793527200000) == time_of("2026-11-01T10:00:00Z"), time_of(None)
    (True, 0.0)
    """
    if isinstance(stamp, str):
        try:
            return since_1970(stamp)
        except (ValueError, OverflowError):
            return 0.0
    number = isinstance(stamp, int | float) and not isinstance(stamp, bool)
    return stamp / 1000 if number and 0 <= stamp <= _LATEST else 0.0


def _read_moment(kind: type, stamp: Any) -> Moment:
    try:
        return Moment(since_1970(msgspec.convert(stamp, str)))
    except msgspec.ValidationError as error:
        # msgspec adds the position to all errors but its own.
        raise ValueError(str(error)) from None


def since_1970(stamp: str) -> float:
    """Convert a time stamp to seconds since 1970; without a zone it is taken as UTC.

    A leap second (60) is read as the start of the next minute.

    Examples
    --------
    >>> since_1970("2016-12-31T23:59:60.5Z") == since_1970("2017-01-01T00:00:00Z")
    True
    """
    whole, leaps = _LEAP.subn(":59", stamp) if ":60" in stamp else (stamp, 0)
    time = msgspec.convert(whole, datetime)
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() + leaps


_LATEST = 253_402_300_799_000  # milliseconds: the end of the year 9999
_LEAP = re.compile(r"(?<=[Tt ]\d\d:\d\d):60(?:\.\d+)?")
