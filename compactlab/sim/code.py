"""Digests of code, by which it is noticed that what a strategy does has changed."""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

PACKAGE = __package__.partition(".")[0]
_ROOT = Path(__file__).resolve().parents[1]
# Whatever comes with an installed distribution has a version, which provenance names.
_INSTALLED = ("site-packages", "dist-packages", "lib/python")


@cache
def digest_of_folder(name: str) -> str:
    """Sixteen hex digits of all files of a folder of the package: its code and its data.

    Parameters
    ----------
    name
        Path of the folder in the package, e.g. ``sim``.
    """
    folder = _ROOT / name
    files = sorted(f for f in folder.rglob("*") if f.suffix in (".py", ".toml"))
    return _digest((file.relative_to(folder).as_posix(), file) for file in files)


def digest_of_classes(classes: Iterable[type]) -> str:
    """Sixteen hex digits of the code of classes, and of all that it imports of the same project.

    The engine is left out, and so is what was installed: both have digests or versions of their
    own. Where the code is in no file, the digest is that of the names.

    Parameters
    ----------
    classes
        Classes of strategies or summarisers.
    """
    found: dict[str, Path | None] = {}
    waiting = [cls.__module__ for cls in classes]
    while waiting:
        name = waiting.pop()
        if name not in found:
            module = sys.modules.get(name)
            found[name] = path = _path(module) if module else None
            waiting += [] if path is None else _imported(name, path)
    # A module's data has its name.
    data = {f"{n} data": p.with_suffix(".toml") for n, p in found.items() if p is not None}
    kept = {name: path for name, path in data.items() if path.is_file()}
    return _digest(sorted((found | kept).items()))


def _path(module: ModuleType) -> Path | None:
    file = getattr(module, "__file__", None)
    return Path(file) if file and Path(file).is_file() else None


def _imported(name: str, path: Path) -> Iterator[str]:
    """The modules that a file imports and that belong to somebody's project, not to the engine."""
    for target in _targets(name, path, path.stat().st_mtime_ns):
        module = sys.modules.get(target)
        file = _path(module) if module else None
        if file is None or target.startswith((f"{PACKAGE}.sim", f"{PACKAGE}.reports")):
            continue
        inside = target.partition(".")[0] == PACKAGE
        if inside or not any(part in file.as_posix() for part in _INSTALLED):
            yield target


@cache
def _targets(name: str, path: Path, changed: int) -> tuple[str, ...]:
    """What a file imports, by full names."""
    targets: list[str] = []
    package = name.split(".") if path.stem == "__init__" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            targets += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            origin = ".".join([*above, *([node.module] if node.module else [])])
            targets += [origin, *(f"{origin}.{alias.name}" for alias in node.names)]
    return tuple(dict.fromkeys(targets))


def _digest(files: Iterable[tuple[str, Path | None]]) -> str:
    seen = hashlib.blake2b(digest_size=8)
    for name, path in files:
        content = path.read_bytes() if path is not None else b""
        seen.update(f"{len(name)}:{name}{len(content)}:".encode() + content)
    return seen.hexdigest()
