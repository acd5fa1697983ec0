"""Foreign strategies and summarisers, described without loading their code in this process."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

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

# Time limit in seconds for loading code: some of it loads language models.
PATIENCE = 120.0
_HALF = re.compile("[\ud800-\udfff]")  # an unpaired surrogate
_UNLOADED = "cannot be loaded"
_SHOWN = 300  # most characters of output in an error


def _described(name: str, describe: Callable[[], T]) -> T:
    """Return the description of foreign code, from a separate process."""
    digest_of_classes(())  # caches the engine's digest before forking
    made = isolated(describe, PATIENCE)
    if made.value is None:
        # An error in a spec names the spec already.
        fault = made.fault if made.refused else f"{name} {_UNLOADED}: {made.fault}"
        if made.printed and _UNLOADED in fault:
            fault += f"; it printed: {made.printed[:_SHOWN].strip()}"
        raise UsageError(fault)
    return made.value


@dataclass(frozen=True)
class Card:
    """The description of a strategy or a summariser."""

    kind: str  # module and name of its class
    code: str  # digest
    answers: Mapping[str, Any] = field(hash=False)  # by attribute

    @classmethod
    def of(cls, made: Strategy | Summarizer, asked: Mapping[str, Callable[[Any], Any]]) -> Card:
        """Read some attributes of a loaded object, and check their types."""
        kind = type(made)
        for name in (made.spec, made.label):
            if not isinstance(name, str) or not name or _HALF.search(name):
                raise UsageError(f"{kind.__name__} has no name that could be written: {name!r}")
        outside = made.outside if isinstance(made, Strategy) else ""
        return cls(
            kind=f"{kind.__module__}:{kind.__qualname__}",
            code=" ".join(filter(None, (digest_of_classes([kind]), outside))),
            answers={name: read(getattr(made, name)) for name, read in asked.items()},
        )


def _texts(pairs: Mapping[Any, Any]) -> dict[str, str]:
    return {str(name): str(text) for name, text in pairs.items()}


def _counts(pairs: Mapping[Any, Any]) -> dict[str, int]:
    return {str(name): int(number) for name, number in pairs.items()}


def _answer(name: str) -> Any:
    return property(lambda self: self.card.answers[name])


@dataclass(frozen=True)
class Foreign(Strategy):
    """A strategy that is only built and called in separate processes."""

    card: Card
    build: Callable[[], Strategy] = field(repr=False, compare=False)  # must be picklable

    ASKED: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "spec": str,
        "label": str,
        "lifetime": Lifetime,
        "by_price": bool,
        "sees_future": bool,
        "flushes": bool,
        "breaks": _texts,
        "caps": _counts,
        "beyond": str,
    }
    spec = _answer("spec")
    label = _answer("label")
    lifetime = _answer("lifetime")
    by_price = _answer("by_price")
    sees_future = _answer("sees_future")
    flushes = _answer("flushes")
    breaks = _answer("breaks")
    caps = _answer("caps")
    beyond = _answer("beyond")

    @classmethod
    def known(cls, name: str, build: Callable[[], Strategy]) -> Foreign:
        """Build a strategy in a separate process, and read its description."""
        return cls(_described(name, lambda: Card.of(build(), cls.ASKED)), build)

    def compact(self, view: View, host: Host) -> View:
        """Not called in this process."""
        raise TypeError(f"{self.spec} is asked in a process of its own: see loaded()")


@dataclass(frozen=True)
class ForeignSummarizer(Summarizer):
    """A summariser that is only built and called in separate processes.

    It is built in the process of the run, when it is bound before the replay.
    """

    card: Card
    build: Callable[[], Summarizer] = field(repr=False, compare=False)  # must be picklable

    ASKED: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "spec": str,
        "label": str,
        "simulated": lambda text: _HALF.sub("?", str(text)),
        "named_files": lambda names: tuple(map(str, names)),
    }
    spec = _answer("spec")
    label = _answer("label")
    simulated = _answer("simulated")
    named_files = _answer("named_files")

    @classmethod
    def known(cls, name: str, build: Callable[[], Summarizer]) -> ForeignSummarizer:
        """Build a summariser in a separate process, and read its description."""
        return cls(_described(name, lambda: Card.of(build(), cls.ASKED)), build)

    def bound(self, conversation: Conversation, seed: int) -> Summarizer:
        return self.build().bound(conversation, seed)

    def summarize(self, request: SummaryRequest, count: Count) -> tuple[Part, ...]:
        """Not called unbound."""
        raise TypeError(f"{self.spec} is asked in a process of its own: see bound()")


def loaded(strategy: Strategy) -> Strategy:
    """Return the actual strategy, with its code loaded into this process."""
    if isinstance(strategy, Foreign):
        return strategy.build()
    if isinstance(strategy, Pipeline) and any(isinstance(p, Foreign) for p in strategy.parts):
        return Pipeline(tuple(map(loaded, strategy.steps)))
    return strategy


def kind_of(strategy: Strategy | Summarizer) -> Any:
    """Return what distinguishes objects with equal specs: their class, or those of their steps."""
    if isinstance(strategy, Pipeline):
        return tuple(map(kind_of, strategy.steps))
    if isinstance(strategy, Foreign | ForeignSummarizer):
        return strategy.card.kind
    return type(strategy)
