"""Type hints of fields: which values of a file they take, and how JSON Schema says so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from compactlab.cli.faults import Place, shown
from compactlab.sim.errors import UsageError

_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
_JSON = {int: "integer", float: "number", bool: "boolean", str: "string"}


def hints_of(cls: type) -> dict[str, Any]:
    """The hints of a class's fields.

    Raises
    ------
    UsageError
        If they cannot be told, as somebody's own may not.
    """
    try:
        return get_type_hints(cls)
    except Exception as error:
        raise UsageError(f"the types of {cls.__name__}'s fields cannot be told: {error}") from None


def takes_list(hint: Any) -> bool:
    """Whether a list is one value of a field.

    Examples
    --------
    >>> takes_list(tuple[str, ...]), takes_list(int), takes_list(tuple[int, int] | None)
    (True, False, True)
    """
    if get_origin(hint) in (Union, UnionType):
        return any(map(takes_list, get_args(hint)))
    kind = get_origin(hint) or hint
    return isinstance(kind, type) and kind is not str and issubclass(kind, Sequence | Set)


def misfits(value: Any, hint: Any, place: Place) -> Iterator[tuple[Place, str]]:
    """What of a value does not fit a hint, by its place.

    A hint that is of another kind than those of built-in fields takes anything; the class itself
    judges it.
    """
    if get_origin(hint) in (Union, UnionType):
        kinds = [kind for kind in get_args(hint) if kind is not NoneType]
        if all(any(misfits(value, kind, place)) for kind in kinds):
            yield place, f"must be {' or '.join(map(_word, kinds))}, not {shown(value)}"
    elif takes_list(hint):
        if isinstance(value, list):
            yield from _misfits_inside(value, get_args(hint), place)
        else:
            yield place, f"must be a list, not {shown(value)}"
    elif not _fits(value, hint):
        yield place, f"must be {_word(hint)}, not {shown(value)}"


def _misfits_inside(value: list[Any], kinds: Any, place: Place) -> Iterator[tuple[Place, str]]:
    if len(kinds) > 1 and kinds[-1] is not Ellipsis:
        if len(value) != len(kinds):
            yield place, f"must be a list of {len(kinds)}, not {shown(value)}"
            return
    else:
        kinds = (kinds[:1] or (Any,)) * len(value)
    for number, (each, kind) in enumerate(zip(value, kinds, strict=True)):
        yield from misfits(each, kind, (*place, number))


def _fits(value: Any, hint: Any) -> bool:
    if get_origin(hint) is Literal:
        return any(value == each and type(value) is type(each) for each in get_args(hint))
    if hint in (int, float):
        return isinstance(value, int | hint) and not isinstance(value, bool)
    return hint not in (bool, str) or isinstance(value, hint)


def _word(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return " or ".join(map(repr, get_args(hint)))
    return "a list" if takes_list(hint) else _WORDS.get(hint, str(hint))


def schema_of(hint: Any) -> dict[str, Any]:
    """The JSON Schema of the values that a hint takes.

    Examples
    --------
    >>> schema_of(tuple[str, float])["prefixItems"]
    [{'type': 'string'}, {'type': 'number'}]
    """
    kinds = get_args(hint)
    if get_origin(hint) is Literal:
        return {"enum": list(kinds)}
    if get_origin(hint) in (Union, UnionType):
        return {"anyOf": [schema_of(kind) for kind in kinds if kind is not NoneType]}
    if not takes_list(hint):
        return {"type": _JSON[hint]} if hint in _JSON else {}
    if len(kinds) > 1 and kinds[-1] is not Ellipsis:
        each = [schema_of(kind) for kind in kinds]
        return {"type": "array", "prefixItems": each, "minItems": len(each), "maxItems": len(each)}
    return {"type": "array", "items": schema_of(kinds[0]) if kinds else {}}
