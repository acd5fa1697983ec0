"""The bill of an audit beside ccusage's, over the same recorded sessions: slow, and wants npm."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

# The last version in JavaScript, as of 2026-11; later ones are binaries.
VERSION = "18.0.11"
REPOSITORIES = ("cipher-box", "entireio-cli", "oh-my-posh")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def home(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of Claude Code with the recorded sessions."""
    shared = root.parent / "shared" / "recorded-more"
    if not shared.is_dir():
        pytest.skip(f"there are no recordings at {shared}")
    home = tmp_path_factory.mktemp("claude")
    for repository in REPOSITORIES:
        folder = home / "projects" / repository
        folder.mkdir(parents=True)
        for file in sorted((shared / repository).glob("*.jsonl")):
            shutil.copyfile(file, folder / file.name)
    return home


@pytest.fixture(scope="module")
def theirs(home: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What ccusage says of them, by model; it asks nobody for prices."""
    if shutil.which("npm") is None:
        pytest.skip("there is no npm to install ccusage with")
    place = tmp_path_factory.mktemp("npm")
    wanted = ["npm", "install", "--no-audit", "--no-fund", "--prefix", place, f"ccusage@{VERSION}"]
    if subprocess.run(wanted, capture_output=True, check=False).returncode:
        pytest.skip(f"ccusage {VERSION} cannot be had by npm")
    asked = [place / "node_modules" / ".bin" / "ccusage", "session", "--json", "--offline"]
    environment = {**os.environ, "CLAUDE_CONFIG_DIR": str(home), "LOG_LEVEL": "0"}
    done = subprocess.run(asked, env=environment, capture_output=True, check=True, text=True)
    models: dict[str, Any] = {}
    for session in json.loads(done.stdout)["sessions"]:
        for each in session["modelBreakdowns"]:
            sums = models.setdefault(_plain(each["modelName"]), {})
            for key, value in each.items():
                if key != "modelName":
                    sums[key] = sums.get(key, 0) + value
    return models


@pytest.fixture
def ours(home: Path, compactlab: Any) -> dict[str, Any]:
    done = compactlab("audit", "--sums", "--format", "json", home / "projects")
    assert done.code == 0, done.err
    return {_plain(each["model"]): each for each in json.loads(done.out)["spent"]["by_model"]}


def _plain(model: str) -> str:
    """The name of a model without its day."""
    head, _, day = model.rpartition("-")
    return head if len(day) == 8 and day.isdigit() else model


def test_tokens_of_every_class_of_input_are_the_same(ours, theirs):
    assert ours.keys() == theirs.keys()
    assert len(ours) > 3
    for model, own in ours.items():
        other = theirs[model]
        written = own["write_5m_tokens"] + own["write_1h_tokens"]
        assert own["uncached_tokens"] == other["inputTokens"], model
        assert written == other["cacheCreationTokens"], model
        assert own["read_tokens"] == other["cacheReadTokens"], model


def test_dollars_are_the_same_but_for_what_is_known_to_differ(ours, theirs):
    """Version 18 bills writes for an hour as for five minutes, and counts an answer's first line.

    So its bill of a model without writes for an hour is that of our input and its output.
    """
    compared = 0
    for model, own in ours.items():
        if own["write_1h_tokens"] or own["output_tokens"] == 0:
            continue
        price = own["output_usd"] / own["output_tokens"]
        bill = own["input_usd"] + price * theirs[model]["outputTokens"]
        assert bill == pytest.approx(theirs[model]["cost"], abs=0.005), model
        assert own["output_tokens"] >= theirs[model]["outputTokens"]
        compared += 1
    assert compared
