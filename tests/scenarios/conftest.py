"""What the stories about transcripts have in common: a place to write them, and the recordings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.made import made

Transcript = Callable[..., Path]


@pytest.fixture(scope="package", autouse=True)
def _forgotten() -> Iterator[None]:
    """The made conversations, a hundred megabytes of them."""
    yield
    made.cache_clear()


@pytest.fixture
def transcript(tmp_path: Path) -> Transcript:
    """Write records as JSON Lines, and give the path."""

    def write(*records: Any, name: str = "story.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return path

    return write


@pytest.fixture(scope="session")
def recorded(shared: Path) -> Path:
    """The recorded sessions, which are no part of this repository."""
    return shared / "recorded"
