"""What a dry run reckons from what it has tried: by hand, with shards that do nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from compactlab.cli import rehearsal


@dataclass(frozen=True)
class Piece:
    """As much of a shard as is looked at."""

    name: str
    work: int
    tried: list[str]
    timeout: float | None = None

    @property
    def cells(self) -> list[str]:
        return [self.name]

    def apart(self) -> list[Piece]:
        return [self]

    def runs(self) -> list[Any]:
        self.tried.append(self.name)
        return []


def pieces(*works: int) -> tuple[list[Any], list[str]]:
    tried: list[str] = []
    return [Piece(f"p{number}", work, tried) for number, work in enumerate(works)], tried


def test_nothing_is_tried_twice_however_long_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "_SECONDS", 1e9)
    todo, tried = pieces(97, 1, 1, 1)
    found = rehearsal._try(todo, None)
    assert sorted(tried) == ["p0", "p1", "p2", "p3"]
    assert (found.cells, found.work) == (4, 100)


@pytest.mark.parametrize(
    ("works", "jobs", "told"),
    [
        ((2, 2, 2), 1, "60 s on 1 worker"),
        ((2, 2, 2), 3, "20 s on 3 workers"),
        ((4, 1, 1), 3, "40 s on 3 workers"),  # the longest is done by one
        ((2, 2, 2), 8, "20 s on 3 workers"),
    ],
)
def test_workers_share_the_work_as_far_as_it_can_be_shared(
    works: tuple[int, ...], jobs: int, told: str
) -> None:
    todo, _ = pieces(*works)
    tried = rehearsal._Tried(cells=1, work=1, seconds=10.0)
    assert told in rehearsal._estimate(tried, todo, jobs, ("calls",))
