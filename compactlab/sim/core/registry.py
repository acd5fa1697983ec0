"""Registries: objects of a kind by name, built in or from an installed package.

Strategies, summarisers, scenarios, readers and cache policies all use it. A package extends a kind
by an entry point in the group ``compactlab.KIND``; the name of the entry point is the object's
name. A built-in name has priority over an installed one, and the first of two installed ones is
used. Entry points are loaded on demand.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar, cast

from compactlab.sim.core.errors import UsageError, unknown
from compactlab.sim.core.isolation import PACKAGE
from compactlab.sim.core.spec import FROZEN, build, parse_spec


def class_at(name: str, kind: type, source: bytes | None = None) -> object:
    """Load ``path/to/file.py:Class`` or ``module:Class``; this runs its code.

    If the class is not found, classes of the required kind are suggested. ``source`` is the
    content of the file, if already read.
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


T = TypeVar("T")


class Registry(Collection[str], Generic[T]):
    """All objects of a kind, by name.

    Parameters
    ----------
    kind
        The name of the kind in entry points and in ``compactlab list``: ``readers``.
    what
        The name of one object in errors.
    built_in
        The objects by name. ``module:attribute`` in place of an object is imported on demand.
    check
        Checks that an object from a package is of this kind; else raises a UsageError.
    """

    def __init__(
        self,
        kind: str,
        what: str,
        built_in: Mapping[str, T | str],
        check: Callable[[str, object, EntryPoint], T],
    ) -> None:
        self.kind, self.what, self.built_in, self._check = kind, what, built_in, check

    def __contains__(self, name: object) -> bool:
        return name in self.built_in or name in self.installed()

    def __iter__(self) -> Iterator[str]:
        return iter([*self.built_in, *self.installed()])

    def __len__(self) -> int:
        return len(self.built_in) + len(self.installed())

    def installed(self) -> dict[str, EntryPoint]:
        """The entry points of installed packages, by name."""
        points: dict[str, EntryPoint] = {}
        for point in entry_points(group=f"compactlab.{self.kind}"):
            if point.name not in self.built_in:
                points.setdefault(point.name, point)
        return points

    def find(self, name: str) -> T:
        """Find an object by name; if there is none, a UsageError suggests the nearest name."""
        if name in self.built_in:
            ours = self.built_in[name]
            return _at(ours) if isinstance(ours, str) else ours
        installed = self.installed()
        if name not in installed:
            raise UsageError(unknown(self.what, name, self))
        try:
            found = installed[name].load()
        except (Exception, SystemExit) as error:
            raise UsageError(f"{name} cannot be loaded: {error}") from None
        return self._check(name, found, installed[name])

    def usable(self, skip: Callable[[UsageError], object] = lambda _: None) -> dict[str, T]:
        """Return all objects that can be loaded, by name; pass errors of others to ``skip``."""
        usable = {}
        for name in self:
            try:
                usable[name] = self.find(name)
            except UsageError as error:
                skip(error)
        return usable


def _at(place: str) -> Any:
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)


class ClassRegistry(Registry[type[T]]):
    """A registry of frozen dataclasses: a spec names one with its fields.

    Parameters
    ----------
    base
        The class that all of them subclass.
    """

    def __init__(
        self, kind: str, what: str, built_in: Mapping[str, type[T] | str], base: type
    ) -> None:
        super().__init__(kind, what, built_in, lambda name, cls, _: self.check(name, cls))
        self.base = base

    def check(self, name: str, cls: object) -> type[T]:
        """Return a class if it is of this kind and its fields are its configuration; else raise."""
        base = self.base.__name__
        if not (inspect.isclass(cls) and issubclass(cls, self.base)):
            raise UsageError(f"{name} is not a {self.what}: it must subclass compactlab.{base}")
        for method in sorted(getattr(cls, "__abstractmethods__", ())):
            wanted = ", ".join(inspect.signature(getattr(cls, method)).parameters)
            raise UsageError(f"{name} is not finished: it has no method {method}({wanted})")
        parameters = getattr(cls, "__dataclass_params__", None)
        if parameters is None or not parameters.frozen:
            raise UsageError(f"{name} {FROZEN}")
        return cast("type[T]", cls)

    def find_class(self, name: str, source: bytes | None = None) -> type[T]:
        """Find a class by name or by location: ``path/to/file.py:Class``, ``module:Class``.

        ``source`` is the content of the file, if already read.
        """
        if name.endswith(".py"):
            raise UsageError(f"{name}: name the class, too, as in {name}:My{self.base.__name__}")
        if ":" in name:
            return self.check(name, class_at(name, self.base, source))
        return self.find(name)

    def build(self, text: str, source: bytes | None = None) -> T:
        """Build the object of a spec; see :meth:`find_class`."""
        name, arguments = parse_spec(text)
        return build(self.find_class(name, source), arguments)

    def is_foreign(self, name: str) -> bool:
        """Whether a name refers to foreign code."""
        if ":" in name:
            return not name.startswith(f"{PACKAGE}.")
        return name not in self.built_in and name in self.installed()
