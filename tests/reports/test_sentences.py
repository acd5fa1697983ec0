"""Every sentence of a verdict stands in docs/dev/sentences.md, and none that it cannot print."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SAYERS = ("page/verdict.py", "analysis/strength.py", "analysis/advice.py")
FEWEST = 3  # words; shorter pieces are parts of figures


def told(root: Path) -> str:
    """The page of sentences, on one line, without marks of the table."""
    return " ".join(page(root).split())


def page(root: Path) -> str:
    return (root / "docs" / "dev" / "sentences.md").read_text("utf-8")


def pieces(path: Path) -> Iterator[str]:
    """What a module may say: its strings, without what stands between quotes for readers alone."""
    tree = ast.parse(path.read_text("utf-8"))
    bodies = (ast.Module, ast.ClassDef, ast.FunctionDef)
    first = (node.body[0] for node in ast.walk(tree) if isinstance(node, bodies) and node.body)
    notes = {id(each.value) for each in first if isinstance(each, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in notes:
            yield " ".join(node.value.split()).strip(" ,.;:()")


@pytest.mark.parametrize("module", SAYERS)
def test_whatever_can_be_said_is_in_the_table(module: str, root: Path) -> None:
    section = told(root)
    said = [
        p for p in pieces(root / "compactlab" / "reports" / module) if p.count(" ") >= FEWEST - 1
    ]
    assert said
    assert [piece for piece in said if piece not in section] == []


def test_what_is_in_the_table_can_be_said(root: Path) -> None:
    """Each row has a piece of six words or more that the code has, too."""
    code = [p for m in SAYERS for p in pieces(root / "compactlab" / "reports" / m)]
    rows = [line.split("|")[1] for line in page(root).splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 30
    for row in rows:
        assert any(piece in row for piece in code if piece.count(" ") >= 2), row
        assert re.search(r"[.…:]", row)
