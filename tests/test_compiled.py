"""What may be compiled (``make compiled``): read with `ast`, since most machines have no compiler.

mypyc makes of a record a class like any other, so that it is no longer frozen and takes no
defaults, and nothing that is not compiled can inherit from what is.
"""

from __future__ import annotations

import ast
import importlib
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compiled import COMPILED

ROOT = Path(__file__).resolve().parents[1]
HOOKS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]
LISTED = [ROOT / path[1:] for path in HOOKS["targets"]["wheel"]["hooks"]["mypyc"]["include"]]


def classes(source: str) -> Iterator[ast.ClassDef]:
    return (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef))


def bases(node: ast.ClassDef) -> set[str]:
    return {ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases}


def records(source: str) -> list[str]:
    """Classes that would be another thing when compiled."""
    kept = ("dataclass", "dataclass()")
    return [
        node.name
        for node in classes(source)
        if "Struct" in bases(node)
        or any(ast.unparse(each) not in kept for each in node.decorator_list)
    ]


def heirs(source: str, names: set[str]) -> list[str]:
    """Classes that inherit from one of these."""
    return [node.name for node in classes(source) if bases(node) & names]


@pytest.mark.parametrize("path", LISTED, ids=lambda path: path.stem)
def test_what_is_compiled_holds_no_records(path: Path) -> None:
    assert records(path.read_text("utf-8")) == []


def test_nothing_inherits_from_what_is_compiled() -> None:
    sources = (path.read_text("utf-8") for path in LISTED)
    names = {node.name for source in sources for node in classes(source) if node.name[0] != "_"}
    assert {"Prompt", "Messages", "Session"} <= names
    suspect = re.compile(rf"\bclass \w+[^:]*\b(?:{'|'.join(names)})\b")
    for path in (ROOT / "compactlab").rglob("*.py"):
        source = path.read_text("utf-8")
        assert not suspect.search(source) or heirs(source, names) == [], path


def test_both_rules_can_be_broken() -> None:
    planted = "class Bill(msgspec.Struct): ...\n@dataclass(frozen=True)\nclass Mark(Prompt): ...\n"
    assert records(planted) == ["Bill", "Mark"]
    assert heirs(planted, {"Prompt"}) == ["Mark"]


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled here: make test-compiled")
def test_all_that_is_listed_is_compiled_from_the_source_beside_it() -> None:
    for path in LISTED:
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        made = Path(str(importlib.import_module(module).__file__))
        assert made.suffix != ".py", module
        assert made.stat().st_mtime >= path.stat().st_mtime, f"{made} is older than its source"
