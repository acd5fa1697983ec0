"""The settings in markers, checked before anything runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import pytest

from compactlab.request.names import (
    plan,
    relative_conversation,
    relative_path,
    relative_strategy,
    strategy_of,
)
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import UsageError, unknown
from compactlab.sim.experiment.sweep import Experiment
from compactlab.sim.replay.client import Churn
from compactlab.sim.replay.recovery import ClosedLoop
from compactlab.sim.replay.strategy import Strategy
from compactlab.sim.replay.summarize import Summarizer

# Markers of a test, by priority.

NAME = "compaction"


def nearest_first(item: pytest.Item) -> Iterator[pytest.Mark]:
    """Yield the ``compaction`` markers of a test, the nearest first.

    A parameter set is nearer than the whole test function, and a class is nearer than its base
    classes: pytest itself uses the opposite order.
    """
    for node in reversed(item.listchain()):
        own = [mark for mark in node.own_markers if mark.name == NAME]
        yield from sorted(own, key=partial(_distance, node))


def _distance(node: object, mark: pytest.Mark) -> int:
    """Return the distance of a marker from the tests of its node; equal ones keep their order."""
    if isinstance(node, pytest.Function) and hasattr(node, "callspec"):
        return int(all(mark is not each for each in node.callspec.marks))
    if isinstance(node, pytest.Class):
        for index, each in enumerate(node.obj.__mro__):
            if any(mark is own for own in _own(each)):
                return index
    return 0


def _own(cls: type) -> list[pytest.Mark]:
    """Return the markers of a class without those of its bases."""
    marks: Any = vars(cls).get("pytestmark", [])
    listed: list[Any] = marks if isinstance(marks, list) else [marks]
    return [each if isinstance(each, pytest.Mark) else each.mark for each in listed]


_CONVERSATION = (str, Path, Conversation)
# The types of each setting, with a description.
KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "strategy": ((str, Strategy), "a strategy or its spec"),
    "conversations": ((*_CONVERSATION, list, tuple), "a path, a scenario, or a list of them"),
    "model": ((str,), "the name of a model"),
    "window": ((int,), "a number of tokens"),
    "summarizer": ((str, Summarizer), "one summariser or its spec"),
    "seeds": ((int,), "a number"),
    "loop": ((str, ClosedLoop), "'open' or 'closed'"),
    "churn": ((str, Path, Churn), "a file that compactlab audit has written"),
    "models_file": ((str, Path), "a file"),
    "strict": ((bool,), "True or False"),
}
_NEEDED = ("strategy", "conversations")


class Marker(Protocol):
    """The part of a pytest marker that is used."""

    @property
    def args(self) -> tuple[Any, ...]:
        """Positional arguments."""

    @property
    def kwargs(self) -> Mapping[str, Any]:
        """Keyword arguments."""


@dataclass(frozen=True)
class Settings:
    """The settings of a replay."""

    strategy: Strategy
    given: Mapping[str, Any]  # the other settings, as compactlab.run accepts them
    folders: tuple[Path, ...]  # base folders of relative paths: the first that has the file
    redact: bool = False

    @classmethod
    def read(
        cls, markers: Sequence[Marker], folders: tuple[Path, ...], *, redact: bool = False
    ) -> Settings:
        """Read markers, nearest first; the first value of a setting counts.

        Raise UsageError if a setting is unknown, missing or of the wrong type.
        """
        given: dict[str, Any] = {}
        for marker in markers:
            if marker.args:
                raise UsageError(f"all settings have names: strategy={marker.args[0]!r}")
            given = {**marker.kwargs, **given}
        for name, value in given.items():
            _check(name, value)
        for name in _NEEDED:
            if name not in given:
                raise UsageError(f"{name} is missing: {KINDS[name][1]}")
        strategy = _strategy(given.pop("strategy"), folders)
        named = given["conversations"]
        listed = [named] if isinstance(named, _CONVERSATION) else list(named)
        given["conversations"] = [_placed(each, folders) for each in listed]
        for name in ("churn", "models_file"):
            if isinstance(given.get(name), str | Path):
                given[name] = _relative_path(str(given[name]), folders)
        model = given.pop("model", "")
        given["models"] = [model] if model else []
        return cls(strategy, given, folders, redact)

    def path(self, name: str | Path) -> Path:
        """Return the path of a file, relative to the same folders as conversations."""
        return Path(_relative_path(str(name), self.folders))

    def under(self, strategy: Strategy | str) -> Strategy:
        """Return another strategy, whose path may be relative to the same folders."""
        _check("strategy", strategy)
        return _strategy(strategy, self.folders)

    def experiment(self, strategy: Strategy) -> Experiment:
        """Return the experiment of a strategy with these settings; raise if it would be empty."""
        tables = ["calls", "facts"]
        # Run in this process, for coverage and debuggers.
        given = {"isolate": False, "redact": self.redact, **self.given}
        planned = plan(strategies=strategy, tables=tables, **given)
        if not planned.sources:
            raise UsageError("there is nothing to replay: no transcript was found")
        return planned


def _check(name: str, value: Any) -> None:
    if name not in KINDS:
        raise UsageError(unknown("setting", name, KINDS))
    kinds, words = KINDS[name]
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise UsageError(f"{name} must be {words}, not {value!r}")
    if name == "conversations" and isinstance(value, list | tuple):
        odd = [each for each in value if not isinstance(each, _CONVERSATION)]
        if odd or not value:
            raise UsageError(f"{name} must be {words}, not {odd[0] if odd else value!r}")


def _strategy(strategy: Strategy | str, folders: Sequence[Path]) -> Strategy:
    if isinstance(strategy, str):
        for folder in folders:
            strategy = relative_strategy(folder, strategy)
    return strategy_of(strategy)


def _placed(conversation: Any, folders: Sequence[Path]) -> Any:
    """Resolve the paths in a conversation's path or spec."""
    if isinstance(conversation, Conversation):
        return conversation
    text = str(conversation)
    paths = (relative_conversation(folder, text) for folder in folders)
    return next((each for each in paths if each != text), text)


def _relative_path(name: str, folders: Sequence[Path]) -> str:
    paths = (relative_path(folder, name) for folder in folders)
    return next((each for each in paths if each != name), name)
