"""Markers of a test, in the order in which they count."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

NAME = "compaction"


def nearest_first(item: pytest.Item) -> Iterator[pytest.Mark]:
    """The markers ``compaction`` of a test, its own first, then those of what it stands in.

    Parameters
    ----------
    item
        The test. Its case, where it is parametrised, is nearer than what holds for all cases, and
        a class is nearer than those that it inherits from: pytest itself has these the other way
        round.
    """
    for node in reversed(item.listchain()):
        own = [mark for mark in node.own_markers if mark.name == NAME]
        yield from sorted(own, key=partial(_distance, node))


def _distance(node: object, mark: pytest.Mark) -> int:
    """How far a marker is from the tests of what it stands at; what is as far stays in order."""
    if isinstance(node, pytest.Function) and hasattr(node, "callspec"):
        return int(all(mark is not each for each in node.callspec.marks))
    if isinstance(node, pytest.Class):
        for place, each in enumerate(node.obj.__mro__):
            if any(mark is own for own in _own(each)):
                return place
    return 0


def _own(cls: type) -> list[pytest.Mark]:
    """The markers of a class itself."""
    found: Any = vars(cls).get("pytestmark", [])
    listed: list[Any] = found if isinstance(found, list) else [found]
    return [each if isinstance(each, pytest.Mark) else each.mark for each in listed]
