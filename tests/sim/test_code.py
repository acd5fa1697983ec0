"""Digests of code: of the file of a class, and of all that it imports of its project."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from compactlab.sim.code import digest_of_classes, digest_of_folder
from compactlab.strategies.auto_compact import AutoCompact
from compactlab.strategies.catalogue import find_class
from compactlab.strategies.keep_all import KeepAll
from compactlab.strategies.sliding_window import SlidingWindow

FILES = {
    "idea/__init__.py": "from .within import x",
    "idea/within.py": "x = 1",
    "idea/mine.py": (
        "import json, idea.near\n"
        "from idea import far\n"
        "from . import here\n"
        "from .deep.down import depth\n"
        "def later():\n"
        "    from idea.late import lately\n"
        "class Mine: pass\n"
    ),
    "idea/mine.toml": "keep = 1\n",
    "idea/near.py": "import numpy\nimport compactlab.sim.view\n",
    "idea/far.py": "from idea.further import *\n",
    "idea/further.py": "from idea import mine  # a circle\n",
    "idea/here.py": "",
    "idea/late.py": "lately = 1\n",
    "idea/deep/__init__.py": "",
    "idea/deep/down.py": "from ..beside import width as depth\n",
    "idea/beside.py": "width = 1\n",
    "idea/beside.toml": "width = 1\n",
    "idea/stranger.py": "import idea.mine\n",
    "idea/stranger.toml": "",
    "idea/README.md": "",
}
COUNT = {
    "idea/mine.py", "idea/mine.toml", "idea/near.py", "idea/far.py", "idea/further.py",
    "idea/here.py", "idea/late.py", "idea/deep/down.py", "idea/beside.py", "idea/beside.toml",
    # `from . import` names the package, which imports something itself.
    "idea/__init__.py", "idea/within.py",
}  # fmt: skip

Digest = Callable[[], str]


@pytest.fixture
def idea(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Digest]:
    """A project of somebody's, imported; gives the digest of its class."""
    for name, content in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("idea.mine", "idea.late", "idea.stranger"):
        importlib.import_module(name)
    mine = sys.modules["idea.mine"].Mine
    yield lambda: digest_of_classes([mine])
    for name in [name for name in sys.modules if name.partition(".")[0] == "idea"]:
        del sys.modules[name]


@pytest.mark.parametrize("name", sorted(COUNT))
def test_a_change_in_what_it_is_made_of_is_noticed(name: str, idea: Digest, tmp_path: Path) -> None:
    before = idea()
    assert idea() == before
    (tmp_path / name).write_text(f"{FILES[name]}\n# another word\n")
    assert idea() != before
    (tmp_path / name).write_text(FILES[name])
    assert idea() == before


@pytest.mark.parametrize("name", sorted(set(FILES) - COUNT - {"idea/deep/__init__.py"}))
def test_a_change_elsewhere_is_not(name: str, idea: Digest, tmp_path: Path) -> None:
    before = idea()
    (tmp_path / name).write_text(f"{FILES[name]}\n# another word\n")
    assert idea() == before


def test_data_that_comes_later_is_noticed(idea: Digest, tmp_path: Path) -> None:
    before = idea()
    (tmp_path / "idea" / "further.toml").write_text("x = 1")
    assert idea() != before


def test_a_new_import_is_followed(idea: Digest, tmp_path: Path) -> None:
    near = tmp_path / "idea" / "near.py"
    near.write_text("import idea.stranger\n")
    before = idea()
    (tmp_path / "idea" / "stranger.py").write_text("changed = True\n")
    assert idea() != before


def test_what_is_installed_has_a_version_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So it is left out, where a project imports it."""
    site = tmp_path / "lib" / "site-packages"
    site.mkdir(parents=True)
    (site / "installed_one.py").write_text("x = 1\n")
    (tmp_path / "own_one.py").write_text("import installed_one, json\nclass Own: pass\n")
    for folder in (tmp_path, site):
        monkeypatch.syspath_prepend(folder)
    own = importlib.import_module("own_one").Own
    before = digest_of_classes([own])
    (site / "installed_one.py").write_text("x = 2\n")
    assert digest_of_classes([own]) == before
    for name in ("own_one", "installed_one"):
        del sys.modules[name]


OWN = """
from dataclasses import dataclass
from compactlab import Strategy

@dataclass(frozen=True)
class Mine(Strategy):
    def compact(self, view, host):
        return view  # {}
"""


def test_a_file_that_is_named_by_its_path_is_followed_too(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    digests = []
    for word in ("one", "another", "one"):
        file.write_text(OWN.format(word))
        digests.append(digest_of_classes([find_class(f"{file}:Mine")]))
    assert digests[0] == digests[2] != digests[1]


def test_built_in_strategies_have_code_of_their_own() -> None:
    """The engine's is left out: it has a digest for itself."""
    digests = [digest_of_classes([cls]) for cls in (KeepAll, SlidingWindow, AutoCompact)]
    assert len(set(digests)) == 3
    assert digest_of_classes([SlidingWindow, KeepAll]) == digest_of_classes(
        [KeepAll, SlidingWindow]
    )
    for cls in (KeepAll, AutoCompact):
        reached = _reached(cls)
        assert cls.__module__ in reached
        assert not [name for name in reached if name.startswith("compactlab.sim")]
    assert "compactlab.strategies.mechanisms" in " ".join(_reached(AutoCompact))


def _reached(cls: type) -> list[str]:
    """The modules whose files are read for a digest."""
    from compactlab.sim import code

    seen: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(code, "_digest", lambda files: seen.extend(name for name, _ in files) or "")
        digest_of_classes([cls])
    return seen


def test_a_class_that_is_in_no_file_goes_by_its_name() -> None:
    made = type("Made", (), {"__module__": "nowhere"})
    other = type("Made", (), {"__module__": "elsewhere"})
    assert digest_of_classes([made]) == digest_of_classes([made]) != digest_of_classes([other])


def test_folders_of_the_package_have_digests() -> None:
    digests = {name: digest_of_folder(name) for name in ("sim", "scenarios", "strategies")}
    assert len(set(digests.values())) == 3
    assert all(len(digest) == 16 for digest in digests.values())
