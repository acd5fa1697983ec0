"""The house keeps its order: who may import whom, and what is loaded only where it is used.

Imports are read with `ast`, so those in functions and under TYPE_CHECKING count as well. Each rule
says which line breaks it. The last part plants violations in small made-up packages: a rule that
cannot fail would be worth nothing.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def rooms() -> list[str]:
    """The rooms of docs/dev/design.md, bottom to top: each may import those before it."""
    page = (ROOT / "docs" / "dev" / "design.md").read_text(encoding="utf-8")
    plan = page.partition("## The house\n")[2].partition("**Where additions go.**")[0]
    rows = [line.split("|")[1] for line in plan.splitlines() if line.startswith("| `")]
    return [name.replace("/", ".") for row in rows for name in re.findall(r"`([\w/]+)`", row)]


ORDER = rooms()

# Each may import the engine and itself, and never another.
FAMILIES = {"strategies", "scenarios", "reports"}
ENGINE = {"sim", "privacy", "llm"}

# What a user meets: it may import everything.
FACE = {"", "__main__", "api", "cli", "request", "testing"}

# In strategies/, the places that are no strategy and know them all.
INDEX = {"", "catalogue"}
# A system that is built on another one, as the real one is.
BUILT_ON = {
    "openclaw": {"pi", "providers"},
    "claude_code": {"idle_compaction"},
    "opencode": {"openclaw"},
    "context_windows": {"codex"},
    "described_results": {"hermes"},
    "qwen_code": {"gemini_cli", "claude_code"},
}

# Slow to load, so imported in the function that uses it.
HEAVY = {
    "anthropic", "bm25s", "dask", "detect_secrets", "distributed", "duckdb", "filelock",
    "genai_prices", "joblib", "matplotlib", "openai", "pandas", "rich", "zstandard",
}  # fmt: skip


@dataclass(frozen=True)
class Import:
    """A name that is imported; deferred, if it is not loaded together with its module."""

    target: str
    where: str
    deferred: bool


class Package:
    """The modules of a package and their imports, by their names within it: "" is the face."""

    def __init__(self, root: Path) -> None:
        self.root = root
        files = sorted((root / "compactlab").rglob("*.py"))
        self.paths = {named(path): path for path in (file.relative_to(root) for file in files)}
        self.imports = {name: list(self._read(path)) for name, path in self.paths.items()}

    def _read(self, path: Path) -> Iterator[Import]:
        tree = ast.parse((self.root / path).read_text(encoding="utf-8"))
        for node, deferred in imports_in(tree):
            for target in self._targets(node):
                yield Import(target, f"{path}:{node.lineno}", deferred)

    def _targets(self, node: ast.Import | ast.ImportFrom) -> list[str]:
        if isinstance(node, ast.Import):
            return [alias.name for alias in node.names]
        origin = node.module or "."
        names = [f"{origin}.{alias.name}" for alias in node.names]
        return sorted({name if inner(name) in self.paths else origin for name in names})

    def room(self, module: str) -> str:
        """The folder that a module stands in, or is the face of; a file may be a room itself."""
        path = self.paths.get(module)
        is_room = module in ORDER or (path and path.name == "__init__.py")
        return module if is_room else module.rpartition(".")[0]

    def own(self, module: str) -> Iterator[tuple[str, str]]:
        """What a module imports of the package itself, and where."""
        for found in self.imports[module]:
            if (target := inner(found.target)) is not None:
                yield target, found.where


def imports_in(
    node: ast.AST, deferred: bool = False
) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, deferred
        yield from imports_in(child, deferred or postpones(child))


def postpones(node: ast.AST) -> bool:
    if isinstance(node, ast.If):
        return ast.unparse(node.test).endswith("TYPE_CHECKING")
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def named(path: Path) -> str:
    return ".".join(path.with_suffix("").parts[1:]).removesuffix("__init__").removesuffix(".")


def inner(target: str) -> str | None:
    """The name within the package; None, if it is in another one."""
    package, _, name = target.partition(".")
    return name if package == "compactlab" else None


def folder(module: str) -> str:
    return module.partition(".")[0]


def entry(module: str) -> str:
    """The place in its folder: `cache` for `sim.cache.policy`, and "" for `sim`."""
    return f"{module}.".split(".")[1]


def everything_has_a_place(package: Package) -> Iterator[str]:
    for name, path in package.paths.items():
        if folder(name) in FACE or package.room(name) in {*ORDER, "sim", "reports"}:
            continue
        yield f"{path} is in no known room: put {package.room(name)!r} into docs/dev/design.md"


def rooms_keep_their_order(package: Package) -> Iterator[str]:
    rank = {room: number for number, room in enumerate(ORDER)}
    for name in package.paths:
        if (room := package.room(name)) not in rank:
            continue
        for target, where in package.own(name):
            above = package.room(target)
            if folder(target) in FACE:
                yield f"{where} imports {target or 'the face'}, which stands above all rooms"
            elif rank.get(above, -1) > rank[room]:
                yield f"{where} imports {target}: {above!r} stands above {room!r}"


def families_keep_apart(package: Package) -> Iterator[str]:
    for name in package.paths:
        if folder(name) not in FAMILIES:
            continue
        for target, where in package.own(name):
            if folder(target) not in {*ENGINE, *FACE, folder(name)}:
                yield f"{where} imports {target}: {folder(name)} may only import the engine"


def strategies_are_strangers(package: Package) -> Iterator[str]:
    for name in package.paths:
        system = entry(name)
        if folder(name) != "strategies" or system in INDEX:
            continue
        known = {"mechanisms", system, *BUILT_ON.get(system, ())}
        for target, where in package.own(name):
            if folder(target) == "strategies" and entry(target) not in known:
                yield f"{where} imports {target}: what strategies share belongs into mechanisms"


def nothing_goes_in_circles(package: Package) -> Iterator[str]:
    graph = {name: {target for target, _ in package.own(name)} for name in package.paths}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        yield "each imports the next: " + ", ".join(reversed(error.args[1]))


def heavy_libraries_wait(package: Package) -> Iterator[str]:
    for imports in package.imports.values():
        for found in imports:
            if folder(found.target) in HEAVY and not found.deferred:
                yield f"{found.where} imports {found.target} at its top: do it where it is used"


Rule = Callable[[Package], Iterator[str]]
RULES: list[Rule] = [
    everything_has_a_place,
    rooms_keep_their_order,
    families_keep_apart,
    strategies_are_strangers,
    nothing_goes_in_circles,
    heavy_libraries_wait,
]


@pytest.fixture(scope="module")
def package() -> Package:
    return Package(ROOT)


@pytest.mark.parametrize("rule", RULES)
def test_the_package_keeps_the_rule(rule, package):
    complaints = list(rule(package))
    assert not complaints, "\n" + "\n".join(complaints)


def test_the_order_names_nothing_that_is_gone(package):
    assert set(ORDER) <= {package.room(name) for name in package.paths}
    assert {*BUILT_ON} <= {entry(name) for name in package.paths if folder(name) == "strategies"}


def test_asking_for_help_loads_nothing_heavy():
    code = "import compactlab.cli.group, sys; print(sorted({*sys.argv[1:]} & {*sys.modules}))"
    command = [sys.executable, "-c", code, *HEAVY]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.parametrize("name", ["sim", "strategies", "scenarios", "reports"])
def test_a_wing_at_the_top_is_a_link_and_no_package_of_its_own(name):
    """Its classes would be other ones than those of the same name in the package."""
    if not (ROOT / name).is_symlink():
        pytest.skip("this copy has no links: an unpacked sdist, or core.symlinks=false")
    assert (ROOT / name).readlink() == Path("compactlab", name)
    command = [sys.executable, "-c", f"import {name}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"import compactlab.{name}" in done.stderr.splitlines()[-1]


# A rule, a made-up package that breaks it, and the complaint about it.
PLANTED: list[tuple[Rule, dict[str, str], str]] = [
    (
        everything_has_a_place,
        {"sim/core/errors.py": "", "sim/novelty/new.py": ""},
        "sim/novelty/new.py is in no known room: put 'sim.novelty' into docs/dev/design.md",
    ),
    (
        everything_has_a_place,
        {"plugins/one.py": ""},
        "plugins/one.py is in no known room: put 'plugins' into docs/dev/design.md",
    ),
    (
        rooms_keep_their_order,
        {
            "sim/core/view.py": "def f():\n    from compactlab.sim.replay import host",
            "sim/replay/host.py": "",
        },
        "sim/core/view.py:2 imports sim.replay.host: 'sim.replay' stands above 'sim.core'",
    ),
    (
        rooms_keep_their_order,
        {
            "reports/render/text.py": "import compactlab.sim.core.view\n"
            "import compactlab.reports.gate.rules",
            "reports/gate/rules.py": "",
            "sim/core/view.py": "",
        },
        "reports/render/text.py:2 imports reports.gate.rules: "
        "'reports.gate' stands above 'reports.render'",
    ),
    (
        rooms_keep_their_order,
        {"strategies/mechanisms/cut.py": "from compactlab import View"},
        "strategies/mechanisms/cut.py:1 imports the face, which stands above all rooms",
    ),
    (
        families_keep_apart,
        {
            "reports/page/html.py": "import compactlab.sim.core.view\n"
            "if typing.TYPE_CHECKING:\n    from compactlab.scenarios.readers.pi import Pi",
        },
        "reports/page/html.py:3 imports scenarios.readers.pi: reports may only import the engine",
    ),
    (
        strategies_are_strangers,
        {
            "strategies/one.py": "from compactlab.strategies.mechanisms.cut import cut",
            "strategies/two.py": "from compactlab.strategies.one import One",
        },
        "strategies/two.py:1 imports strategies.one: what strategies share belongs into mechanisms",
    ),
    (
        nothing_goes_in_circles,
        {
            "sim/cache/prefixes.py": "from compactlab.sim.cache import policy",
            "sim/cache/policy.py": "def f():\n    from compactlab.sim.cache.prefixes import Tree",
        },
        "each imports the next: sim.cache.policy, sim.cache.prefixes, sim.cache.policy",
    ),
    (
        heavy_libraries_wait,
        {"reports/a.py": "def f():\n    import pandas", "reports/b.py": "import duckdb"},
        "reports/b.py:1 imports duckdb at its top: do it where it is used",
    ),
]


@pytest.mark.parametrize(("rule", "files", "complaint"), PLANTED)
def test_a_rule_finds_what_breaks_it(rule, files, complaint, tmp_path):
    for name, source in files.items():
        file = tmp_path / "compactlab" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source, encoding="utf-8")
    found = [line.replace("compactlab/", "") for line in rule(Package(tmp_path))]
    assert found == [complaint]
