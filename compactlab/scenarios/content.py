"""What sources hold, in a word that changes when it does, without loading their conversations."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from compactlab.scenarios import transcript
from compactlab.scenarios.plot.profile import file_of
from compactlab.sim.code import digest_of_classes, digest_of_file, digest_of_modules
from compactlab.sim.scenario import Scenario

_CHUNK = 1 << 20
# Characters of a token, for a guess at the size of what is not yet made.
_CHARACTERS = 4


def of_file(file: Path, *, lenient: bool) -> str:
    """Of a transcript: a digest of its bytes, and of the code that reads it.

    Parameters
    ----------
    file
        The transcript.
    lenient
        Whether lines that cannot be read are passed over.
    """
    return f"{_digest(file)} {_readers()} {lenient}"


def of_scenario(scenario: Scenario) -> str:
    """Of a scenario: its spec, the code that makes it, and its profile."""
    return f"{scenario.spec} {_maker(type(scenario))} {_profile(getattr(scenario, 'profile', ''))}"


def size_of_file(file: Path) -> int:
    """Bytes of a transcript; 0 if it is not there."""
    try:
        return file.stat().st_size
    except OSError:
        return 0


def size_of_scenario(scenario: Scenario) -> int:
    """Bytes of text, about, that a scenario makes; 0 if it does not say."""
    tokens: Any = getattr(scenario, "tokens", 0)
    return tokens * _CHARACTERS if isinstance(tokens, int) else 0


@cache
def _readers() -> str:
    return digest_of_modules([transcript.__name__])


@cache
def _maker(cls: type[Scenario]) -> str:
    return digest_of_classes([cls])


def _profile(name: Any) -> str:
    try:
        return digest_of_file(file_of(name)) if name else ""
    except (OSError, ValueError) as error:  # it will be a row of its own when it is read
        return str(error)


def _digest(file: Path) -> str:
    seen = hashlib.blake2b(digest_size=16)
    try:
        with file.open("rb") as content:
            while chunk := content.read(_CHUNK):
                seen.update(chunk)
    except OSError as error:  # it will be a row of its own when it is read
        return str(error.strerror)
    return seen.hexdigest()
