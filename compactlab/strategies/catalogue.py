"""Strategies by name: built in, from an installed package, or from a file."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

import compactlab.strategies as built_in
from compactlab.sim.errors import UsageError, unknown
from compactlab.sim.spec import build, parse_spec, snake_case
from compactlab.sim.strategy import Pipeline, Strategy

GROUP = "compactlab.strategies"

# What runs when nothing is named: every built-in strategy, and those that follow the acts of
# others behind one that acts.
LINE_UP = (
    "keep_all",
    "as_recorded",
    "keep_none",
    "random_keep",
    "sliding_window",
    "turn_slice",
    "token_budget",
    "auto_compact",
    "recency_buffer",
    "auto_compact + context_recovery",
    "token_budget + summary_sidecar",
)


@cache
def strategies() -> dict[str, type[Strategy]]:
    """All strategies that are built in or installed, by name.

    A built-in name wins over an installed one.
    """
    installed = {point.name: point.load() for point in entry_points(group=GROUP)}
    own = {snake_case(name): getattr(built_in, name) for name in built_in.__all__}
    return installed | own


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
    steps = tuple(_one(step) for step in _split(text))
    return steps[0] if len(steps) == 1 else Pipeline(steps)


def _one(text: str) -> Strategy:
    name, arguments = parse_spec(text)
    return build(_class(name), arguments)


def _class(name: str) -> type[Strategy]:
    if ":" not in name:
        known = strategies()
        if name not in known:
            raise UsageError(unknown("strategy", name, known))
        return known[name]
    where, _, attribute = name.rpartition(":")
    found = getattr(_module(where), attribute, None)
    if not (inspect.isclass(found) and issubclass(found, Strategy)):
        raise UsageError(f"{where} has no strategy {attribute!r}")
    return found


def _module(where: str) -> ModuleType:
    try:
        if not where.endswith(".py"):
            return importlib.import_module(where)
        spec = importlib.util.spec_from_file_location(Path(where).stem, where)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except Exception as error:
        # Whatever the user's own code raises while it is loaded is named, not thrown.
        raise UsageError(f"{where} cannot be loaded: {type(error).__name__}: {error}") from None
    return module


def _split(text: str) -> list[str]:
    """Split at the plus signs that stand outside of parentheses."""
    pieces, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "+" and not depth:
            pieces.append("")
        else:
            pieces[-1] += character
    return pieces
