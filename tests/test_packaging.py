"""What is set up and released: pinned, with nothing left open, in a folder of any name."""

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
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import compactlab

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


def test_a_constraint_is_a_name_and_a_version():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []
    assert lines == sorted(set(lines), key=str.lower)


def test_every_page_installs_what_is_pinned():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    lines = [line for page in pages for line in page.read_text("utf-8").splitlines()]
    shown = [line.split() for line in lines if re.match(r"\$? ?pip install .*\.$", line.strip())]
    assert len(shown) >= 2
    assert [line for line in shown if line[-3:] != ["-c", "constraints.txt", "."]] == []


def test_all_that_is_installed_is_pinned(pyproject, pins):
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


def test_the_build_uses_the_pinned_backend(pyproject, pins):
    assert pyproject["build-system"]["requires"] == [f"hatchling=={pins['hatchling']}"]


# Of each kind some, for to collect all of them takes as long as to run a tenth.
WHERE_TESTS_ARE = ("tests/test_packaging.py", "tests/cli", "tests/sim/facts", "compactlab/sim")


@pytest.mark.slow
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="only a checkout knows its files")
def test_the_clone_may_have_any_name(tmp_path):
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


RELEASE = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8"))
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
JOBS: dict[str, Any] = RELEASE["jobs"]
STEPS = [step for job in JOBS.values() for step in job["steps"]]


def test_actions_are_pinned_to_a_version_and_one_version_each():
    used = {each["uses"] for each in [*STEPS, *ACTION["runs"]["steps"]] if "uses" in each}
    assert [each for each in used if not re.fullmatch(r"[\w./-]+@v\d+\.\d+\.\d+", each)] == []
    assert len({each.partition("@")[0] for each in used}) == len(used)


def test_a_job_of_the_release_may_do_what_it_does_and_no_more():
    assert RELEASE["permissions"] == {}
    beyond = {
        name: job["permissions"]
        for name, job in JOBS.items()
        if job["permissions"] != {"contents": "read"}
    }
    assert beyond == {"attach": {"contents": "write"}, "publish": {"id-token": "write"}}
    for name in beyond:  # which run no code of the repository, and only for a tag
        assert not any("checkout" in step.get("uses", "") for step in JOBS[name]["steps"])
        assert "github.ref_type == 'tag'" in JOBS[name]["if"]
    checkouts = [step for step in STEPS if "checkout" in step.get("uses", "")]
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


def test_no_expression_stands_in_a_script_of_the_release():
    scripts = [step["run"] for step in STEPS if "run" in step]
    assert scripts
    assert [script for script in scripts if "${{" in script] == []


def test_what_is_published_was_tested_before():
    needs = {name: job.get("needs") for name, job in JOBS.items()}
    assert (needs["publish"], needs["attach"]) == ("attach", ["archive", "test"])


def test_the_release_is_of_all_pythons_that_are_named(pyproject):
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(pyproject["project"]["classifiers"]))
    assert JOBS["test"]["strategy"]["matrix"]["python"] == named


def test_the_citation_names_the_version_and_no_person():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["authors"] == [{"name": "the compactlab authors"}]
    assert citation["version"] == compactlab.__version__
