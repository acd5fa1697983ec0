"""Changes the core in one small place at a time, and sees whether its tests notice.

``make mutants`` draws a sample; ``core.toml`` says which tests guard which module, and
``equivalent.toml`` which changes make no difference that anybody could see, and why. The package
is changed in a copy of its own, never in the checkout.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import os
import random
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from functools import partial
from importlib.util import cache_from_source
from pathlib import Path
from queue import SimpleQueue

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIMIT = 300  # seconds that the tests of one change may take; one that never ends is noticed

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
# What stands in these changes no figure: types, words of errors, what a dataclass is like.
PASSED_OVER = ("annotation", "returns", "decorator_list", "type_params")


@dataclass(frozen=True)
class Change:
    """One change of a module: where it is, what it is, and a way to make it in the tree."""

    line: int
    function: str
    before: str
    after: str
    apply: Callable[[], object]

    @property
    def text(self) -> str:
        """The change in one line, the same wherever in the file it stands."""
        return f"{self.function}: {self.before} -> {self.after}"


def changes(tree: ast.AST, function: str = "", result: str = "") -> Iterator[Change]:
    """Every change of a tree, in the order of the source."""
    for name, value in ast.iter_fields(tree):
        if name in PASSED_OVER or (isinstance(tree, ast.ClassDef) and name == "keywords"):
            continue
        many = isinstance(value, list)
        for place, node in enumerate(value if many else [value]):
            if not isinstance(node, ast.AST) or _is_idle(node):
                continue

            def put(new: ast.AST, name: str = name, place: int = place, many: bool = many) -> None:
                if many:
                    getattr(tree, name)[place] = new
                else:
                    setattr(tree, name, new)

            for new in _variants(node, result):
                before, after = (_in_one_line(each) for each in (node, new))
                line = getattr(node, "lineno", 0)
                yield Change(line, function, before, after, partial(put, new))
            inner, of = function, result
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                inner = f"{function}.{node.name}".lstrip(".")
            if isinstance(node, ast.FunctionDef):
                of = ast.unparse(node.returns) if node.returns else ""
            yield from changes(node, inner, of)


def _is_idle(node: ast.AST) -> bool:
    """Whether nothing in a node can change what is computed."""
    docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    checked = isinstance(node, ast.keyword) and node.arg == "strict"
    types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    return docstring or checked or types or isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr)


def _variants(node: ast.AST, result: str) -> Iterator[ast.AST]:
    """What may stand in a node's place."""
    yield from _asked(node)
    yield from _counted(node)
    yield from _done(node, result)


def _asked(node: ast.AST) -> Iterator[ast.AST]:
    """Other comparisons and conditions."""
    match node:
        case ast.Compare(left, ops, comparators):
            for index, op in enumerate(ops):
                other = [*ops[:index], COMPARED[type(op)](), *ops[index + 1 :]]
                yield ast.Compare(left, other, comparators)
        case ast.BoolOp(op, values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.UnaryOp(ast.Not(), operand):
            yield operand


def _counted(node: ast.AST) -> Iterator[ast.AST]:
    """Other sums, constants and bounds."""
    match node:
        case ast.BinOp(left, ast.Add() | ast.Sub() as op, right) if not _are_words(left, right):
            yield ast.BinOp(left, _opposite(op), right)
        case ast.AugAssign(target, ast.Add() | ast.Sub() as op, value):
            yield ast.AugAssign(target, _opposite(op), value)
        case ast.Constant(bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(int() | float() as value):
            yield ast.Constant(value + 1)
        case ast.Slice(lower, upper, step):
            if lower:
                yield ast.Slice(None, upper, step)
            if upper:
                yield ast.Slice(lower, None, step)


def _done(node: ast.AST, result: str) -> Iterator[ast.AST]:
    """Nothing where something was done or returned."""
    match node:
        case ast.Return(value) if value and ast.unparse(value) not in ("None", "0", "False"):
            yield ast.Return(ast.Constant(0 if result in ("int", "float") else None))
        case ast.If(test, _, orelse):
            yield ast.If(test, [ast.Pass()], orelse)
    if _is_dispensable(node):
        yield ast.Pass()


def _in_one_line(node: ast.AST) -> str:
    """The source of a node; of a condition, what it asks and whether it still does anything."""
    text = " ".join(ast.unparse(node).split())
    if isinstance(node, ast.If):
        rest = "pass" if isinstance(node.body[0], ast.Pass) else "..."
        text = f"if {ast.unparse(node.test)}: {rest}"
    return text


def _opposite(op: ast.operator) -> ast.operator:
    return ast.Sub() if isinstance(op, ast.Add) else ast.Add()


def _are_words(*nodes: ast.AST) -> bool:
    return any(
        isinstance(n, ast.JoinedStr | ast.List | ast.Tuple)
        or (isinstance(n, ast.Constant) and isinstance(n.value, str))
        for n in nodes
    )


def _is_dispensable(node: ast.AST) -> bool:
    """Whether a statement can be left out without an unknown name: a call, or a new value."""
    match node:
        case ast.Expr(ast.Call()) | ast.AugAssign():
            return True
        case ast.Assign([ast.Attribute() | ast.Subscript()], _):
            return True
        case ast.Assign([ast.Name(name)], value):
            used = {each.id for each in ast.walk(value) if isinstance(each, ast.Name)}
            return name in used
    return False


@dataclass(frozen=True)
class Mutant:
    """The core with one change."""

    module: str
    number: int
    change: Change

    def source(self) -> str:
        """The module as it is changed."""
        tree = ast.parse((ROOT / "compactlab" / self.module).read_text("utf-8"))
        change = next(c for n, c in enumerate(changes(tree)) if n == self.number)
        change.apply()
        return ast.unparse(ast.fix_missing_locations(tree))

    def __str__(self) -> str:
        return f"{self.module}:{self.change.line} {self.change.text}"


def mutants(module: str) -> list[Mutant]:
    """All changes of a module."""
    tree = ast.parse((ROOT / "compactlab" / module).read_text("utf-8"))
    return [Mutant(module, number, change) for number, change in enumerate(changes(tree))]


def draw(modules: list[str], sample: int, seed: int) -> list[Mutant]:
    """Some of all changes but the equivalent ones, the same for the same seed."""
    listed = tomllib.loads((HERE / "equivalent.toml").read_text("utf-8")).get("change", [])
    equivalent = {(each["module"], each["change"]) for each in listed}
    pool = [m for module in modules for m in mutants(module)]
    pool = [m for m in pool if (m.module, m.change.text) not in equivalent]
    return random.Random(seed).sample(pool, min(sample, len(pool)))


def guards() -> dict[str, list[str]]:
    """The tests of each module of the core."""
    told = tomllib.loads((HERE / "core.toml").read_text("utf-8"))["guard"]
    return {module: each["tests"] for each in told for module in each["modules"]}


def copied(folder: Path) -> Path:
    """A copy of the package that may be changed."""
    left_out = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "compactlab", folder / "compactlab", ignore=left_out)
    compileall.compile_dir(folder, quiet=1)
    return folder


def notices(tests: list[str], folder: Path) -> bool:
    """Whether tests fail on the package in a folder; also if they come to no end."""
    command = [
        sys.executable,
        "-P",
        "-m",
        "pytest",
        "-qx",
        "-m",
        "not slow",
        "-p",
        "no:cacheprovider",
    ]
    path = os.pathsep.join(map(str, (folder, ROOT)))
    env = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    quiet = subprocess.DEVNULL
    try:
        return (
            subprocess.call(
                [*command, *tests], cwd=ROOT, env=env, stdout=quiet, stderr=quiet, timeout=LIMIT
            )
            != 0
        )
    except subprocess.TimeoutExpired:
        return True


def is_caught(mutant: Mutant, tests: list[str], folder: Path) -> bool:
    """Whether the tests notice one change."""
    path = folder / "compactlab" / mutant.module
    before = path.read_bytes()
    # Two changes of one size within a second would look alike to what is compiled.
    Path(cache_from_source(str(path))).unlink(missing_ok=True)
    path.write_text(mutant.source(), "utf-8")
    try:
        return notices(tests, folder)
    finally:
        path.write_bytes(before)


def judge(drawn: list[Mutant], jobs: int) -> Iterator[tuple[Mutant, bool]]:
    """Try each change, in their order, once their tests have passed on the package as it is."""
    tests = guards()
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(jobs) as pool:
        folders: SimpleQueue[Path] = SimpleQueue()
        for number in range(jobs):
            folders.put(copied(Path(name) / str(number)))

        def lent(work: Callable[[Path], bool]) -> bool:
            folder = folders.get()
            try:
                return work(folder)
            finally:
                folders.put(folder)

        sets = sorted({tuple(tests[mutant.module]) for mutant in drawn})
        failed = pool.map(lambda each: lent(lambda folder: notices([*each], folder)), sets)
        for each, wrong in zip(sets, failed, strict=True):
            if wrong:
                raise SystemExit(f"these fail on the package as it is: {' '.join(each)}")
        tried = pool.map(lambda m: lent(lambda f: is_caught(m, tests[m.module], f)), drawn)
        yield from zip(drawn, tried, strict=True)


def page(results: list[tuple[Mutant, bool]], told: str) -> str:
    """The result as a page."""
    drawn = Counter(mutant.module for mutant, _ in results)
    caught = Counter(mutant.module for mutant, noticed in results if noticed)
    total = sum(caught.values())
    lines = [
        "# Mutation score", "",
        "`make mutants` changes the core in one place at a time (a comparison, a constant, a"
        " dropped statement) and runs the tests that guard the module. A change that no test"
        " notices survives. Changes that make no difference are listed in"
        " `tests/mutation/equivalent.toml`, each with its reason, and are not drawn.", "",
        f"{told}: {total} of {len(results)} caught, {total / max(1, len(results)):.0%}.", "",
        "| module | drawn | caught |", "|---|---|---|",
        *(f"| `{name}` | {count} | {caught[name]} |" for name, count in sorted(drawn.items())),
    ]  # fmt: skip
    survivors = [mutant for mutant, noticed in results if not noticed]
    if survivors:
        lines += ["", "Survivors:", "", *(f"- `{mutant}`" for mutant in survivors)]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Draw, try and tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=80)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--module", action="append", help="a module of core.toml; may be repeated")
    parser.add_argument("--page", type=Path, help="the page to write the result to")
    given = parser.parse_args()
    drawn = draw(given.module or list(guards()), given.sample, given.seed)
    results = []
    for mutant, noticed in judge(drawn, given.jobs):
        print("caught  " if noticed else "SURVIVED", mutant, flush=True)
        results.append((mutant, noticed))
    text = page(results, f"{date.today()}, {len(drawn)} changes drawn with seed {given.seed}")
    print(text)
    if given.page:
        given.page.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
