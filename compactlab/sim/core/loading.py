"""Loads classes that a user names by file or module."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from compactlab.sim.core.errors import UsageError, unknown
from compactlab.sim.core.spec import parse_spec

T = TypeVar("T")


def class_at(name: str, kind: type, source: bytes | None = None) -> object:
    """Load ``path/to/file.py:Class`` or ``module:Class``; this runs its code.

    Parameters
    ----------
    name
        The name.
    kind
        The required base class: if the class is not found, classes of this kind are suggested.
    source
        The content of the file, if already read.
    """
    where, _, attribute = name.rpartition(":")
    module = _module(where, source)
    if not hasattr(module, attribute):
        own = [key for key, value in vars(module).items() if _is_own(value, module, kind)]
        why = unknown("class", attribute, own) if own else f"there is no class {attribute!r} in it"
        raise UsageError(f"{where}: {why}")
    return getattr(module, attribute)


def with_source(text: str, make: Callable[[str, bytes | None], T]) -> T:
    """Make something from a spec and the content of its file, which is read once.

    So the code that runs is the code that was inspected, even if the file changes meanwhile, or if
    a worker lacks the file.
    """
    where = parse_spec(text)[0].rpartition(":")[0]
    if not where.endswith(".py"):
        return make(text, None)
    path = Path(where).absolute()
    try:
        return make(text.replace(where, str(path), 1), _content(where, path))
    except UsageError as error:
        raise UsageError(str(error).replace(str(path), where)) from None


def _content(where: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise UsageError(f"{where} cannot be loaded: there is no such file") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{where} cannot be loaded: {type(error).__name__}: {error}") from None


def _module(where: str, source: bytes | None) -> ModuleType:
    try:
        if not where.endswith(".py"):
            return importlib.import_module(where)
        path = Path(where).resolve()
        module = _executed(str(path), _content(where, path) if source is None else source)
    except UsageError:
        raise
    except (Exception, SystemExit) as error:
        # Errors of the user's code are reported, not propagated.
        raise UsageError(f"{where} cannot be loaded: {type(error).__name__}: {error}") from None
    sys.modules[module.__name__] = module
    return module


@cache
def _executed(path: str, source: bytes) -> ModuleType:
    """Return the module of a file; equal content gives the same module, with the same classes."""
    # Dataclasses look up their module by name, which must be unique.
    module = sys.modules[path] = ModuleType(path)
    module.__file__ = path
    code = compile(source, path, "exec", dont_inherit=True)
    exec(code, module.__dict__)  # noqa: S102
    return module


def _is_own(value: object, module: ModuleType, kind: type) -> bool:
    """Whether a module defines a value that is a class of a kind."""
    ours = inspect.isclass(value) and issubclass(value, kind)
    return ours and getattr(value, "__module__", "") == module.__name__
