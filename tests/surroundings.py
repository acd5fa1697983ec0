"""The tests leave the user's things alone: folders of their own, and the checkout as it was.

It is a plug-in of the whole session, registered by conftest.py: examples in docstrings of the
package are tests as well.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# Where programs keep what is a user's, and what is temporary.
FOLDERS = (
    "HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR", "MPLCONFIGDIR", "TMPDIR",
)  # fmt: skip
# Folders of agents, in which there may be a user's sessions.
CLIENTS = (
    "CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR", "KIMI_CODE_HOME", "HERMES_HOME",
    "GEMINI_CLI_HOME", "COPILOT_HOME", "QWEN_HOME",
)  # fmt: skip
# What tools keep there for themselves while the tests run; and the environments.
TOOLS = {
    ".git", ".venv", ".hypothesis", ".benchmarks", ".pytest_cache", ".mypy_cache", ".ruff_cache",
    "__pycache__", ".idea", ".vscode",
}  # fmt: skip
# Whoever develops may write in these meanwhile.
SOURCES = {"compactlab", "tests", "docs", "examples", ".ci", ".github"}

Listing = dict[str, tuple[int, int]]


def listing(root: Path) -> Listing:
    """What lies in a checkout: sizes and times by name; of sources, the names alone."""
    found = {}
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in TOOLS]
        inside = Path(folder).relative_to(root)
        source = inside.parts[:1] and inside.parts[0] in SOURCES
        for name in files:
            if source:
                found[f"{inside / name}"] = (0, 0)
                continue
            seen = os.lstat(os.path.join(folder, name))
            found[f"{inside / name}"] = (seen.st_size, seen.st_mtime_ns)
    return found


def changed(before: Listing, after: Listing) -> list[str]:
    """The names of files that came, went or were written anew."""
    return sorted(
        name for name in before.keys() | after.keys() if before.get(name) != after.get(name)
    )


@pytest.fixture(scope="session", autouse=True)
def surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folders in place of the user's; behind all tests, the checkout is as it was."""
    before = listing(ROOT)
    folder = tmp_path_factory.mktemp("user")
    with pytest.MonkeyPatch.context() as patched:
        for name in FOLDERS:
            (folder / name).mkdir(mode=0o700)
            patched.setenv(name, str(folder / name))
        for name in CLIENTS:
            patched.delenv(name, raising=False)
        patched.setattr(tempfile, "tempdir", None)
        (folder / "work").mkdir()
        patched.chdir(folder / "work")
        yield folder
    assert changed(before, listing(ROOT)) == []


_numbers = count()


@pytest.fixture(autouse=True)
def _own_folder(surroundings: Path) -> Iterator[None]:
    """An empty folder to work in. It is no `tmp_path`, which takes longer than most tests."""
    folder = surroundings / "work" / str(next(_numbers))
    folder.mkdir()
    os.chdir(folder)
    yield
    os.chdir(surroundings / "work")
