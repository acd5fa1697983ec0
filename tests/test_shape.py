"""Nothing in the package is long, namelessly named, or left without a word on what it is for."""

import ast
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "compactlab"

FUNCTION_LINES = 50
FILE_LINES = 600
VAGUE = {"utils", "helpers", "common", "base", "misc", "manager"}

Rule = Callable[[Path], Iterator[str]]


def files_are_short(file: Path) -> Iterator[str]:
    lines = len(file.read_text(encoding="utf-8").splitlines())
    if lines > FILE_LINES:
        yield f"{lines} lines, over {FILE_LINES}"


def functions_are_short(file: Path) -> Iterator[str]:
    for node in ast.walk(parsed(file)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = height(node) - (height(node.body[0]) if ast.get_docstring(node) else 0)
            if lines > FUNCTION_LINES:
                yield f"{node.name}, line {node.lineno}: {lines} lines, over {FUNCTION_LINES}"


def names_say_something(file: Path) -> Iterator[str]:
    for word in VAGUE.intersection({file.parent.name, file.stem}):
        yield f"{word!r} does not say what is in it"


def modules_have_a_docstring(file: Path) -> Iterator[str]:
    tree = parsed(file)
    if tree.body and not ast.get_docstring(tree):
        yield "no docstring says what it is for"


@lru_cache(maxsize=1)
def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def height(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


RULES: list[Rule] = [
    files_are_short,
    functions_are_short,
    names_say_something,
    modules_have_a_docstring,
]


def test_the_package_keeps_the_rules():
    """All rules file by file, so that each is parsed once."""
    files = sorted(PACKAGE.rglob("*.py"))
    complaints = [
        f"{file.relative_to(PACKAGE)}: {line}"
        for file in files
        for rule in RULES
        for line in rule(file)
    ]
    assert files
    assert not complaints, "\n" + "\n".join(complaints)


# A rule, a made-up file, and the complaints about it.
PLANTED: list[tuple[Rule, str, str, list[str]]] = [
    (files_are_short, "a.py", "x = 1\n" * 600, []),
    (files_are_short, "a.py", "x = 1\n" * 601, ["601 lines, over 600"]),
    (functions_are_short, "a.py", "def f():\n" + "    g()\n" * 49, []),
    (functions_are_short, "a.py", "def f():\n    '''Two\n    lines.'''\n" + "    g()\n" * 49, []),
    (
        functions_are_short,
        "a.py",
        "class A:\n    async def f(self):\n" + "        g()\n" * 50,
        ["f, line 2: 51 lines, over 50"],
    ),
    (names_say_something, "utils.py", "", ["'utils' does not say what is in it"]),
    (names_say_something, "base/one.py", "", ["'base' does not say what is in it"]),
    (names_say_something, "database.py", "", []),
    (modules_have_a_docstring, "__init__.py", "", []),
    (modules_have_a_docstring, "a.py", "'''A word.'''\nx = 1", []),
    (modules_have_a_docstring, "a.py", "x = 1", ["no docstring says what it is for"]),
]


@pytest.mark.parametrize(("rule", "name", "source", "complaints"), PLANTED)
def test_a_rule_finds_what_breaks_it(rule, name, source, complaints, tmp_path):
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(source, encoding="utf-8")
    assert list(rule(file)) == complaints
