"""A pytest plug-in to test the compaction settings of an agent's repository.

pytest loads this at every start, even for users who do not need it. So the rest of compactlab is
only imported in tests.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from compactlab.testing.tested import Compaction, Replays

_MARKER = (
    "compaction(strategy, conversations, model, window, summarizer, seeds, loop, churn, "
    "models_file, strict): what the fixture of the same name replays"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add a command-line option, and the equivalent configuration setting."""
    meaning = (
        "hide what looks like keys, tokens and mail addresses in what the fixture compaction "
        "finds and says"
    )
    group = parser.getgroup("compactlab")
    group.addoption("--compaction-redact", action="store_true", default=False, help=meaning)
    parser.addini("compaction_redact", meaning, type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", _MARKER)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Fail a test that has the marker but not the fixture: it would check nothing and pass."""
    marked = any(marker.name == "compaction" for marker in item.own_markers)
    if marked and "compaction" not in getattr(item, "fixturenames", ()):
        pytest.fail(
            f"{item.nodeid}: the marker compaction does nothing without the fixture of that "
            "name; give the test an argument compaction",
            pytrace=False,
        )


@pytest.fixture(scope="session")
def compaction_replays(request: pytest.FixtureRequest) -> Replays:
    """Replays of this session; workers of pytest-xdist share them."""
    from compactlab.testing.tested import Replays

    shared: Path | None = None
    if "PYTEST_XDIST_WORKER" in os.environ:
        # Only requested here, so that a single process needs no temporary folder.
        factory: pytest.TempPathFactory = request.getfixturevalue("tmp_path_factory")
        shared = factory.getbasetemp().parent / "compactlab"
    return Replays(shared)


@pytest.fixture
def compaction(request: pytest.FixtureRequest, compaction_replays: Replays) -> Compaction:
    """The replay defined by the test's ``compaction`` markers."""
    from compactlab.privacy import Redactor
    from compactlab.sim.core.errors import CompactlabError
    from compactlab.testing.settings import Settings, nearest_first
    from compactlab.testing.tested import Compaction

    item, config = request.node, request.config
    redact = config.getoption("compaction_redact") or config.getini("compaction_redact")
    try:
        folders = config.rootpath, item.path.parent
        settings = Settings.read(list(nearest_first(item)), folders, redact=bool(redact))
        return Compaction(settings, settings.strategy, compaction_replays)
    except CompactlabError as error:
        wrong = Redactor().text(str(error)) if redact else str(error)
    # Called outside the handler, so that the original error is not shown.
    pytest.fail(f"{item.nodeid}: marker compaction: {wrong}", pytrace=False)
