"""Specs: names of configured objects, such as `sliding_window(keep=20)`.

A spec is the snake-case name of a frozen dataclass with its fields as literals. It is used on the
command line, as the name in every report, and as the key in the store.
"""

from __future__ import annotations

import ast
import dataclasses
import re
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from compactlab.sim.core.errors import UsageError, unknown

T = TypeVar("T")

# Most characters of a spec: enough for a prompt in a field; longer specs are slow to parse.
LONGEST = 100_000


def snake_case(name: str) -> str:
    """Convert a class name to a spec's name.

    Examples
    --------
    >>> snake_case("SlidingWindow")
    'sliding_window'
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def spec_of(obj: Any, name: str = "") -> str:
    """Return the spec of a frozen dataclass: its name (or that of its class) with all fields.

    Fields marked ``field(repr=False)`` are left out.
    """
    fields = _fields(obj)
    return _write(obj, name, [f.name for f in fields], always=True)


def label_of(obj: Any) -> str:
    """Return a spec without default values."""
    fields = _fields(obj)
    named = [f.name for f in fields if getattr(obj, f.name) != f.default]
    return _write(obj, "", named, always=False)


def _fields(obj: Any) -> list[dataclasses.Field[Any]]:
    if not dataclasses.is_dataclass(obj):
        raise UsageError(f"{type(obj).__name__} {FROZEN}")
    return [f for f in dataclasses.fields(obj) if f.repr and f.init]


FROZEN = (
    "must be a frozen dataclass, as its fields are its configuration: write "
    "@dataclass(frozen=True) above the class"
)


def _write(obj: Any, name: str, fields: list[str], *, always: bool) -> str:
    inside = ", ".join(f"{field}={getattr(obj, field)!r}" for field in fields)
    name = name or snake_case(type(obj).__name__)
    return f"{name}({inside})" if inside or always else name


def parse_spec(text: str) -> tuple[str, dict[str, Any]]:
    """Split a spec into its name and its arguments."""
    if len(text) > LONGEST:
        raise UsageError(
            f"{text[:40]!r}... is too long for a spec: write at most {LONGEST:,} characters"
        )
    name, paren, rest = text.strip().partition("(")
    if not paren:
        return name, {}
    if not rest.rstrip().endswith(")"):
        raise UsageError(f"{text!r}: the closing parenthesis is missing")
    try:
        call = ast.parse(f"f({rest}", mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
            raise UsageError(f"{text!r}: write the arguments as name=value")
        names = [keyword.arg for keyword in call.keywords]
        if None in names:
            raise UsageError(f"{text!r}: write the arguments as name=value")
        if len(set(names)) < len(names):
            raise UsageError(f"{text!r}: an argument is given twice")
        return name, {str(k.arg): _value(text, str(k.arg), k.value) for k in call.keywords}
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else error
        raise UsageError(
            f"{text!r} is not a spec: {reason}; write name=value, with a number in digits alone, "
            "True, False, None, or text in quotes"
        ) from None


def _value(text: str, name: str, value: ast.expr) -> Any:
    try:
        return ast.literal_eval(value)
    except ValueError:
        code = ast.unparse(value)
        raise UsageError(
            f"{text!r}: {name}={code} is not a value: write a number, True, False, None, or text "
            f"in quotes, {name}='...'"
        ) from None


def build(cls: type[T], arguments: dict[str, Any]) -> T:
    """Build a dataclass from a spec's arguments, with errors that name field and type."""
    name = snake_case(cls.__name__)
    fields = {f.name: f for f in dataclasses.fields(cls) if f.init}  # type: ignore[arg-type]
    hints = _hints(cls)  # type: ignore[arg-type]
    for key, value in arguments.items():
        if key not in fields:
            raise UsageError(f"{name}: {unknown('field', key, fields)}")
        if not _fits(value, hints[key]):
            raise UsageError(f"{name}: {key} must be {_type_name(hints[key])}, not {value!r}")
    try:
        return cls(**arguments)
    except (ValueError, TypeError) as error:
        raise UsageError(f"{name}: {error}") from None


@cache
def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls, include_extras=True)


def _fits(value: Any, hint: Any) -> bool:
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
        # A value outside a union is refused by its limit, which gives the better message.
        return get_origin(hint) in (Union, UnionType) or _fits(value, hint)
    if get_origin(hint) in (Union, UnionType):
        return any(_fits(value, kind) for kind in get_args(hint))
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return not isinstance(hint, type) or isinstance(value, hint)


def _type_name(hint: Any) -> str:
    if get_origin(hint) is Annotated:
        return _type_name(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(map(_type_name, get_args(hint)))
    if get_origin(hint) is Literal:
        return " or ".join(map(repr, get_args(hint)))
    words = {int: "a whole number", float: "a number", bool: "True or False", str: "text"}
    return {**words, NoneType: "None"}.get(hint, getattr(hint, "__name__", str(hint)))
