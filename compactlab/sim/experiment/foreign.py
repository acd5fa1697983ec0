"""Strategies whose code is not ours, as far as they can be known without loading that code here."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from compactlab.sim.core.errors import UsageError
from compactlab.sim.core.isolation import isolated
from compactlab.sim.core.view import View
from compactlab.sim.experiment.code import digest_of_classes
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Lifetime, Pipeline, Strategy

# Seconds that code may take to be loaded: some of it loads models of language.
PATIENCE = 120.0
_HALF = re.compile("[\ud800-\udfff]")  # half a character
_UNLOADED = "cannot be loaded"
_SHOWN = 300  # characters of what was printed, in an error


@dataclass(frozen=True)
class Card:
    """What a strategy says of itself."""

    kind: str  # module and name of its class
    code: str  # digest
    spec: str
    label: str
    lifetime: Lifetime
    sees_future: bool
    flushes: bool
    breaks: tuple[tuple[str, str], ...]
    caps: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, strategy: Strategy) -> Card:
        """Of a strategy that is loaded."""
        made = type(strategy)
        for name in (strategy.spec, strategy.label):
            if not isinstance(name, str) or not name or _HALF.search(name):
                raise UsageError(f"{made.__name__} has no name that could be written: {name!r}")
        return cls(
            kind=f"{made.__module__}:{made.__qualname__}",
            code=" ".join(filter(None, (digest_of_classes([made]), strategy.outside))),
            spec=strategy.spec,
            label=strategy.label,
            lifetime=Lifetime(strategy.lifetime),
            sees_future=bool(strategy.sees_future),
            flushes=bool(strategy.flushes),
            breaks=tuple((str(rule), str(why)) for rule, why in strategy.breaks.items()),
            caps=tuple((str(name), int(tokens)) for name, tokens in strategy.caps.items()),
        )


@dataclass(frozen=True)
class Foreign(Strategy):
    """A strategy that is built and asked in processes of its own alone."""

    card: Card
    build: Callable[[], Strategy] = field(repr=False, compare=False)  # must be picklable

    @classmethod
    def known(cls, name: str, build: Callable[[], Strategy]) -> Foreign:
        """Have a strategy built in a process of its own, and ask it there what it is."""
        digest_of_classes(())  # reads the engine once here, and not in each process again
        made = isolated(lambda: Card.of(build()), PATIENCE)
        if made.value is None:
            # What is wrong with a spec names the spec.
            fault = made.fault if made.refused else f"{name} {_UNLOADED}: {made.fault}"
            if made.printed and _UNLOADED in fault:
                fault += f"; it printed: {made.printed[:_SHOWN].strip()}"
            raise UsageError(fault)
        return cls(made.value, build)

    @property
    def spec(self) -> str:
        """The strategy's name with its configuration."""
        return self.card.spec

    @property
    def label(self) -> str:
        """The spec without what stands at its default."""
        return self.card.label

    @property
    def lifetime(self) -> Lifetime:  # type: ignore[override]
        """How long what it returns holds."""
        return self.card.lifetime

    @property
    def sees_future(self) -> bool:  # type: ignore[override]
        """Whether it may know what comes."""
        return self.card.sees_future

    @property
    def flushes(self) -> bool:
        """Whether it promises a flush of memory before each compaction."""
        return self.card.flushes

    @property
    def breaks(self) -> Mapping[str, str]:  # type: ignore[override]
        """Rules of the contract that the system it follows breaks."""
        return dict(self.card.breaks)

    @property
    def caps(self) -> Mapping[str, int]:  # type: ignore[override]
        """Tokens that it reserves by default and that a narrowed window caps."""
        return dict(self.card.caps)

    def compact(self, view: View, host: Host) -> View:
        """Nobody asks it in this process."""
        raise TypeError(f"{self.spec} is asked in a process of its own: see loaded()")


def loaded(strategy: Strategy) -> Strategy:
    """The strategy itself, with all its code loaded into this process."""
    if isinstance(strategy, Foreign):
        return strategy.build()
    if isinstance(strategy, Pipeline) and any(isinstance(p, Foreign) for p in strategy.parts):
        return Pipeline(tuple(map(loaded, strategy.steps)))
    return strategy


def kind_of(strategy: Strategy) -> Any:
    """What tells strategies of equal specs apart: their class, or those of their steps."""
    if isinstance(strategy, Pipeline):
        return tuple(map(kind_of, strategy.steps))
    return strategy.card.kind if isinstance(strategy, Foreign) else type(strategy)
