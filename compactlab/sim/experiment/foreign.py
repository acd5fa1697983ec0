"""Strategies and summarisers of others, as far as they can be known without loading their code."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import UsageError
from compactlab.sim.core.isolation import isolated
from compactlab.sim.core.message import Part
from compactlab.sim.core.view import View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Lifetime, Pipeline, Strategy
from compactlab.sim.replay.summarize import Count, Summarizer, SummaryRequest
from compactlab.sim.store.code import digest_of_classes

T = TypeVar("T")

# Seconds that code may take to be loaded: some of it loads models of language.
PATIENCE = 120.0
_HALF = re.compile("[\ud800-\udfff]")  # half a character
_UNLOADED = "cannot be loaded"
_SHOWN = 300  # characters of what was printed, in an error


def _described(name: str, describe: Callable[[], T]) -> T:
    """What code says of itself, in a process of its own."""
    digest_of_classes(())  # reads the engine once here, and not in each process again
    made = isolated(describe, PATIENCE)
    if made.value is None:
        # What is wrong with a spec names the spec.
        fault = made.fault if made.refused else f"{name} {_UNLOADED}: {made.fault}"
        if made.printed and _UNLOADED in fault:
            fault += f"; it printed: {made.printed[:_SHOWN].strip()}"
        raise UsageError(fault)
    return made.value


def _check_names(made: Strategy | Summarizer) -> None:
    for name in (made.spec, made.label):
        if not isinstance(name, str) or not name or _HALF.search(name):
            raise UsageError(f"{type(made).__name__} has no name that could be written: {name!r}")


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
        _check_names(strategy)
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
        return cls(_described(name, lambda: Card.of(build())), build)

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


@dataclass(frozen=True)
class WriterCard:
    """What a summariser says of itself."""

    kind: str  # module and name of its class
    code: str  # digest
    spec: str
    label: str
    simulated: str
    named_files: tuple[str, ...]

    @classmethod
    def of(cls, summarizer: Summarizer) -> WriterCard:
        """Of a summariser that is loaded."""
        made = type(summarizer)
        _check_names(summarizer)
        return cls(
            kind=f"{made.__module__}:{made.__qualname__}",
            code=digest_of_classes([made]),
            spec=summarizer.spec,
            label=summarizer.label,
            simulated=_HALF.sub("?", str(summarizer.simulated)),
            named_files=tuple(map(str, summarizer.named_files)),
        )


@dataclass(frozen=True)
class ForeignSummarizer(Summarizer):
    """A summariser that is built and asked in processes of its own alone.

    It is bound before each replay, and that is in the process of the run: there it is built.
    """

    card: WriterCard
    build: Callable[[], Summarizer] = field(repr=False, compare=False)  # must be picklable

    @classmethod
    def known(cls, name: str, build: Callable[[], Summarizer]) -> ForeignSummarizer:
        """Have a summariser built in a process of its own, and ask it there what it is."""
        return cls(_described(name, lambda: WriterCard.of(build())), build)

    @property
    def spec(self) -> str:
        """The summariser's name with its configuration."""
        return self.card.spec

    @property
    def label(self) -> str:
        """The spec without what stands at its default."""
        return self.card.label

    @property
    def simulated(self) -> str:  # type: ignore[override]
        """What of it is simulated."""
        return self.card.simulated

    @property
    def named_files(self) -> tuple[str, ...]:
        """The files that its spec names."""
        return self.card.named_files

    def bound(self, conversation: Conversation, seed: int) -> Summarizer:
        """Build it here, and have it get to know what is replayed."""
        return self.build().bound(conversation, seed)

    def summarize(self, request: SummaryRequest, count: Count) -> tuple[Part, ...]:
        """Nobody asks it unbound."""
        raise TypeError(f"{self.spec} is asked in a process of its own: see bound()")


def loaded(strategy: Strategy) -> Strategy:
    """The strategy itself, with all its code loaded into this process."""
    if isinstance(strategy, Foreign):
        return strategy.build()
    if isinstance(strategy, Pipeline) and any(isinstance(p, Foreign) for p in strategy.parts):
        return Pipeline(tuple(map(loaded, strategy.steps)))
    return strategy


def kind_of(strategy: Strategy | Summarizer) -> Any:
    """What tells those of equal specs apart: their class, or those of their steps."""
    if isinstance(strategy, Pipeline):
        return tuple(map(kind_of, strategy.steps))
    if isinstance(strategy, Foreign | ForeignSummarizer):
        return strategy.card.kind
    return type(strategy)
