"""What every test may ask for."""

import gc
import json
import os
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings

from compactlab.scenarios.engine.story import Story
from compactlab.sim.core import registry
from compactlab.sim.experiment import conditions
from tests import surroundings

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"

# The same examples on every machine, and no failure because one of them is slow.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile("ci")

# What of each product of cases the fast suite runs; `make test-slow` runs the others.
FAST = tomllib.loads((ROOT / "tests" / "fast.toml").read_text(encoding="utf-8"))
# `make test-slow` draws all examples of a property test, anything else a tenth of them.
EVERY = "COMPACTLAB_EXAMPLES"
FEWEST = 5


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(surroundings)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A file's tests stay together: what they share is made once."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Shared(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            # These look at the same conversations, from `made.py`.
            made = "tests/scenarios/"
            return made if nodeid.startswith(made) else super()._split_scope(nodeid)

    return Shared(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[Any], list[Any]]:
    """Look for examples in docstrings of the package alone; tests have none."""
    collectors = yield
    return [each for each in collectors if not isinstance(each, DoctestModule)]


def pytest_collection_finish() -> None:
    """Leave what is collected, which stays to the end, out of all that looks for garbage.

    And look for it less often: in so large a process it takes 7 % of the time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say since when the results have not been made anew: nothing fails because of that."""
    made = max((ROOT / "docs" / "results").glob("v*.json"), key=lambda file: file.stem[-10:])
    held = json.loads(made.read_text(encoding="utf-8"))
    since = ["git", "-C", str(ROOT), "rev-list", "--count", f"{held['commit']}..", "compactlab"]
    count = subprocess.run(since, check=False, capture_output=True, text=True).stdout.strip()
    terminalreporter.write_line(
        f"docs/results.md was made on {held['date']} at {held['commit']}; since then the package "
        f"has had {count or 'an unknown number of'} commits (make results)"
    )


def pytest_unconfigure() -> None:
    gc.unfreeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the fast suite fast: some cases of a product, and some examples of a property."""
    leave_to_slow(items, FAST)
    if EVERY not in os.environ:
        for item in items:
            draw_fewer(item)


def leave_to_slow(items: list[pytest.Item], counts: dict[str, int]) -> None:
    """Mark all cases of some tests as slow, but for so many, evenly spread."""
    products = defaultdict(list)
    for item in items:
        products[item.nodeid.partition("[")[0]].append(item)
    for name, count in counts.items():
        cases = products[f"tests/{name}"]
        fast = {number * len(cases) // count for number in range(count)}
        for number, case in enumerate(cases):
            if number not in fast:
                case.add_marker("slow")


def draw_fewer(item: Any) -> None:
    """Have a property test draw a tenth of its examples.

    Hypothesis has no other place for it: what a test says of itself is above any profile.
    """
    test = getattr(item, "obj", None)
    test = getattr(test, "__func__", test)
    known = getattr(test, "_hypothesis_internal_use_settings", None)
    if known is None or hasattr(test, "all_examples"):
        return
    test.all_examples = known.max_examples  # the cases of one test have it in common
    fewer = min(known.max_examples, max(FEWEST, known.max_examples // 10))
    test._hypothesis_internal_use_settings = settings(known, max_examples=fewer)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--vectors",
        type=Path,
        action="append",
        help="folder of vectors for tests/conformance; repeatable (default: those of shared)",
    )


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    """Compare a text with a stored one; COMPACTLAB_UPDATE_GOLDEN=1 stores it instead."""

    def check(name: str, text: str) -> None:
        path = ROOT / "tests" / "golden" / name
        if os.environ.get("COMPACTLAB_UPDATE_GOLDEN"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="")
        assert path.read_bytes().decode() == text

    return check


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder `shared` beside the checkout: recordings and vectors to test against."""
    if not SHARED.is_dir():
        pytest.skip("the recordings are not here: no folder `shared` beside the checkout")
    return SHARED


_conversation = cache(Story.conversation)


@pytest.fixture(scope="module")
def made_once() -> Iterator[None]:
    """A small scenario takes longer to make than to replay, and nothing changes it."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Story, "conversation", _conversation)
        yield


@pytest.fixture(scope="module", autouse=True)
def forgotten(request: pytest.FixtureRequest) -> Iterator[None]:
    """Empty a file's own caches behind its tests: a large process is slow to copy."""
    yield
    for each in vars(request.module).values():
        if getattr(each, "__module__", "") == request.module.__name__:
            getattr(each, "cache_clear", int)()


@pytest.fixture(scope="session", autouse=True)
def plain() -> Iterator[None]:
    """No terminal, whatever the tests are run on, and nothing waits for a disk."""
    rich = ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "TERM", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
    with pytest.MonkeyPatch.context() as environment:
        for name in rich:
            environment.delenv(name, raising=False)
        environment.setattr(os, "fsync", lambda _: None)  # no test pulls the plug
        yield


@pytest.fixture(scope="session", autouse=True)
def looked_up_once() -> Iterator[None]:
    """What is installed stays so, unless a test puts something on Python's path."""
    usual, points = [*sys.path], registry.entry_points
    once = cache(lambda group: points(group=group))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            registry,
            "entry_points",
            lambda group: once(group) if sys.path == usual else points(group=group),
        )
        for name in ("version", "price_list"):
            patched.setattr(conditions, name, cache(getattr(conditions, name)))
        yield
