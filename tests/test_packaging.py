"""Set-up gives the same everywhere: everything is pinned, and the folder may have any name."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return {
        canonicalize_name(name): version for name, version in (line.split("==") for line in lines)
    }


@pytest.fixture(scope="module")
def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def needed(requirement: Requirement, found: set[str]) -> set[str]:
    """What a requirement installs here, itself included."""
    name = canonicalize_name(requirement.name)
    if name in found:
        return found
    found.add(name)
    for line in importlib.metadata.requires(name) or []:
        further = Requirement(line)
        extras = ["", *requirement.extras]
        marker = further.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras):
            needed(further, found)
    return found


def test_a_constraint_is_a_name_and_a_version() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []
    assert lines == sorted(set(lines), key=str.lower)


def test_all_that_is_installed_is_pinned(pyproject: dict[str, Any], pins: dict[str, str]) -> None:
    project = pyproject["project"]
    found: set[str] = set()
    for line in [*project["dependencies"], *project["optional-dependencies"]["dev"]]:
        needed(Requirement(line), found)
    others = {
        each for each in found & pins.keys() if importlib.metadata.version(each) != pins[each]
    }
    if others:  # as in `make test-lowest`; they need what the pinned ones do not
        pytest.skip(
            f"other versions than the pinned ones are installed: {', '.join(sorted(others))}"
        )
    assert found - pins.keys() == set()


def test_the_build_uses_the_pinned_backend(pyproject: dict[str, Any], pins: dict[str, str]) -> None:
    assert pyproject["build-system"]["requires"] == [f"hatchling=={pins['hatchling']}"]


# Of each kind some, for to collect all of them takes as long as to run a tenth.
WHERE_TESTS_ARE = ("tests/test_packaging.py", "tests/cli", "tests/sim/facts", "compactlab/sim")


@pytest.mark.slow
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="only a checkout knows its files")
def test_the_clone_may_have_any_name(tmp_path: Path) -> None:
    clone = tmp_path / "odd name (1)"
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in listed.split("\0"):
        if not (ROOT / name).is_file() and not (ROOT / name).is_symlink():
            continue  # the end of the list, or deleted and not yet committed
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, clone / name, follow_symlinks=False)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", *WHERE_TESTS_ARE],
        cwd=clone,
        env=os.environ | {"PYTHONPATH": str(clone)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "tests/test_packaging.py::test_the_clone_may_have_any_name" in done.stdout
