"""Limits of fields: declared with their types, checked in one place.

A field declares its limit, ``keep: Annotated[int, at_least(1)]``; its base class calls
:func:`check_fields` on creation. Checks across fields are in the class.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints


@dataclasses.dataclass(frozen=True)
class Limit:
    """A limit of a field: words after "must be", and a test."""

    words: str
    allows: Callable[[Any], bool]


def at_least(least: float) -> Limit:
    """Return a limit: at least a number."""
    return Limit(f"at least {least}", lambda value: value >= least)


LONGEST_WAIT = 10**7
"""The longest wait in seconds: four months. System clocks overflow some time later."""


def between(low: float, high: float) -> Limit:
    """Return a limit: a closed interval."""
    return Limit(f"between {low} and {high}", lambda value: low <= value <= high)


def finite(least: float) -> Limit:
    """Return a limit: finite, and at least a number."""
    return Limit(f"finite and at least {least}", lambda value: least <= value < math.inf)


def above(low: float, *, below: float = math.inf, up_to: float = math.inf) -> Limit:
    """Return a limit: above a number, and below or up to another."""
    words = f"below {below}" if below < up_to else f"at most {up_to}"
    return Limit(f"above {low} and {words}", lambda value: low < value < below and value <= up_to)


def check_fields(made: Any) -> None:
    """Raise if a field of a dataclass instance violates its declaration.

    A list in a tuple field becomes a tuple, as a spec may use either.

    Examples
    --------
    >>> @dataclasses.dataclass(frozen=True)
    ... class Window:
    ...     keep: Annotated[int, at_least(1)] = 10
    >>> check_fields(Window(keep=0))
    Traceback (most recent call last):
    ValueError: keep must be at least 1, not 0
    """
    tuples, limits = _declared(made.__class__)
    for name in tuples:
        object.__setattr__(made, name, _as_tuples(getattr(made, name)))
    for name, limit in limits:
        value = getattr(made, name)
        if not _allowed(value, limit):
            raise ValueError(f"{name} must be {limit.words}, not {value!r}")


@cache
def _declared(cls: type) -> tuple[list[str], list[tuple[str, Limit]]]:
    """Return the tuple fields, and the limits of all fields."""
    try:
        hints = get_type_hints(cls, include_extras=True)
    except Exception:
        # A user's class may use types that only exist for a type checker.
        return [], []
    fields = {f.name: hints[f.name] for f in dataclasses.fields(cls) if f.init}
    tuples = [
        name
        for name, hint in fields.items()
        if any(get_origin(kind) is tuple for kind in _kinds(hint))
    ]
    return tuples, [(name, limit) for name, hint in fields.items() for limit in _limits(hint)]


def _kinds(hint: Any) -> tuple[Any, ...]:
    """Return the members of a union; else the type itself."""
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _limits(hint: Any) -> Iterator[Limit]:
    if get_origin(hint) is Annotated:
        kind, *extras = get_args(hint)
        optional = NoneType in _kinds(kind)
        for limit in extras:
            if isinstance(limit, Limit):
                yield _or_none(limit) if optional else limit
    elif get_origin(hint) is Literal:
        values = get_args(hint)
        yield Limit(" or ".join(map(repr, values)), lambda value: value in values)
    elif hint == tuple[str, ...]:
        yield Limit("a tuple of texts", _are_texts)


def _or_none(limit: Limit) -> Limit:
    return Limit(limit.words, lambda value: value is None or limit.allows(value))


def _allowed(value: Any, limit: Limit) -> bool:
    try:
        return limit.allows(value)
    except TypeError:  # of an incomparable type
        return False


def _are_texts(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(each, str) for each in value)


def _as_tuples(value: Any) -> Any:
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value
