"""Programs that are run as strategies: this Python, with the files beside this one."""

import shlex
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from compactlab.strategies.program.exec import Exec

HERE = Path(__file__).parent


def command(file: str, *words: object) -> str:
    return shlex.join([sys.executable, str(HERE / file), *map(str, words)])


@cache
def _obedient(*words: object) -> Exec:
    return Exec(command("obedient.py", *words))


@pytest.fixture(scope="session")
def obedient() -> Callable[..., Exec]:
    """A program that keeps the protocol, started once however many replays it is asked in."""
    return _obedient


@pytest.fixture
def disobedient() -> Callable[..., Exec]:
    """A program that does not."""
    return lambda deed: Exec(
        command("disobedient.py", deed), timeout=0.5 if deed == "hangs" else 60
    )
