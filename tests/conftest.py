"""What every test may ask for."""

from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"

# The same examples on every machine, and no failure because one of them is slow.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile("ci")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--vectors",
        type=Path,
        default=SHARED / "vectors",
        help="folder of vector files for tests/conformance (default: %(default)s)",
    )


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


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """No terminal, whatever the tests are run on."""
    rich = ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "TERM", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
    for name in rich:
        monkeypatch.delenv(name, raising=False)
