"""The contract of a strategy, how several are composed, and whole agents."""

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
"""What is reserved by default is at most one so manieth of a window that a run has narrowed."""


RuleName = Literal[
    "input", "notes", "provenance", "order", "pairs", "last user message", "size",
    "survives", "repeatable", "future", "spec",
]  # fmt: skip
"""A rule of the contract: ``compactlab/testing/contract.py`` says what each demands."""


class Lifetime(StrEnum):
    """How long the view that a strategy returns holds.

    ``SESSION``: the next call goes on from it. ``TURN``: for all calls until the next user
    message. ``REQUEST``: for this call; the next starts from the session's view again.
    """

    SESSION = "session"
    TURN = "turn"
    REQUEST = "request"


class Act(StrEnum):
    """What a strategy does to the context."""

    TRUNCATE = "truncate"
    """Messages are left out."""
    CLEAR = "clear"
    """Contents are cleared or shortened where they stand."""
    SUMMARISE = "summarise"
    """A summary stands for messages."""
    OFFLOAD = "offload"
    """Contents go into files, from which they can be fetched."""
    NOTE = "note"
    """Notes are written, which outlive the messages."""
    RETRIEVE = "retrieve"
    """What was said or noted before is brought back."""
    REPAIR = "repair"
    """Calls and results are put in order."""


class Strategy(ABC):
    """Turns a view into another view.

    Subclasses are frozen dataclasses whose fields are their configuration.

    Attributes
    ----------
    does
        What it does to the context, for lists.
    background
        Whether its summaries are made beside the work.
    phases
        When it is asked.
    lifetime
        How long what it returns holds.
    idle_after
        Seconds of silence after which it is asked, with ``Phase.ON_IDLE``.
    sees_future
        Whether it may know what comes; only an oracle does, and reports say so.
    breaks
        Rules of the contract that the system it follows breaks: rule to reason and version.
    caps
        Tokens that it reserves by default and that a narrowed window caps: what for, and how many.

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
    background: ClassVar[bool] = False
    phases: ClassVar[frozenset[Phase]] = frozenset({Phase.BEFORE_CALL})
    lifetime: ClassVar[Lifetime] = Lifetime.SESSION
    idle_after: ClassVar[float] = 0.0
    sees_future: ClassVar[bool] = False
    breaks: ClassVar[Mapping[str, str]] = MappingProxyType({})
    caps: ClassVar[Mapping[str, int]] = MappingProxyType({})

    def __post_init__(self) -> None:
        """Refuse what its fields, by their declaration, cannot be."""
        check_fields(self)

    @property
    def spec(self) -> str:
        """The strategy's name with its configuration: its name in every report."""
        return spec_of(self)

    @property
    def label(self) -> str:
        """The spec without what stands at its default: for tables, where room is scarce."""
        return label_of(self)

    @property
    def parts(self) -> tuple[Strategy, ...]:
        """What the loop folds: the strategy itself, or the parts of a pipeline."""
        return (self,)

    @property
    def flushes(self) -> bool:
        """Whether it promises a flush of memory before each compaction; figures hold it to that."""
        return any(part.flushes for part in self.parts if part is not self)

    @property
    def outside(self) -> str:
        """Digest of what it runs that is no code of Python; "" for nothing."""
        return ""

    def silence(self, host: Host) -> float:
        """Seconds of silence after which it is asked; asked for at the beginning of each.

        Parameters
        ----------
        host
            Knows when the last request started, and how long what it left in the cache lives.

        Returns
        -------
        float
            ``idle_after``, unless the strategy says otherwise; below 0 for not at all.
        """
        return self.idle_after

    @abstractmethod
    def compact(self, view: View, host: Host) -> View:
        """Return what is to be sent instead of a view, or that very view to leave it alone.

        Parameters
        ----------
        view
            What would be sent. It must not be changed.
        host
            The only door to anything that costs or lies outside the view.
        """

    def fetch(self, handle: str, host: Host) -> str | None:
        """What this strategy has put away, within the cap that the system it follows has.

        Parameters
        ----------
        handle
            The handle of a part in the prompt.
        host
            Has the files.

        Returns
        -------
        str or None
            None if this strategy has put nothing away under it.

        Raises
        ------
        InputError
            If what it leads to is not what was put away.
        """
        return None


class Composition(Strategy):
    """A strategy that consists of others: the loop asks its parts."""

    @property
    def breaks(self) -> Mapping[str, str]:  # type: ignore[override]
        """What its parts break."""
        return {rule: why for part in self.parts for rule, why in part.breaks.items()}

    @property
    def caps(self) -> Mapping[str, int]:  # type: ignore[override]
        """What its parts reserve by default."""
        return {name: tokens for part in self.parts for name, tokens in part.caps.items()}

    def compact(self, view: View, host: Host) -> View:
        """Ask all parts in turn, as if all were asked at this moment."""
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
        """The specs of its parts, with a plus between two."""
        return " + ".join(step.spec for step in self.steps)

    @property
    def label(self) -> str:
        """The labels of its parts, with a plus between two."""
        return " + ".join(step.label for step in self.steps)

    @property
    def parts(self) -> tuple[Strategy, ...]:
        """The parts, those of nested pipelines among them."""
        return tuple(part for step in self.steps for part in step.parts)

    @property
    def sees_future(self) -> bool:  # type: ignore[override]
        """Whether a part does."""
        return any(part.sees_future for part in self.parts)


class Agent(Composition):
    """A composition of strategies that people run, with the version that it follows.

    Its own fields choose its parts.
    """

    def __post_init__(self) -> None:
        """Build the parts at once, so that what they refuse is refused here."""
        super().__post_init__()
        _ = self.parts

    @abstractmethod
    def steps(self) -> tuple[Strategy, ...]:
        """The strategies, in the order in which they are asked."""

    @cached_property
    def parts(self) -> tuple[Strategy, ...]:
        """The parts, those of nested compositions among them."""
        return Pipeline(self.steps()).parts
