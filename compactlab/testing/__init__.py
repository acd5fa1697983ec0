"""A plug-in for pytest, by which an agent's repository holds its compaction settings in its tests.

pytest loads this at every start, also for those who never ask for it. So nothing else of
compactlab is imported here before a test does.
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
    """Take an option, and a line of the configuration that says the same for good."""
    meaning = (
        "hide what looks like keys, tokens and mail addresses in what the fixture compaction "
        "finds and says"
    )
    group = parser.getgroup("compactlab")
    group.addoption("--compaction-redact", action="store_true", default=False, help=meaning)
    parser.addini("compaction_redact", meaning, type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", _MARKER)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Refuse a test that has the marker and not the fixture: it would hold nothing and pass."""
    marked = any(marker.name == "compaction" for marker in item.own_markers)
    if marked and "compaction" not in getattr(item, "fixturenames", ()):
        pytest.fail(
            f"{item.nodeid}: the marker compaction does nothing without the fixture of that "
            "name; give the test an argument compaction",
            pytrace=False,
        )


@pytest.fixture(scope="session")
def compaction_replays(request: pytest.FixtureRequest) -> Replays:
    """What has been replayed in this session; workers of pytest-xdist share it."""
    from compactlab.testing.tested import Replays

    shared: Path | None = None
    if "PYTEST_XDIST_WORKER" in os.environ:
        # Asked for here alone, so that one process does without temporary folders.
        factory: pytest.TempPathFactory = request.getfixturevalue("tmp_path_factory")
        shared = factory.getbasetemp().parent / "compactlab"
    return Replays(shared)


@pytest.fixture
def compaction(request: pytest.FixtureRequest, compaction_replays: Replays) -> Compaction:
    """The replay that the test's markers ``compaction`` ask for."""
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
    # Not where it was caught: what led to it would be told, too.
    pytest.fail(f"{item.nodeid}: marker compaction: {wrong}", pytrace=False)
