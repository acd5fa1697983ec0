"""How this project answers the questions of the vectors, a file a topic.

Every module has a list `ANSWERS`.
"""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from tests.conformance.vectors import Case


@dataclass(frozen=True)
class Answer:
    """Who answers a function of the vectors.

    `asks` puts a case to the package and writes what it says in the words of the original; it only
    translates. `calls` are the functions of the package that do the work, and `runs` runs a
    strategy (or a reader) that calls them: a test follows the call.
    """

    function: str
    asks: Callable[[Case], Any]
    calls: tuple[FunctionType, ...]
    runs: Callable[[], object]


@dataclass(frozen=True)
class Excluded:
    """A field (or, with field "", a case) that is not compared, and why.

    `case` is a pattern of the case's name, `field` one of the field's place: shell wildcards.
    """

    function: str
    case: str
    field: str
    why: str


def answers() -> dict[str, Answer]:
    """All answers, by function."""
    found: dict[str, Answer] = {}
    for module in _modules():
        for answer in module.ANSWERS:
            assert answer.function not in found, f"{answer.function} is answered twice"
            found[answer.function] = answer
    return found


def excluded() -> list[Excluded]:
    """All that is not compared."""
    return [each for module in _modules() for each in getattr(module, "EXCLUDED", ())]


def _modules() -> list[Any]:
    names = sorted(each.name for each in pkgutil.iter_modules(__path__))
    return [importlib.import_module(f"{__name__}.{name}") for name in names]
