"""A cache of values that are computed once per conversation, for all its replays."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

_Source = TypeVar("_Source")
_More = ParamSpec("_More")
_Made = TypeVar("_Made")


def keep_latest(
    make: Callable[Concatenate[_Source, _More], _Made],
) -> Callable[Concatenate[_Source, _More], _Made]:
    """Cache the results of a function for the last object that it was called with.

    Objects are compared by identity: an equal conversation has different messages. The other
    arguments must be hashable and positional.

    Examples
    --------
    >>> @keep_latest
    ... def doubled(numbers):
    ...     return numbers * 2
    >>> one = [1]
    >>> doubled(one) is doubled(one), doubled([1]) is doubled(one)
    (True, False)
    """
    latest: list[_Source] = []
    results: dict[object, _Made] = {}

    @wraps(make)
    def kept(source: _Source, /, *more: _More.args, **named: _More.kwargs) -> _Made:
        if not latest or latest[0] is not source:
            latest[:] = [source]
            results.clear()
        if more not in results:
            results[more] = make(source, *more, **named)
        return results[more]

    return kept
