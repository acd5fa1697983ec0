"""The house keeps its order: who may import whom, and what is loaded only where it is used.

Imports are read with `ast`, so those in functions and under TYPE_CHECKING count as well. Each rule
says which line breaks it. The last part plants violations in small made-up packages: a rule that
cannot fail would be worth nothing.
"""

import ast
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# The modules of sim, bottom to top: each may import only what stands before it. A folder is one
# entry, free inside.
ORDER = [
    "errors", "isolation", "code", "files", "spec", "stream", "message", "framing", "memory",
    "phase", "tokens", "conversation", "tally", "scenario", "weight", "buffer", "messages", "view",
    "alignment", "attribution", "declaration", "summarize", "extra_turn", "blocks", "prompt",
    "place", "lineage", "arm", "cache", "causes", "bill", "rates", "prefill", "section",
    "model_file", "model", "pricing", "recording", "churn", "client", "meter", "trace",
    "identifiers", "sanity", "needs", "relevance", "facts", "host", "strategy", "foreign",
    "session", "side_calls", "elsewhere", "rework", "caller", "replay", "contract", "anatomy",
    "metrics", "diff", "score", "audit", "tables", "account", "parquet", "whole_file", "database",
    "manifest", "store", "run", "selection", "results", "deadline", "one_run", "source",
    "redaction", "disclosure", "condition", "shard", "merge", "cluster", "workers", "sweep",
]  # fmt: skip

# Each may import sim and itself, and never another.
FAMILIES = {"strategies", "summarizers", "scenarios", "reports"}

# What a user meets: it may import everything.
FACE = {"", "__main__", "api", "cli", "naming", "plugin", "scoring"}

# In strategies/, the places that are no strategy and know them all. Agents are compositions.
INDEX = {"", "catalogue", "agents"}

# Slow to load, so imported in the function that uses it. The modules behind a name may do so at
# their top, because they are themselves imported in a function.
HEAVY: Mapping[str, set[str]] = {
    "dask": set(),
    "detect_secrets": set(),
    "distributed": set(),
    "duckdb": set(),
    "filelock": set(),
    "genai_prices": set(),
    "joblib": set(),
    "matplotlib": set(),
    "pandas": set(),
    "pyarrow": set(),
    "rich": set(),
    "scipy": set(),
}

LINKS = ("sim", "strategies", "scenarios", "reports")


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
    """The place in its folder: `cache` for `sim.cache.none`, and "" for `sim`."""
    return f"{module}.".split(".")[1]


def everything_has_a_place(package: Package) -> Iterator[str]:
    for name, path in package.paths.items():
        if folder(name) not in {"sim", *FAMILIES, *FACE}:
            yield f"{path} is in no known part: move it, or name {folder(name)!r} in FAMILIES"
        if folder(name) == "sim" and entry(name) not in {"", *ORDER}:
            yield f"{path} has no place: put {entry(name)!r} into ORDER, above all it imports"


def the_engine_keeps_its_order(package: Package) -> Iterator[str]:
    rank = {"": -1} | {name: number for number, name in enumerate(ORDER)}
    for name in package.paths:
        if folder(name) != "sim" or entry(name) not in rank:
            continue
        for target, where in package.own(name):
            if folder(target) != "sim":
                yield f"{where} imports {target or 'the face'}: sim knows nothing above itself"
            elif rank.get(entry(target), -1) > rank[entry(name)]:
                yield f"{where} imports {target}, which stands above {entry(name)!r} in ORDER"


def families_keep_apart(package: Package) -> Iterator[str]:
    for name in package.paths:
        if folder(name) not in FAMILIES:
            continue
        for target, where in package.own(name):
            if folder(target) not in {"sim", folder(name)}:
                yield f"{where} imports {target or 'the face'}: {folder(name)} may only import sim"


def strategies_are_strangers(package: Package) -> Iterator[str]:
    for name in package.paths:
        if folder(name) != "strategies" or entry(name) in INDEX:
            continue
        for target, where in package.own(name):
            known = entry(target) in {"mechanisms", entry(name)}
            if folder(target) == "strategies" and not known:
                yield f"{where} imports {target}: what strategies share belongs into mechanisms"


def nothing_goes_in_circles(package: Package) -> Iterator[str]:
    graph = {name: {target for target, _ in package.own(name)} for name in package.paths}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        yield "each imports the next: " + ", ".join(reversed(error.args[1]))


def heavy_libraries_wait(package: Package) -> Iterator[str]:
    for name, imports in package.imports.items():
        for found in imports:
            library = folder(found.target)
            if library in HEAVY and name not in HEAVY[library] and not found.deferred:
                yield f"{found.where} imports {found.target} at its top: do it where it is used"


Rule = Callable[[Package], Iterator[str]]
RULES: list[Rule] = [
    everything_has_a_place,
    the_engine_keeps_its_order,
    families_keep_apart,
    strategies_are_strangers,
    nothing_goes_in_circles,
    heavy_libraries_wait,
]


@pytest.fixture(scope="module")
def package() -> Package:
    return Package(ROOT)


@pytest.mark.parametrize("rule", RULES)
def test_the_package_keeps_the_rule(rule: Rule, package: Package) -> None:
    complaints = list(rule(package))
    assert not complaints, "\n" + "\n".join(complaints)


def test_the_order_names_nothing_that_is_gone(package: Package) -> None:
    assert set(ORDER) <= {entry(name) for name in package.paths if folder(name) == "sim"}


def test_asking_for_help_loads_nothing_heavy() -> None:
    code = "import compactlab.cli.group, sys; print(sorted({*sys.argv[1:]} & {*sys.modules}))"
    command = [sys.executable, "-c", code, *HEAVY]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="an unpacked sdist has no links")
@pytest.mark.parametrize("name", LINKS)
def test_the_folders_stand_at_the_top_as_links(name: str) -> None:
    assert (ROOT / name).readlink() == Path("compactlab", name)


# A rule, a made-up package that breaks it, and the complaint about it.
PLANTED: list[tuple[Rule, dict[str, str], str]] = [
    (
        everything_has_a_place,
        {"sim/errors.py": "", "sim/novelty.py": ""},
        "sim/novelty.py has no place: put 'novelty' into ORDER, above all it imports",
    ),
    (
        everything_has_a_place,
        {"plugins/one.py": ""},
        "plugins/one.py is in no known part: move it, or name 'plugins' in FAMILIES",
    ),
    (
        the_engine_keeps_its_order,
        {"sim/view.py": "def f():\n    from compactlab.sim import host", "sim/host.py": ""},
        "sim/view.py:2 imports sim.host, which stands above 'view' in ORDER",
    ),
    (
        the_engine_keeps_its_order,
        {"sim/cache/none.py": "import compactlab.sim.prompt\nimport compactlab.sim.model"},
        "sim/cache/none.py:2 imports sim.model, which stands above 'cache' in ORDER",
    ),
    (
        the_engine_keeps_its_order,
        {"sim/view.py": "if typing.TYPE_CHECKING:\n    import compactlab.reports.html"},
        "sim/view.py:2 imports reports.html: sim knows nothing above itself",
    ),
    (
        families_keep_apart,
        {"reports/html.py": "import compactlab.sim.view\nfrom compactlab.scenarios.pi import Pi"},
        "reports/html.py:2 imports scenarios.pi: reports may only import sim",
    ),
    (
        families_keep_apart,
        {"summarizers/lossy.py": "from compactlab import View"},
        "summarizers/lossy.py:1 imports the face: summarizers may only import sim",
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
            "sim/cache/none.py": "from compactlab.sim.cache import policy",
            "sim/cache/policy.py": "def f():\n    from compactlab.sim.cache.none import NoCache",
        },
        "each imports the next: sim.cache.none, sim.cache.policy, sim.cache.none",
    ),
    (
        heavy_libraries_wait,
        {"reports/a.py": "def f():\n    import pandas", "reports/b.py": "import scipy.stats"},
        "reports/b.py:1 imports scipy.stats at its top: do it where it is used",
    ),
]


@pytest.mark.parametrize(("rule", "files", "complaint"), PLANTED)
def test_a_rule_finds_what_breaks_it(
    rule: Rule, files: dict[str, str], complaint: str, tmp_path: Path
) -> None:
    for name, source in files.items():
        file = tmp_path / "compactlab" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source, encoding="utf-8")
    found = [line.replace("compactlab/", "") for line in rule(Package(tmp_path))]
    assert found == [complaint]
