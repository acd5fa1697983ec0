"""Digests of code, by which it is noticed that what it does may have changed.

Only that counts: the syntax tree is digested, without comments, docstrings, layout and what stands
under ``TYPE_CHECKING``. And only what is reached: a module with all that it imports, in functions
too, as far as it belongs to compactlab or to the same project. The digest of a tree is the same
under every version of Python that can read it.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
import warnings
from collections.abc import Container, Iterable, Iterator
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path

from compactlab.sim.core.toml import loads

PACKAGE = __package__.partition(".")[0]
ENGINE = f"{PACKAGE}.sim.experiment.shard"
"""The module whose functions make a cell: what it reaches can change a figure."""
REDACTION = f"{PACKAGE}.sim.experiment.disclosure"
"""The module that hides secrets in what is made; nothing else needs it."""

_ROOT = Path(__file__).resolve().parents[2]
# Of the package, what figures may depend on; the rest runs experiments, or shows them.
_FAMILIES = ("sim", "privacy", "llm", "strategies", "scenarios")
# By its face, a strategy finds others by their names; whatever else is there, the engine has.
_FACE = {f"{PACKAGE}.find_strategy": f"{PACKAGE}.strategies.catalogue"}
# Whatever comes with an installed distribution has a version, which provenance names.
_INSTALLED = ("site-packages", "dist-packages", "lib/python")
# Where docstrings are read, they count: one may be the text of a prompt.
_READS_DOCSTRINGS = re.compile(rb"__doc__(?!\s*=[^=])|\bgetdoc\b")
_DATA = re.compile(r"[\w.-]{1,200}\.toml")
# Fields that say the same as others do, or nothing.
_SILENT = frozenset({"ctx", "kind", "type_comment", "type_ignores"})


@cache
def digest_of_engine(*, redact: bool) -> str:
    """Sixteen hex digits of all of the engine that can change what a cell holds."""
    return _digest_of_modules(reached([ENGINE], without=() if redact else (REDACTION,)))


@cache
def digest_of_folder(name: str) -> str:
    """Sixteen hex digits of all files of a folder of the package: its code and its data."""
    folder = _ROOT / name
    files = sorted(f for f in folder.rglob("*") if f.suffix in (".py", ".toml"))
    return _digest((file.relative_to(folder).as_posix(), file) for file in files)


def digest_of_classes(classes: Iterable[type]) -> str:
    """Sixteen hex digits of the code of classes; else as :func:`digest_of_modules`."""
    return digest_of_modules(cls.__module__ for cls in classes)


def digest_of_modules(names: Iterable[str]) -> str:
    """Sixteen hex digits of modules, and of all that they import of the same project.

    The engine is left out, and so is what was installed: both have digests or versions of their
    own. Where a module is in no file, its name stands for it.
    """
    names = tuple(sorted(set(names)))
    return _digest_of_ours(names) if all(map(_is_ours, names)) else _digest_beyond_engine(names)


def _digest_beyond_engine(names: tuple[str, ...]) -> str:
    return _digest_of_modules(reached(names, without=_engine()))


# Asked for every condition of an experiment; what is not ours may change at any time.
_digest_of_ours = cache(_digest_beyond_engine)


def digest_of_file(file: Path) -> str:
    """Sixteen hex digits of what a file says: of its code or of its data, if it holds such."""
    return _digest([("", file)])


def reached(names: Iterable[str], without: Container[str] = ()) -> dict[str, Path | None]:
    """Modules, and what of the same project they import, with their files."""
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
    return files


@cache
def _engine() -> frozenset[str]:
    return frozenset(reached([ENGINE], without=(REDACTION,)))


def _digest_of_modules(modules: dict[str, Path | None]) -> str:
    """A digest of modules and of their data, wherever they are."""
    files: dict[str, Path | None] = {}
    for name, path in modules.items():
        # A strategy that is named by its file has its path for a name.
        short = path.name if path is not None and name.endswith(".py") else name
        files[short] = path
        files |= {f"{short} {data.name}": data for data in (_data(path) if path else ())}
    return _digest(sorted(files.items()))


def _file(name: str) -> Path | None:
    """The file of a module, which need not be loaded: it may be imported later, in a function."""
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
    """The folders in which the modules of a package are; those of the path for none."""
    if not package:
        return None
    if package in sys.modules:
        return list(getattr(sys.modules[package], "__path__", ()))
    above = _places(package.rpartition(".")[0])
    spec = None if above == [] else PathFinder.find_spec(package, above)
    return list(spec.submodule_search_locations or ()) if spec is not None else []


@cache
def _package() -> dict[str, Path]:
    """The files of the package by modules' names, as they are spelt."""
    files = [file for name in _FAMILIES for file in (_ROOT / name).rglob("*.py")]
    named = ((file.relative_to(_ROOT).with_suffix("").parts, file) for file in files)
    return {".".join((PACKAGE, *parts)).removesuffix(".__init__"): file for parts, file in named}


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] == PACKAGE


def _is_installed(file: Path) -> bool:
    return any(part in file.as_posix() for part in _INSTALLED)


def _imported(name: str, path: Path) -> Iterator[str]:
    """What a file imports, by full names."""
    package = name.split(".") if path.stem == "__init__" else name.split(".")[:-1]
    for level, target in _read(path.read_bytes())[1]:
        above = package[: len(package) + 1 - level] if level else []
        full = ".".join([*above, *([target] if target else [])])
        if full:
            yield _FACE.get(full, full)


def _data(path: Path) -> set[Path]:
    """The data of a module: the file of its name, and those beside it that it names."""
    named = {path.with_name(name) for name in _read(path.read_bytes())[2]}
    return {file for file in {path.with_suffix(".toml"), *named} if file.is_file()}


def _digest(files: Iterable[tuple[str, Path | None]]) -> str:
    seen = hashlib.blake2b(digest_size=8)
    for name, path in files:
        content = _meaning(path) if path is not None else b""
        seen.update(f"{len(name)}:{name}{len(content)}:".encode() + content)
    return seen.hexdigest()


def _meaning(path: Path) -> bytes:
    """What counts of a file: all of it, if it is neither code nor data."""
    content = path.read_bytes()
    return _data_form(content) if path.suffix == ".toml" else _read(content)[0]


@cache
def _data_form(content: bytes) -> bytes:
    try:
        return ascii(loads(content.decode())).encode()
    except (ValueError, RecursionError):  # whoever reads it will say so
        return content


@cache
def _read(source: bytes) -> tuple[bytes, tuple[tuple[int, str], ...], tuple[str, ...]]:
    """The canonical form of code, what it imports, and the names of files of data in it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # told where it is run
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source, (), ()
    form = _Form(documented=_READS_DOCSTRINGS.search(source) is not None)
    return form.of(tree), tuple(form.imports), tuple(form.data)


class _Form:
    """Writes a tree such that equal code has equal bytes, and no other has."""

    def __init__(self, *, documented: bool) -> None:
        self._documented = documented
        self.imports: dict[tuple[int, str], None] = {}
        self.data: dict[str, None] = {}

    def of(self, tree: ast.AST) -> bytes:
        """The bytes of a tree; meanwhile what it imports and names is noted."""
        words: list[str] = []
        todo: list[object] = [tree]  # a tree may be deeper than a function may call itself
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
                    # Fields that are absent differ between versions of Python.
                    todo += [value if isinstance(value, ast.AST) else ascii(value), name]
        return " ".join(words).encode()

    def _spoken(self, parent: ast.AST, nodes: list[ast.AST]) -> list[ast.AST]:
        """Of statements, those that do something; of a text, the parts that say something."""
        if isinstance(parent, ast.JoinedStr):  # Python 3.12 may end them with an empty one
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
    """Whether a statement does nothing, or only documents something."""
    if isinstance(node, ast.Assign):
        return all(_named(target) == "__doc__" for target in node.targets)
    bare = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return bare or isinstance(node, ast.Pass)


def _named(node: ast.AST) -> str:
    """The last word of a name."""
    return str(getattr(node, "attr", getattr(node, "id", "")))
