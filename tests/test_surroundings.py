"""The tests work in folders of their own, and a file that they leave in the checkout is named."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.surroundings import CLIENTS, FOLDERS, ROOT, changed, listing

SHOWN = "import os, tempfile; print(os.getcwd(), os.path.expanduser('~'), tempfile.gettempdir())"


def test_nothing_of_the_user_is_near(surroundings):
    told = subprocess.run([sys.executable, "-c", SHOWN], capture_output=True, text=True, check=True)
    places = [Path.cwd(), Path.home(), tempfile.gettempdir(), *told.stdout.split()]
    assert all(surroundings in Path(place).parents for place in places)
    assert all(surroundings / name == Path(os.environ[name]) for name in FOLDERS)
    assert not set(CLIENTS) & set(os.environ)
    assert ROOT not in surroundings.parents


@pytest.mark.parametrize("number", range(2))
def test_what_a_test_leaves_where_it_works_no_other_one_finds(number):
    assert os.listdir() == []
    Path(f"left-{number}").touch()


def written(path: Path, text: str = "text") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    ("act", "named"),
    [
        (lambda root: written(root / "compactlab-out" / "manifest.json", "other"), True),
        (lambda root: (root / "compactlab-out" / "manifest.json").unlink(), True),
        (lambda root: written(root / "new.txt"), True),
        (lambda root: written(root / "docs" / "new.md"), True),
        (lambda root: written(root / "docs" / "page.md", "edited meanwhile"), False),
        (lambda root: written(root / "docs" / "__pycache__" / "x.pyc"), False),
        (lambda root: written(root / ".hypothesis" / "x"), False),
    ],
)
def test_what_changes_in_a_checkout_is_named(act, named, tmp_path):
    for name in ("compactlab-out/manifest.json", "docs/page.md", "README.md"):
        written(tmp_path / name)
    before = listing(tmp_path)
    act(tmp_path)
    assert bool(changed(before, listing(tmp_path))) is named
