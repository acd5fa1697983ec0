"""Fields say what they may be, and nothing else is made of them."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest

from compactlab.sim.core.errors import UsageError
from compactlab.sim.core.limits import (
    _allowed,
    _declared,
    above,
    at_least,
    between,
    check_fields,
    finite,
)
from compactlab.strategies.catalogue import STRATEGIES, find_strategy
from compactlab.strategies.summarizers.catalogue import SUMMARIZERS

if TYPE_CHECKING:
    from nowhere import Unknown  # type: ignore[import-not-found]


@dataclass(frozen=True)
class Limited:
    keep: Annotated[int, at_least(1)] = 10
    share: Annotated[float, between(0, 1)] = 0.5
    chance: Annotated[float | None, between(0, 1)] = None
    inside: Annotated[float, above(0, below=1)] = 0.5
    part: Annotated[float, above(0, up_to=1)] = 1
    weight: Annotated[float, finite(0)] = 0
    mode: Literal["one", "other"] = "one"
    names: tuple[str, ...] = ()
    size: tuple[str, float] = ("messages", 20)

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class Untold:
    keep: Unknown = 0

    def __post_init__(self) -> None:
        check_fields(self)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"keep": 0}, "keep must be at least 1, not 0"),
        ({"keep": nan}, "keep must be at least 1, not nan"),
        ({"keep": None}, "keep must be at least 1, not None"),
        ({"share": 1.5}, "share must be between 0 and 1, not 1.5"),
        ({"share": -0.5}, "share must be between 0 and 1, not -0.5"),
        ({"chance": "x"}, "chance must be between 0 and 1, not 'x'"),
        ({"inside": 0}, "inside must be above 0 and below 1, not 0"),
        ({"inside": 1}, "inside must be above 0 and below 1, not 1"),
        ({"part": 0}, "part must be above 0 and at most 1, not 0"),
        ({"part": 1.5}, "part must be above 0 and at most 1, not 1.5"),
        ({"weight": inf}, "weight must be finite and at least 0, not inf"),
        ({"weight": -1}, "weight must be finite and at least 0, not -1"),
        ({"mode": "none"}, "mode must be 'one' or 'other', not 'none'"),
        ({"mode": []}, r"mode must be 'one' or 'other', not \[\]"),
        ({"names": "read"}, "names must be a tuple of texts, not 'read'"),
        ({"names": (1,)}, r"names must be a tuple of texts, not \(1,\)"),
    ],
)
def test_what_is_beyond_a_limit_is_refused(fields, why):
    with pytest.raises(ValueError, match=f"^{why}$"):
        Limited(**fields)


@pytest.mark.parametrize(
    "fields", [{"keep": 1}, {"share": 0}, {"share": 1}, {"chance": 0.5}, {"part": 1}]
)
def test_what_stands_at_a_limit_is_not(fields):
    assert Limited(**fields)


def test_lists_become_tuples_all_the_way_down():
    lists: dict[str, Any] = {"names": ["read", "grep"], "size": ["tokens", [1, 2]]}
    made = Limited(**lists)
    assert (made.names, made.size) == (("read", "grep"), ("tokens", (1, 2)))


def test_a_class_whose_types_cannot_be_told_has_no_limits():
    assert Untold(keep=-1).keep == -1


LIMITED = [
    (cls, name)
    for cls in (*STRATEGIES.usable().values(), *SUMMARIZERS.usable().values())
    for name, limit in _declared(cls)[1]
    if not _allowed(nan, limit)
]


def test_whatever_is_built_in_refuses_what_its_own_fields_may_not_be():
    """Whole agents too, by their own field's name and not by that of a part which gets it."""
    for cls, name in LIMITED:
        with pytest.raises(ValueError, match=f"^{name} must be "):
            cls(**{name: nan})


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (
            "gemini_cli(trigger=0)",
            "trigger must be a whole number of tokens, or a share of the window",
        ),
        ("openclaw(history_limit=-3)", "history_limit must be at least 0, not -3"),
    ],
)
def test_an_agent_is_stricter_than_its_part_where_it_says_so(spec, why):
    with pytest.raises(UsageError, match=why):
        find_strategy(spec)
