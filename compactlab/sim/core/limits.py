"""Limits of fields: declared beside their types, checked in one place.

A field says what it may be, ``keep: Annotated[int, at_least(1)]``; its base class asks
:func:`check_fields` whenever one is made. What concerns several fields at once stays with the
class.
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
    """What a field must be, in words that follow "must be", and whether a value is that."""

    words: str
    allows: Callable[[Any], bool]


def at_least(least: float) -> Limit:
    """A number that is no smaller."""
    return Limit(f"at least {least}", lambda value: value >= least)


LONGEST_WAIT = 10**7
"""Seconds that anything may be waited for: four months. Clocks of systems end some time later."""


def between(low: float, high: float) -> Limit:
    """A number from one to another, both among them."""
    return Limit(f"between {low} and {high}", lambda value: low <= value <= high)


def finite(least: float) -> Limit:
    """A number that is no smaller, and not infinite."""
    return Limit(f"finite and at least {least}", lambda value: least <= value < math.inf)


def above(low: float, *, below: float = math.inf, up_to: float = math.inf) -> Limit:
    """A number above one, and below or up to another."""
    words = f"below {below}" if below < up_to else f"at most {up_to}"
    return Limit(f"above {low} and {words}", lambda value: low < value < below and value <= up_to)


def check_fields(made: Any) -> None:
    """Refuse an instance of a dataclass whose fields are not what they are declared to be.

    A list becomes a tuple where a field is one, as a spec may write either.

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
    """The fields that are tuples, and the limits of all fields."""
    try:
        hints = get_type_hints(cls, include_extras=True)
    except Exception:
        # Somebody's own class may name types that exist for a type checker alone.
        return [], []
    fields = {f.name: hints[f.name] for f in dataclasses.fields(cls) if f.init}
    tuples = [
        name
        for name, hint in fields.items()
        if any(get_origin(kind) is tuple for kind in _kinds(hint))
    ]
    return tuples, [(name, limit) for name, hint in fields.items() for limit in _limits(hint)]


def _kinds(hint: Any) -> tuple[Any, ...]:
    """The kinds of a union; else the kind itself."""
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
    except TypeError:  # of another kind, which nothing can be compared with
        return False


def _are_texts(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(each, str) for each in value)


def _as_tuples(value: Any) -> Any:
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value
