"""A strategy that is watched: what it was asked, and what it answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from compactlab.sim.host import Host
from compactlab.sim.message import Message, Part
from compactlab.sim.messages import Messages
from compactlab.sim.phase import Phase
from compactlab.sim.strategy import Lifetime, Strategy
from compactlab.sim.view import View


@dataclass(frozen=True)
class Asked:
    """One question to a strategy, and its answer.

    Parameters
    ----------
    phase
        When it was asked.
    before, after
        The view that it was given, and what it made of it.
    log
        All that had been said, when it had answered.
    born
        Messages that it caused to be said.
    intact
        Whether view and log stood as they were, when it had answered.
    notes
        Its notes, when it had answered.
    count
        Counts tokens of a view as the model does.
    """

    phase: Phase
    before: View
    after: View
    log: Messages
    born: tuple[Message, ...]
    intact: bool
    notes: Mapping[str, object]
    count: Callable[[View], int]


@dataclass(frozen=True)
class Watched(Strategy):
    """Another strategy, whose every answer is shown to somebody.

    Parameters
    ----------
    inner
        The strategy.
    saw
        Who is shown the answers.
    """

    inner: Strategy
    saw: Callable[[Strategy, Asked], None] = field(compare=False, repr=False)

    @property
    def phases(self) -> frozenset[Phase]:  # type: ignore[override]
        """Those of the inner one."""
        return self.inner.phases

    @property
    def lifetime(self) -> Lifetime:  # type: ignore[override]
        """That of the inner one."""
        return self.inner.lifetime

    @property
    def idle_after(self) -> float:  # type: ignore[override]
        """That of the inner one."""
        return self.inner.idle_after

    @property
    def sees_future(self) -> bool:  # type: ignore[override]
        """Whether the inner one does."""
        return self.inner.sees_future

    @property
    def spec(self) -> str:
        """That of the inner one: it has the same random draws."""
        return self.inner.spec

    def compact(self, view: View, host: Host) -> View:
        """Ask the inner one, and show what it said."""
        messages, system, log = list(view.messages), view.system, host.log
        said = list(log)
        after = self.inner.compact(view, host)
        if isinstance(after, View):
            intact = _same(view.messages, messages) and view.system == system and _same(log, said)
            heard = set(map(id, log))
            born = tuple(message for message in host.log if id(message) not in heard)
            asked = Asked(
                host.phase, view, after, host.log, born, intact, dict(host.notes), host.count
            )
            self.saw(self.inner, asked)
        return after

    def fetch(self, handle: str, host: Host) -> str | None:
        """What the inner one has put away."""
        return self.inner.fetch(handle, host)


def _same(messages: Messages, before: list[Message]) -> bool:
    return len(messages) == len(before) and all(map(_is, messages, before))


def _is(one: Message | Part, other: Message | Part) -> bool:
    return one is other
