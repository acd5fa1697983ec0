"""The recorded bill: in total and by purpose, model, day, project and session.

The totals equal those of ccusage: each request once, at the prices of its day.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from functools import cached_property
from math import fsum
from typing import NamedTuple

from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import ModelError
from compactlab.sim.core.message import Usage
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.models.model import Model
from compactlab.sim.models.pricing import prices_of
from compactlab.sim.models.rates import Bill
from compactlab.sim.replay.recorded_bill import ANSWER, BilledRequest, billed, once, priced

UNDATED = "undated"
UNPLACED = "(not named)"
AGENTS = ("main agents", "sub-agents")


class Billed(NamedTuple):
    """A recorded request, and the model whose prices apply."""

    request: BilledRequest
    model: Model


@dataclass(frozen=True)
class Session:
    """The requests of one session, and their origin."""

    name: str  # its id
    file: str  # the file of its log
    project: str  # the folder that the agent worked in
    subagent: bool  # whether another agent assigned its task
    calls: Sequence[Billed]
    missing: int = 0  # tokens in skipped records, as the log counts them


def session_of(conversation: Conversation, find: Callable[[str], Model]) -> Session:
    """The billed requests of a log."""
    known: dict[str, Model] = {}

    def model(name: str) -> Model:
        if name not in known:
            try:
                known[name] = find(name)
            except ModelError:
                # Its tokens count even if the model is unknown.
                known[name] = Model(name or UNPLACED, 0, 0, Tokenizer(), "", None)
        return known[name]

    requests = billed(conversation, lambda name: model(name).tokenizer)
    return Session(
        conversation.id,
        conversation.source,
        conversation.project,
        conversation.subagent,
        [Billed(each, model(each.call.model)) for each in requests],
        sum(each.tokens for each in conversation.passed_over),
    )


def each_once(sessions: Sequence[Session]) -> list[Session]:
    """The same sessions, with each request only once."""
    kept = once([session.calls for session in sessions], lambda call: call.request)
    return [replace(one, calls=calls) for one, calls in zip(sessions, kept, strict=True)]


@dataclass(frozen=True)
class Spent:
    """The cost of some requests."""

    calls: int
    usage: Usage
    # Dollars by class, for calls with known prices; None without any.
    bill: Bill | None
    unpriced: int = 0  # calls without known prices
    searches: int = 0  # of the web
    searched: float = 0.0  # dollars
    estimated: int = 0  # output tokens that are estimated from the answers' texts
    estimated_output: float = 0.0  # dollars
    inherited: int = 0  # calls that a fork repeats from its parent, and that no other file has
    inherited_total: float = 0.0  # dollars
    missing: int = 0  # tokens of skipped records

    @property
    def input(self) -> float | None:
        """Dollars of prompts."""
        return None if self.bill is None else fsum(self.bill[:-1])

    @property
    def output(self) -> float | None:
        """Dollars of answers."""
        return None if self.bill is None else self.bill.output

    @property
    def total(self) -> float | None:
        """Dollars in total."""
        return None if self.bill is None else fsum((*self.bill, self.searched))

    @property
    def at_least(self) -> bool:
        """Whether more was spent than is known."""
        return bool(self.unpriced or self.missing)


def spent(calls: Iterable[Billed], missing: int = 0) -> Spent:
    """Add up the costs of some requests."""
    usages, bills = [Usage()], [Bill(0.0, 0.0, 0.0, 0.0)]
    unpriced = searches = estimated = inherited = 0
    searched, guessed, repeated = [0.0], [0.0], [0.0]
    for request, model in calls:
        usage = request.usage
        usages.append(usage)
        searches += request.searches
        estimated += request.estimated
        inherited += request.call.inherited
        try:
            bill, price = priced(request, model)
        except ModelError:
            unpriced += 1
            continue
        bills.append(bill)
        searched.append(price)
        guessed.append(bill.output * request.estimated / usage.output if usage.output else 0.0)
        repeated.append(fsum((*bill, price)) if request.call.inherited else 0.0)
    whole = Usage(*(sum(getattr(u, name) for u in usages) for name in Usage.__struct_fields__))
    sums = Bill(*(fsum(column) for column in zip(*bills, strict=True)))
    count = len(usages) - 1
    return Spent(
        count,
        whole,
        sums if unpriced < count or not count else None,
        unpriced,
        searches,
        fsum(searched),
        estimated,
        fsum(guessed),
        inherited,
        fsum(repeated),
        missing,
    )


def day_of(time: float, zone: tzinfo | None = UTC) -> str:
    """The day of a request; without a zone, in that of the machine."""
    try:
        return f"{datetime.fromtimestamp(time, zone):%Y-%m-%d}" if time else UNDATED
    except (ValueError, OverflowError, OSError):
        return UNDATED


@dataclass(frozen=True)
class Spending:
    """The spending of some sessions."""

    sessions: Sequence[Session]
    zone: tzinfo | None = UTC  # of days; None for that of the machine

    @property
    def whole(self) -> Spent:
        """The total."""
        return self._of(self.sessions)

    @property
    def zone_name(self) -> str:
        """The time zone of days, in the form of ``audit --tz``."""
        return str(self.zone or "local")

    @cached_property
    def unpriced(self) -> dict[str, int]:
        """Requests of models without known prices, by model."""
        counts = Counter(
            call.model.name
            for session in self.sessions
            for call in session.calls
            if not _has_price(call.model)
        )
        return dict(counts.most_common())

    @cached_property
    def inferred(self) -> list[str]:
        """What was inferred about models from others of their providers."""
        models = {call.model for session in self.sessions for call in session.calls}
        return sorted({model.inferred for model in models if model.inferred})

    def by_purpose(self) -> Mapping[str, Spent]:
        """By the purpose of requests: answers first, then the most expensive."""
        groups = _by((call.request.purpose, call) for each in self.sessions for call in each.calls)
        answers = {name: each for name, each in groups.items() if name == ANSWER}
        return {**answers, **_dearest(groups)}

    def by_model(self) -> Mapping[str, Spent]:
        """By model, in the order of names."""
        return _by((call.model.name, call) for each in self.sessions for call in each.calls)

    def by_day(self) -> Mapping[str, Spent]:
        """By the day on which a call began, in order."""
        calls = (call for each in self.sessions for call in each.calls)
        return _by((day_of(call.request.time, self.zone), call) for call in calls)

    def by_project(self) -> Mapping[str, Spent]:
        """By the agent's working folder, the most expensive first."""
        return _dearest(self._groups(lambda session: session.project or UNPLACED))

    def by_agent(self) -> Mapping[str, Spent]:
        """Main agents and sub-agents separately."""
        return self._groups(lambda session: AGENTS[session.subagent])

    def by_session(self) -> list[tuple[Session, Spent]]:
        """By session, the most expensive first."""
        pairs = [(each, self._of([each])) for each in self.sessions]
        return sorted(pairs, key=lambda pair: (-(pair[1].total or 0.0), pair[0].name))

    def _groups(self, name: Callable[[Session], str]) -> dict[str, Spent]:
        groups: dict[str, list[Session]] = {}
        for session in self.sessions:
            groups.setdefault(name(session), []).append(session)
        return {each: self._of(groups[each]) for each in sorted(groups)}

    def _of(self, sessions: Iterable[Session]) -> Spent:
        sessions = [*sessions]
        calls = (call for session in sessions for call in session.calls)
        return spent(calls, sum(session.missing for session in sessions))


def _has_price(model: Model) -> bool:
    try:
        prices_of(model)
    except ModelError:
        return False
    return True


def _by(named: Iterable[tuple[str, Billed]]) -> dict[str, Spent]:
    groups: dict[str, list[Billed]] = {}
    for name, call in named:
        groups.setdefault(name, []).append(call)
    return {name: spent(groups[name]) for name in sorted(groups)}


def _dearest(groups: Mapping[str, Spent]) -> dict[str, Spent]:
    return dict(sorted(groups.items(), key=lambda pair: -(pair[1].total or 0.0)))
