"""Strategies by name: built in, from an installed package, or from a file."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from contextlib import suppress
from functools import cache, partial

import compactlab.strategies as built_in
from compactlab.sim.core.errors import UsageError, unknown
from compactlab.sim.core.isolation import PACKAGE
from compactlab.sim.core.loading import class_at, with_source
from compactlab.sim.core.plugins import installed, loaded
from compactlab.sim.core.spec import FROZEN, build, parse_spec, snake_case
from compactlab.sim.experiment.foreign import Foreign
from compactlab.sim.replay.strategy import Pipeline, Strategy
from compactlab.strategies.program.exec import Exec
from compactlab.strategies.summarizers.catalogue import forget as forget_summarizers

KIND = "strategies"
EXEC = "exec"
"""The strategy that runs a program: it has no default, and so is not among the others."""
# Its one argument that everybody gives need not be named.
_COMMAND = re.compile(rf"\A(\s*{EXEC}\()\s*(?=['\"])")
_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)


@cache
def strategies() -> dict[str, type[Strategy]]:
    """All strategies that are built in or installed, by name.

    A built-in name wins over an installed one. What cannot be loaded is not among them; who names
    it is told why.
    """
    others: dict[str, type[Strategy]] = {}
    for name, point in installed(KIND).items():
        with suppress(UsageError):
            others[name] = loaded(point, check_class)
    return others | _ours()


@cache
def _ours() -> dict[str, type[Strategy]]:
    return {snake_case(name): getattr(built_in, name) for name in built_in.__all__}


def check_class(name: str, cls: object) -> type[Strategy]:
    """A class, if it is one of a strategy that can be named by its fields; else a UsageError."""
    if not (inspect.isclass(cls) and issubclass(cls, Strategy)):
        raise UsageError(f"{name} is no strategy: it must subclass compactlab.Strategy")
    if inspect.isabstract(cls):
        raise UsageError(f"{name} is not finished: it has no method compact(self, view, host)")
    parameters = getattr(cls, "__dataclass_params__", None)
    if parameters is None or not parameters.frozen:
        raise UsageError(f"{name} {FROZEN}")
    return cls


def find_strategy(text: str) -> Strategy:
    """Build the strategy, or the pipeline, that a text names.

    Parameters
    ----------
    text
        A spec, ``sliding_window(keep=20)``; several with plus signs between them; the name of a
        strategy may be that of a class, ``path/to/file.py:Class`` or ``module:Class``.

    Raises
    ------
    UsageError
        If a name is unknown, or an argument does not fit.

    Examples
    --------
    >>> find_strategy("sliding_window(keep=5)").spec
    'sliding_window(keep=5)'
    >>> find_strategy("auto_compact + context_recovery(messages=4)").parts[1].messages
    4
    """
    return _piped(map(_one, _split(text)))


def known_strategy(text: str) -> Strategy:
    """The strategy, or the pipeline, that a text names, without loading code that is not ours.

    Of such code a process of its own says what it is, and others will run it.
    """
    return _piped(
        _known(step) if is_foreign_name(parse_spec(step)[0]) else _one(step)
        for step in _split(text)
    )


def is_foreign_name(name: str) -> bool:
    """Whether the name of a strategy leads to code that is not ours.

    Examples
    --------
    >>> is_foreign_name("keep_all"), is_foreign_name("own.py:Mine")
    (False, True)
    """
    if ":" in name:
        return not name.startswith(f"{PACKAGE}.")
    if name == EXEC:
        return True
    return name not in _ours() and name in installed(KIND)


def code_in(text: str) -> str:
    """What of a spec or a pipeline is code to be started: a program, or a class by its place.

    Installed packages are not among it: whoever installed them chose them.

    Examples
    --------
    >>> code_in("keep_all + own.py:Mine(keep=3)"), code_in("exec('node mine.mjs')")
    ('own.py:Mine', 'exec')
    >>> code_in("keep_all")
    ''
    """
    names = (parse_spec(step)[0] for step in _split(text))
    code = (name for name in names if name == EXEC or (":" in name and is_foreign_name(name)))
    return next(code, "")


def _piped(parts: Iterable[Strategy]) -> Strategy:
    steps = tuple(parts)
    return steps[0] if len(steps) == 1 else Pipeline(steps)


def _known(text: str) -> Foreign:
    return with_source(text, _asked)


@cache
def _asked(text: str, source: bytes | None) -> Foreign:
    return Foreign.known(parse_spec(text)[0], partial(_one, text, source))


def forget() -> None:
    """Ask code that is not ours again what it is: what it imports may have changed meanwhile."""
    _asked.cache_clear()
    forget_summarizers()


def _one(text: str, source: bytes | None = None) -> Strategy:
    name, arguments = parse_spec(text)
    return build(find_class(name, source), arguments)


def find_class(name: str, source: bytes | None = None) -> type[Strategy]:
    """Find the class of a strategy."""
    if name.endswith(".py"):
        raise UsageError(f"{name}: name the class, too, as in {name}:MyIdea")
    if ":" not in name:
        known = strategies()
        if name == EXEC:
            return Exec
        if name in known:
            return known[name]
        if name in (points := installed(KIND)):
            return loaded(points[name], check_class)
        raise UsageError(unknown("strategy", name, known))
    return check_class(name, class_at(name, Strategy, source))


def _split(text: str) -> list[str]:
    """Split at the plus signs that stand outside of parentheses, and of quotes in them."""
    pieces, depth, at = [""], 0, 0
    while at < len(text):
        quoted = _QUOTED.match(text, at) if depth else None
        bit = quoted[0] if quoted else text[at]
        at += len(bit)
        depth += (bit == "(") - (bit == ")")
        if bit == "+" and not depth:
            pieces.append("")
        else:
            pieces[-1] += bit
    return [_COMMAND.sub(r"\1command=", piece) for piece in pieces]
