"""Patterns of files: what they fit, and how far somebody looks for it."""

from __future__ import annotations

import glob
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compactlab.request.file import Expansion
from compactlab.request.toml_file import Faults
from compactlab.scenarios.catalogue import sources
from compactlab.scenarios.readers import folders
from compactlab.scenarios.readers.folders import files_like
from compactlab.sim.core.errors import UsageError


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    for name in ("a.jsonl", "b/a.jsonl", "b/c/a.txt", "b/c/.a.jsonl", ".h/a.jsonl", "b/[c]/d"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    (root / "link").symlink_to(root / "b")
    (root / "gone").symlink_to(root / "nowhere")
    return root


STEPS = st.sampled_from(["a.jsonl", "*", "**", "b", "?", ".*", "*.jsonl", "[b-c]", "..", "[[]c]"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEPS, min_size=1, max_size=4))
def test_a_pattern_fits_what_glob_finds(tree, steps):
    pattern = os.path.join(tree, *steps)
    found = set(map(Path, glob.glob(pattern, recursive=True)))
    if steps[-1] == "**":  # whether a folder is below itself
        found.discard(Path(pattern).parent)
    assert {Path(os.path.normpath(p)) for p in files_like(pattern)} - {tree} == {
        Path(os.path.normpath(p)) for p in found
    } - {tree}


def test_no_more_is_looked_at_than_a_limit(tree, monkeypatch):
    """A walk of the whole machine ends before it has begun."""
    monkeypatch.setattr(folders, "VISITED", 4)
    seen = []
    listed = folders._Visit.entries

    def counted(self, folder):
        for entry in listed(self, folder):
            seen.append(entry)
            yield entry

    monkeypatch.setattr(folders._Visit, "entries", counted)
    named = rf"'{tree}/\*\*/\*.none': more than 4 files and folders would be looked at; name a"
    with pytest.raises(UsageError, match=named):
        sources([f"{tree}/**/*.none"])
    assert len(seen) == 4


def test_an_experiment_looks_no_further(tree, monkeypatch):
    monkeypatch.setattr(folders, "VISITED", 4)
    faults = Faults()
    Expansion(tree, faults).conversations(["**/*.none", {"files": "**/*.none"}])
    assert [place for place, _ in faults] == [("conversations", 0), ("conversations", 1, "files")]
    assert all("more than 4 files" in message for _, message in faults)


def test_a_folder_with_more_files_than_that_is_refused(tree, monkeypatch):
    monkeypatch.setattr(folders, "VISITED", 4)
    with pytest.raises(UsageError, match="more than 4 files and folders would be looked at"):
        sources([tree])
