"""What sources hold, in a word that changes when it does, without loading their conversations."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from compactlab.sim.code import digest_of_folder
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
    return f"{_digest(file)} {digest_of_folder('scenarios')} {lenient}"


def of_scenario(scenario: Scenario) -> str:
    """Of a scenario: its spec, the code that makes it, and its profile if that is a file."""
    profile: Any = getattr(scenario, "profile", "")
    own = _digest(Path(profile)) if str(profile).endswith(".toml") else ""
    return f"{scenario.spec} {digest_of_folder('scenarios')} {own}"


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


def _digest(file: Path) -> str:
    seen = hashlib.blake2b(digest_size=16)
    try:
        with file.open("rb") as content:
            while chunk := content.read(_CHUNK):
                seen.update(chunk)
    except OSError as error:  # it will be a row of its own when it is read
        return str(error.strerror)
    return seen.hexdigest()
