"""The contract of a strategy, compositions of strategies, and whole agents."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import ClassVar, Literal

from compactlab.sim.core.errors import UsageError
from compactlab.sim.core.limits import check_fields
from compactlab.sim.core.spec import label_of, spec_of
from compactlab.sim.core.view import Phase, View
from compactlab.sim.replay.host import Host

CAP = 4
"""In a window narrowed by a run, default reserves are at most the window divided by this."""


RuleName = Literal[
    "input", "notes", "provenance", "order", "pairs", "last user message", "size",
    "system", "survives", "repeatable", "future", "price", "spec",
]  # fmt: skip
"""A rule of the contract; ``compactlab/testing/contract.py`` defines each."""


class Lifetime(StrEnum):
    """How long the view returned by a strategy is valid.

    ``SESSION``: the next call continues from it. ``TURN``: for all calls until the next user
    message. ``REQUEST``: for this call only; the next starts from the session's view again.
    """

    SESSION = "session"
    TURN = "turn"
    REQUEST = "request"


class Act(StrEnum):
    """What a strategy does to the context."""

    TRUNCATE = "truncate"
    """Remove messages."""
    CLEAR = "clear"
    """Clear or shorten contents in place."""
    SUMMARISE = "summarise"
    """Replace messages by a summary."""
    OFFLOAD = "offload"
    """Move contents to files, from which they can be fetched."""
    NOTE = "note"
    """Write notes, which outlive the messages."""
    RETRIEVE = "retrieve"
    """Restore earlier messages or notes."""
    REPAIR = "repair"
    """Repair calls and results."""
    REQUEST = "request"
    """Send requests of its own that are no summary: for scores, or for the cache's sake."""


class Strategy(ABC):
    """Turns a view into another view.

    Subclasses are frozen dataclasses whose fields are their configuration.

    Attributes
    ----------
    does
        Its effects on the context, for lists.
    waits
        What it waits for; "" if for the window to fill: then it has a field ``trigger``.
    background
        Whether its summaries are made in the background.
    phases
        The phases in which it is called.
    lifetime
        How long its returned view is valid.
    idle_after
        Seconds of inactivity after which it is called with ``Phase.ON_IDLE``.
    by_price
        Whether it decides by prices, lifetimes of cache entries, or cached tokens of its requests.
        Others send the same prompts whatever the cache does.
    sees_future
        Whether it may access the future; only an oracle does, and reports say so.
    breaks
        Rules of the contract that the original system breaks: rule to reason and version.
    caps
        Tokens that it reserves by default and that a narrowed window limits, by purpose.
    beyond
        Why its prompts may exceed the window, and how to avoid it; "" if they do not.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class LastMessage(Strategy):
    ...     def compact(self, view, host):
    ...         return view.with_messages(view.messages[-1:])
    >>> LastMessage().spec
    'last_message()'
    """

    does: ClassVar[tuple[Act, ...]] = ()
    waits: ClassVar[str] = ""
    background: ClassVar[bool] = False
    phases: ClassVar[frozenset[Phase]] = frozenset({Phase.BEFORE_CALL})
    lifetime: ClassVar[Lifetime] = Lifetime.SESSION
    idle_after: ClassVar[float] = 0.0
    by_price: ClassVar[bool] = False
    sees_future: ClassVar[bool] = False
    breaks: ClassVar[Mapping[str, str]] = MappingProxyType({})
    caps: ClassVar[Mapping[str, int]] = MappingProxyType({})
    beyond: ClassVar[str] = ""

    def __post_init__(self) -> None:
        """Refuse invalid field values."""
        check_fields(self)

    @property
    def spec(self) -> str:
        """The strategy's name with its configuration, used in every report."""
        return spec_of(self)

    @property
    def label(self) -> str:
        """The spec without default values: for tables with little room."""
        return label_of(self)

    @property
    def parts(self) -> tuple[Strategy, ...]:
        """The strategies that the loop calls: itself, or the parts of a pipeline."""
        return (self,)

    @property
    def flushes(self) -> bool:
        """Whether it promises a memory flush before each compaction; metrics check it."""
        return any(part.flushes for part in self.parts if part is not self)

    @property
    def outside(self) -> str:
        """Digest of a program that it runs or of a file that it reads; "" if there is none."""
        return ""

    def silence(self, host: Host) -> float:
        """Return the seconds of inactivity after which it is called; read at the start of each.

        Parameters
        ----------
        host
            Knows the start of the last request and the lifetime of its cache entries.

        Returns
        -------
        float
            By default ``idle_after``; below 0: never.
        """
        return self.idle_after

    def again(self, host: Host) -> float:
        """Return the seconds after which it is called once more in the same silence.

        Parameters
        ----------
        host
            As it was when the strategy was called.

        Returns
        -------
        float
            By default 0: not before the next silence.
        """
        return 0.0

    @abstractmethod
    def compact(self, view: View, host: Host) -> View:
        """Return the view to send instead of a view, or the same object to leave it alone.

        Parameters
        ----------
        view
            The view that would be sent. It must not be changed.
        host
            The only access to anything that costs or is outside the view.
        """

    def fetch(self, handle: str, host: Host) -> str | None:
        """Return content that this strategy offloaded, within the limit of the original system.

        Parameters
        ----------
        handle
            The handle of a part in the prompt.
        host
            Gives access to the files.

        Returns
        -------
        str or None
            None if this strategy offloaded nothing under the handle.

        Raises
        ------
        InputError
            If the content is not what was offloaded.
        """
        return None


class Composition(Strategy):
    """A strategy that consists of others: the loop calls its parts."""

    @property
    def breaks(self) -> Mapping[str, str]:  # type: ignore[override]
        """The rules that its parts break."""
        return {rule: why for part in self.parts for rule, why in part.breaks.items()}

    @property
    def by_price(self) -> bool:  # type: ignore[override]
        """Whether a part decides by prices."""
        return any(part.by_price for part in self.parts)

    @property
    def caps(self) -> Mapping[str, int]:  # type: ignore[override]
        """The reserves of its parts."""
        return {name: tokens for part in self.parts for name, tokens in part.caps.items()}

    def compact(self, view: View, host: Host) -> View:
        """Call all parts in turn, as if all were due now."""
        for part in self.parts:
            view = part.compact(view, host)
        return view


@dataclass(frozen=True)
class Pipeline(Composition):
    """Several strategies, asked one after the other, each in its own phases with its own notes.

    Parameters
    ----------
    steps
        The strategies; those that change the session's view first, then those that change the
        prompt of a turn, then those that change one request.

    Raises
    ------
    UsageError
        If they are empty or in another order.
    """

    steps: tuple[Strategy, ...]

    def __post_init__(self) -> None:
        order = [list(Lifetime).index(part.lifetime) for part in self.parts]
        if not order or order != sorted(order):
            raise UsageError(
                f"{self.spec or 'an empty pipeline'}: the parts of a pipeline come in the order "
                "session, turn, request"
            )

    @property
    def spec(self) -> str:
        return " + ".join(step.spec for step in self.steps)

    @property
    def label(self) -> str:
        return " + ".join(step.label for step in self.steps)

    @property
    def parts(self) -> tuple[Strategy, ...]:
        return tuple(part for step in self.steps for part in step.parts)

    @property
    def sees_future(self) -> bool:  # type: ignore[override]
        return any(part.sees_future for part in self.parts)


class Agent(Composition):
    """A composition of strategies that reproduces an agent in one of its versions.

    Its own fields choose its parts.
    """

    def __post_init__(self) -> None:
        """Build the parts at once, so that invalid values are refused here."""
        super().__post_init__()
        _ = self.parts

    @abstractmethod
    def steps(self) -> tuple[Strategy, ...]:
        """Return the strategies, in call order."""

    @cached_property
    def parts(self) -> tuple[Strategy, ...]:
        return Pipeline(self.steps()).parts
