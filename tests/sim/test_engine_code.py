"""What the engine's digest covers: all that a cell executes, and only what can change a figure."""

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import compactlab
from compactlab.request.names import plan
from compactlab.sim.experiment.workers import ALONE
from compactlab.sim.store import code
from compactlab.sim.store.store import Store

PACKAGE = Path(compactlab.__file__).parent
ROOT = PACKAGE.parent
Edit = Callable[[str], str]


def python(*words: str | Path, at: Path) -> str:
    done = subprocess.run(
        [sys.executable, *words],
        cwd=at,
        env={**os.environ, "PYTHONPATH": str(at), "PYTHONDONTWRITEBYTECODE": ""},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_cell_executes_nothing_that_its_digests_do_not_cover(tmp_path):
    told = json.loads(python("-m", "tests.sim.executed", tmp_path, at=ROOT))
    assert told["strangers"] == []
    # Not because nothing was executed: most of the engine was, redaction too.
    engine = {str(path.relative_to(PACKAGE)) for path in code.reached([code.ENGINE]).values()}
    assert len(engine - set(told["executed"])) < len(engine) / 5
    assert {"sim/cache/prefixes.py", "privacy/redactor.py"} <= set(told["executed"])


def test_what_only_looks_at_stores_or_runs_experiments_is_no_part_of_it():
    engine = {name.removeprefix("compactlab.") for name in code.reached([code.ENGINE])}
    rooms = {name.rpartition(".")[0] for name in engine}
    experiment = {
        name.rpartition(".")[2]
        for name in engine
        if name.startswith(("sim.experiment.", "sim.store."))
    }
    assert not {"reports", "reports.audit", "reports.page", "testing", "cli"} & rooms
    assert not {"merge", "results", "store", "sweep", "workers"} & experiment
    assert {"privacy", "sim.cache", "sim.facts", "sim.metrics", "sim.models", "sim.replay"} <= rooms
    assert {"parquet", "run", "shard", "tables"} <= experiment
    hidden = code.reached([code.ENGINE], without=[code.REDACTION])
    assert not [name for name in hidden if name.startswith("compactlab.privacy")]


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the package; digests are of it."""
    copy = tmp_path / "compactlab"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(code, "_ROOT", copy)
    _forget()
    yield copy
    _forget()


def _forget() -> None:
    for cached in (code.digest_of_engine, code._package, code._engine, code._digest_of_ours):
        cached.cache_clear()
    code._kept.cache_clear()
    code._parsed_of_ours.cache_clear()


def _unparsed(source: bytes) -> code._Parsed:
    raise AssertionError(source[:80])


def test_what_one_process_parsed_the_next_one_does_not(copied, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    before = digests()
    monkeypatch.setattr(code, "_parse", _unparsed)
    assert digests() == before
    changed = copied / "sim" / "cache" / "anthropic.py"
    changed.write_text(extended(changed.read_text("utf-8")), "utf-8")
    with pytest.raises(AssertionError, match="prompt cache"):
        digests()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"x": 1}', b'{"x": [1, 2, 3]}', b"\xff"])
def test_a_damaged_file_of_what_was_parsed_is_not_used(content, copied, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    before, file = digests(), code._file_of_parsed(copied)
    written = file.read_bytes()
    file.write_bytes(content)
    assert digests() == before
    assert file.read_bytes() == written


def test_where_python_writes_no_bytecode_nothing_is_written(copied, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    digests()
    assert not code._file_of_parsed(copied).exists()


def test_a_folder_that_cannot_be_written_costs_time_alone(copied, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (copied / "__pycache__").write_text("a file")
    before = digests()
    (copied / "__pycache__").unlink()
    assert digests() == before


def digests() -> tuple[str, str]:
    """Of the engine without redaction, and with it."""
    _forget()
    return code.digest_of_engine(redact=False), code.digest_of_engine(redact=True)


def commented(text: str) -> str:
    return f"# Another word.\n{text}# And one more.\n"


def redocumented(text: str) -> str:
    start = text.index('"""') + 3
    return f"{text[:start]}Other words. {text[start:]}"


def extended(text: str) -> str:
    return f"{text}\nANOTHER = 1\n"


def numbered(text: str) -> str:
    """The first number is another one."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            node.value += 1
            return ast.unparse(tree)
    return extended(text)


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("sim/cache/anthropic.py", commented),
        ("sim/cache/anthropic.py", redocumented),
        ("sim/metrics/context.py", redocumented),
        ("sim/models/models.toml", commented),
        ("reports/audit/diagnosis.py", commented),
        ("reports/audit/diagnosis.py", numbered),
        ("testing/contract.py", numbered),
        ("sim/store/results.py", extended),
        ("sim/store/store.py", extended),
        ("sim/experiment/workers.py", numbered),
        ("reports/__init__.py", extended),
        ("reports/charts/setbacks.py", numbered),
        ("strategies/controls.py", extended),
        ("cli/run.py", extended),
        ("__init__.py", extended),
    ],
)
def test_what_cannot_change_a_figure_is_not_noticed(name, edit, copied):
    before, file = digests(), copied / name
    text = file.read_text("utf-8")
    assert edit(text) != text
    file.write_text(edit(text), "utf-8")
    assert digests() == before


def test_a_number_in_any_module_of_it_is(copied):
    seen = {digests()[0]}
    modules = sorted(code.reached([code.ENGINE], without=[code.REDACTION]).items())[::3]
    for _, path in modules:
        path.write_text(numbered(path.read_text("utf-8")), "utf-8")
        _forget()
        seen.add(code.digest_of_engine(redact=False))
    assert len(seen) == len(modules) + 1


def test_so_is_data_that_it_reads(copied):
    before, models = digests(), copied / "sim" / "models" / "models.toml"
    models.write_text(f"{models.read_text('utf-8')}\n[another]\n", "utf-8")
    assert digests()[0] != before[0]


def test_how_secrets_are_hidden_matters_where_they_are(copied):
    before, file = digests(), copied / "privacy" / "redactor.py"
    file.write_text(extended(file.read_text("utf-8")), "utf-8")
    after = digests()
    assert after[0] == before[0]
    assert after[1] != before[1]


def test_finished_results_stay_until_a_figure_may_be_another(copied, tmp_path):
    store = Store(tmp_path / "store")

    def cells() -> int:
        """How many cells are to be run; they are run."""
        _forget()
        planned = plan(
            ["coding_agent(turns=2, tokens=2000)"], ["keep_all", "sliding_window(keep=4)"]
        )
        with store.locked():
            missing = sum(len(shard.cells) for shard in planned.missing(store))
            planned.run_into(store, ALONE)
        return missing

    def change(name: str, edit: Edit) -> None:
        file = copied / name
        file.write_text(edit(file.read_text("utf-8")), "utf-8")

    assert cells() == 2
    for name in (
        "sim/cache/anthropic.py",
        "strategies/windows.py",
        "scenarios/engine/plan.py",
    ):
        change(name, commented)
        change(name, redocumented)
    for name in (
        "reports/audit/diagnosis.py",
        "reports/charts/setbacks.py",
        "scenarios/readers/pi.py",
    ):
        change(name, extended)
    assert cells() == 0
    change("strategies/windows.py", extended)
    assert cells() == 1
    change("sim/cache/anthropic.py", extended)
    assert cells() == 2
