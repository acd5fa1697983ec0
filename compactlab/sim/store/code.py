"""Digests of code, to detect possible changes in behaviour.

The digest covers the syntax tree without comments, docstrings, layout and ``TYPE_CHECKING`` blocks.
It covers a module with all its imports (in functions, too) from compactlab or from the same
project. A tree has the same digest under every version of Python that can parse it.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import sys
import warnings
from collections.abc import Container, Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import cache_from_source
from pathlib import Path
from typing import NamedTuple

from compactlab.sim.core.errors import UsageError
from compactlab.sim.core.files import replace_file
from compactlab.sim.core.toml import loads

PACKAGE = __package__.partition(".")[0]
ENGINE = f"{PACKAGE}.sim.experiment.shard"
"""The module that computes a cell: all code that it reaches can change a figure."""
REDACTION = f"{PACKAGE}.sim.experiment.disclosure"
"""The module that redacts secrets in results; no other module needs it."""

_ROOT = Path(__file__).resolve().parents[2]
# Folders of the package that figures may depend on; the rest runs experiments, or shows them.
_FAMILIES = ("sim", "privacy", "llm", "strategies", "scenarios")
# Functions of the public API by which a strategy finds others; the engine covers the rest.
_FACE = {f"{PACKAGE}.find_strategy": f"{PACKAGE}.strategies.catalogue"}
# Has a table of all strategies, which it imports by name: whoever reaches it may use each of them.
_TABLE = f"{PACKAGE}.strategies"
# Installed distributions have a version, which the provenance names.
_INSTALLED = ("site-packages", "dist-packages", "lib/python")
# Docstrings count in code that reads them: one may be the text of a prompt.
_READS_DOCSTRINGS = re.compile(rb"__doc__(?!\s*=[^=])|\bgetdoc\b")
_DATA = re.compile(r"[\w.-]{1,200}\.toml")
# Files that are kept parsed: several times those of the package.
_MOST_KEPT = 2000
# Redundant or meaningless fields.
_SILENT = frozenset({"ctx", "kind", "type_comment", "type_ignores"})


@cache
def digest_of_engine(*, redact: bool) -> str:
    """Return a digest (16 hex digits) of all engine code that can change a cell."""
    return _digest_of_modules(reached([ENGINE], without=() if redact else (REDACTION,)))


@cache
def digest_of_folder(name: str) -> str:
    """Return a digest (16 hex digits) of all code and data in a folder of the package."""
    folder = _ROOT / name
    files = sorted(f for f in folder.rglob("*") if f.suffix in (".py", ".toml"))
    return _digest((file.relative_to(folder).as_posix(), file) for file in files)


def digest_of_classes(classes: Iterable[type]) -> str:
    """Return a digest of the code of classes, like :func:`digest_of_modules`."""
    return digest_of_modules(cls.__module__ for cls in classes)


def digest_of_modules(names: Iterable[str]) -> str:
    """Return a digest (16 hex digits) of modules and their imports of the same project.

    The engine and installed packages are left out: they have digests or versions of their own. A
    module without a file is represented by its name.
    """
    names = tuple(sorted(set(names)))
    return _digest_of_ours(names) if all(map(_is_ours, names)) else _digest_beyond_engine(names)


def _digest_beyond_engine(names: tuple[str, ...]) -> str:
    return _digest_of_modules(reached(names, without=_engine()))


# Called for every condition of an experiment; foreign code may change at any time.
_digest_of_ours = cache(_digest_beyond_engine)


def digest_of_file(file: Path) -> str:
    """Return a digest (16 hex digits) of the meaning of a code or data file."""
    return _digest([("", file)])


def reached(names: Iterable[str], without: Container[str] = ()) -> dict[str, Path | None]:
    """Return modules and their imports of the same project, with their files."""
    files: dict[str, Path | None] = {name: _file(name) for name in names if name not in without}
    waiting = list(files)
    while waiting:
        name = waiting.pop()
        path = files[name]
        for target in _imported(name, path) if path is not None else ():
            file = None if target in files or target in without else _file(target)
            if file is not None and (_is_ours(target) or not _is_installed(file)):
                files[target] = file
                waiting.append(target)
    _keep_parsed()
    return files


@cache
def _engine() -> frozenset[str]:
    return frozenset(reached([ENGINE], without=(REDACTION,)))


def _digest_of_modules(modules: dict[str, Path | None]) -> str:
    """Return a digest of modules and of their data, independent of their location."""
    files: dict[str, Path | None] = {}
    for name, path in modules.items():
        # A strategy that is given by a file has the path as its name.
        short = path.name if path is not None and name.endswith(".py") else name
        files[short] = path
        files |= {f"{short} {data.name}": data for data in (_data(path) if path else ())}
    return _digest(sorted(files.items()))


def _file(name: str) -> Path | None:
    """Return the file of a module without loading it: a function may import it later."""
    if _is_ours(name):
        return _package().get(name)
    module = sys.modules.get(name)
    if module is not None:
        file = getattr(module, "__file__", None)
    elif name.partition(".")[0] in sys.stdlib_module_names or name.endswith(".py"):
        return None
    else:
        places = _places(name.rpartition(".")[0])
        spec = None if places == [] else PathFinder.find_spec(name, places)
        file = spec.origin if spec is not None else None
    return Path(file) if file and Path(file).is_file() else None


def _places(package: str) -> list[str] | None:
    """Return the folders of a package's modules; the import path for no package."""
    if not package:
        return None
    if package in sys.modules:
        return list(getattr(sys.modules[package], "__path__", ()))
    above = _places(package.rpartition(".")[0])
    spec = None if above == [] else PathFinder.find_spec(package, above)
    return list(spec.submodule_search_locations or ()) if spec is not None else []


@cache
def _package() -> dict[str, Path]:
    """Return the files of the package by module name, with exact case."""
    files = [file for name in _FAMILIES for file in (_ROOT / name).rglob("*.py")]
    named = ((file.relative_to(_ROOT).with_suffix("").parts, file) for file in files)
    return {".".join((PACKAGE, *parts)).removesuffix(".__init__"): file for parts, file in named}


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] == PACKAGE


def _is_installed(file: Path) -> bool:
    return any(part in file.as_posix() for part in _INSTALLED)


def _imported(name: str, path: Path) -> Iterator[str]:
    """Yield the full names that a file imports."""
    package = name.split(".") if path.stem == "__init__" else name.split(".")[:-1]
    for level, target in _parsed(path).imports:
        above = package[: len(package) + 1 - level] if level else []
        full = ".".join([*above, *([target] if target else [])])
        if full:
            yield _FACE.get(full, full)
    if name == _TABLE:
        yield from (module for module in _package() if module.startswith(f"{_TABLE}."))


def _data(path: Path) -> set[Path]:
    """Return the data files of a module: of the same name, or named in it and beside it."""
    named = {path.with_name(name) for name in _parsed(path).data}
    return {file for file in {path.with_suffix(".toml"), *named} if file.is_file()}


def _digest(files: Iterable[tuple[str, Path | None]]) -> str:
    seen = hashlib.blake2b(digest_size=8)
    for name, path in files:
        content = _meaning(path) if path is not None else b""
        seen.update(f"{len(name)}:{name}{len(content)}:".encode() + content)
    return seen.hexdigest()


def _meaning(path: Path) -> bytes:
    """Return the relevant content of a file: all of it if it is neither code nor data."""
    return _data_form(path.read_bytes()) if path.suffix == ".toml" else _parsed(path).form.encode()


@cache
def _data_form(content: bytes) -> bytes:
    try:
        return ascii(loads(content.decode())).encode()
    except (ValueError, RecursionError):  # its reader reports the error
        return content


# Parsing the package takes longer than a short run. Results are cached beside the bytecode, by the
# bytes of the file and of this module, and trusted like bytecode.


class _Parsed(NamedTuple):
    """The data of a code file that a digest needs."""

    form: str  # a digest of its syntax tree
    imports: tuple[tuple[int, str], ...]
    data: tuple[str, ...]  # names of data files


def _parsed(path: Path) -> _Parsed:
    # Foreign code may change at any time; ours is loaded already.
    return _parsed_of_ours(path) if path.is_relative_to(_ROOT) else _parse(path.read_bytes())


@cache
def _parsed_of_ours(path: Path) -> _Parsed:
    source = path.read_bytes()
    kept, name = _kept(_ROOT), hashlib.blake2b(source, digest_size=16, key=_version()).hexdigest()
    if name not in kept:
        kept[name] = _parse(source)
        _fresh.add(name)
    return kept[name]


_fresh: set[str] = set()  # what is not in the file yet


@cache
def _version() -> bytes:
    return hashlib.blake2b(Path(__file__).read_bytes(), digest_size=16).digest()


def _file_of_parsed(root: Path) -> Path:
    return Path(cache_from_source(root / "parsed.py")).with_suffix(".json")


@cache
def _kept(root: Path) -> dict[str, _Parsed]:
    try:
        stored = json.loads(_file_of_parsed(root).read_bytes())
        return {
            name: _Parsed(form, tuple((level, target) for level, target in imports), tuple(data))
            for name, (form, imports, data) in stored.items()
        }
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _keep_parsed() -> None:
    """Cache parsed files for the next process, unless Python may not write bytecode."""
    if not _fresh or sys.dont_write_bytecode:
        return
    kept, file = _kept(_ROOT), _file_of_parsed(_ROOT)
    if len(kept) > _MOST_KEPT:  # of earlier versions of the files
        kept = {name: kept[name] for name in kept if name in _fresh}
    with suppress(OSError, UsageError):  # a folder of somebody else
        file.parent.mkdir(exist_ok=True)
        replace_file(file, json.dumps(kept).encode())
    _fresh.clear()


@cache
def _parse(source: bytes) -> _Parsed:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # shown when it is run
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _Parsed(_short(source), (), ())
    form = _Form(documented=_READS_DOCSTRINGS.search(source) is not None)
    return _Parsed(_short(form.of(tree)), tuple(form.imports), tuple(form.data))


def _short(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


class _Form:
    """Serialises a syntax tree so that equal code, and only equal code, gives equal bytes."""

    def __init__(self, *, documented: bool) -> None:
        self._documented = documented
        self.imports: dict[tuple[int, str], None] = {}
        self.data: dict[str, None] = {}

    def of(self, tree: ast.AST) -> bytes:
        """Return the bytes of a tree; record its imports and names."""
        words: list[str] = []
        todo: list[object] = [tree]  # a tree may exceed the recursion limit
        while todo:
            node = todo.pop()
            if not isinstance(node, ast.AST):
                words.append(node if isinstance(node, str) else ascii(node))
                continue
            self._note(node)
            words.append(f"({type(node).__name__}")
            todo.append(")")
            for name in reversed(node._fields):
                value = getattr(node, name, None)
                if isinstance(value, list):
                    value = self._spoken(node, value)
                    todo += ["]", *reversed(value), f"{name}["] if value else []
                elif name not in _SILENT and (value is not None or name == "value"):
                    # Absent fields differ between versions of Python.
                    todo += [value if isinstance(value, ast.AST) else ascii(value), name]
        return " ".join(words).encode()

    def _spoken(self, parent: ast.AST, nodes: list[ast.AST]) -> list[ast.AST]:
        """Drop statements without effect, and empty parts of f-strings."""
        if isinstance(parent, ast.JoinedStr):  # Python 3.12 may add an empty one at the end
            return [node for node in nodes if getattr(node, "value", None) != ""]
        statements: list[ast.AST] = []
        for node in nodes:
            if isinstance(node, ast.If) and _named(node.test) == "TYPE_CHECKING":
                statements += self._spoken(node, list(node.orelse))
            elif self._documented or not _is_silent(node):
                statements.append(node)
        return statements

    def _note(self, node: ast.AST) -> None:
        match node:
            case ast.Import():
                self.imports |= {(0, alias.name): None for alias in node.names}
            case ast.ImportFrom():
                origin = node.module or ""
                inner = [f"{origin}.{alias.name}".lstrip(".") for alias in node.names]
                self.imports |= dict.fromkeys((node.level, name) for name in (origin, *inner))
            case ast.Attribute(value=ast.Name(id=name)) if name == PACKAGE:
                self.imports[0, f"{name}.{node.attr}"] = None
            case ast.Constant(value=str(text)) if _DATA.fullmatch(text):
                self.data[text] = None


def _is_silent(node: ast.AST) -> bool:
    """Whether a statement has no effect, or is a docstring."""
    if isinstance(node, ast.Assign):
        return all(_named(target) == "__doc__" for target in node.targets)
    bare = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return bare or isinstance(node, ast.Pass)


def _named(node: ast.AST) -> str:
    """Return the last word of a dotted name."""
    return str(getattr(node, "attr", getattr(node, "id", "")))
