"""The spending that logs record: totals, tables, and caveats.

The totals equal those of ccusage: each request once, at the prices of its day.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from functools import cached_property
from math import fsum
from typing import Any, NamedTuple

from compactlab.reports.render.document import (
    Block,
    Column,
    Document,
    Heading,
    Table,
    TableRow,
    name,
    rows,
    sentences,
    with_names,
)
from compactlab.reports.render.fields import Field, as_data, cells_of, data_of, heads_of, hidden
from compactlab.reports.render.text import counted, dollars, enumerated, listed, shorten, show
from compactlab.sim.core.conversation import Conversation, PassedOver
from compactlab.sim.core.errors import ModelError
from compactlab.sim.core.message import Usage
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.models.model import Model
from compactlab.sim.models.pricing import prices_of
from compactlab.sim.models.rates import Bill
from compactlab.sim.replay.recording import ANSWER, BilledRequest, billed, once, priced

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
    for key, call in named:
        groups.setdefault(key, []).append(call)
    return {key: spent(groups[key]) for key in sorted(groups)}


def _dearest(groups: Mapping[str, Spent]) -> dict[str, Spent]:
    return dict(sorted(groups.items(), key=lambda pair: -(pair[1].total or 0.0)))


_KINDS = 5  # how many kinds of skipped records are named

# What was skipped and why, by the reason's key in the JSON.
REASONS = {
    "no_known_format": ("file", "of unknown format"),
    "no_usage": ("session", "without recorded usage"),
    "counted_elsewhere": ("session", "whose calls are all in other files"),
    "too_old": ("session", "from before the day that was named"),
    "other_project": ("session", "of other projects"),
}


def passed_over(reasons: Mapping[str, int]) -> list[str]:
    """What was skipped, in words.

    Examples
    --------
    >>> passed_over({"no_usage": 2})
    ['2 sessions without recorded usage']
    """
    pairs = ((counted(n, REASONS[reason][0]), REASONS[reason][1]) for reason, n in reasons.items())
    return [" ".join(each) for each in pairs]


def skipped(reasons: Mapping[str, int]) -> list[str]:
    """The same as a sentence; empty if nothing was skipped."""
    return [f"Skipped: {listed(passed_over(reasons))}."] if reasons else []


def of_models(spending: Spending, unexplained: Mapping[str, int]) -> Iterator[str]:
    """What is unknown about models, and which models' billed calls have no explanation."""
    if spending.unpriced:
        yield (
            f"No price is known for {_models(spending.unpriced)}. Sums of dollars are without "
            "them. To include them, write the prices into a file and name it with --models. An "
            "entry there replaces the built-in model, so copy its other figures (list models "
            "--format json)."
        )
    yield from (f"{said}." for said in spending.inferred)
    if unexplained:
        yield (
            f"Billed, but not explained, as it is not known how their models cache: "
            f"{_models(unexplained)}. Write these models into a file and name it with --models."
        )


def _models(calls: Mapping[str, int]) -> str:
    names = [
        f"{name(each) if each else '(not named)'} ({counted(n, 'call')})"
        for each, n in calls.items()
    ]
    return enumerated(names, 5)


def not_understood(kinds: Sequence[PassedOver]) -> list[str]:
    """Which records were skipped, in words.

    Examples
    --------
    >>> from compactlab.reports.render.document import with_names
    >>> with_names(*not_understood([PassedOver("record 'poem'", 2, 40)]))
    "Not understood and passed over: 2 x record 'poem' (40 characters)."
    """
    if not kinds:
        return []
    most = sorted(kinds, key=lambda each: (-each.tokens, -each.characters, each.kind))
    words = [name(str(each)) for each in most[:_KINDS]]
    words += [counted(len(most) - _KINDS, "other kind")] * (len(most) > _KINDS)
    tokens = sum(each.tokens for each in kinds)
    lacking = f" The bill lacks the {tokens:,} tokens that it counts." if tokens else ""
    return [f"Not understood and passed over: {listed(words)}.{lacking}"]


def estimates(spent: Spent) -> Iterator[str]:
    """Which parts of a bill are estimates, or belong to other sessions."""
    if spent.estimated:
        yield (
            f"The log counted some answers before they had ended. Their texts are counted instead: "
            f"{spent.estimated:,} tokens of output, ${dollars(spent.estimated_output)} of this "
            "bill, are estimated."
        )
    if spent.inherited:
        yield (
            f"The bill includes {counted(spent.inherited, 'request')} "
            f"(${dollars(spent.inherited_total)}) of sessions that were forked and whose own logs "
            "were not read. They count for no day: a copy may have the time of the fork."
        )


# How many of the last days, and of the most expensive projects and sessions, a terminal shows.
DAYS, PROJECTS, SESSIONS = 7, 8, 12
_NAME = 40


@dataclass(frozen=True)
class Sums:
    """The spending, and unreadable files; without forecasts and causes."""

    spending: Spending  # as in a :class:`~compactlab.reports.audit.ledger.Ledger`
    passed_over: Mapping[str, int]
    failures: tuple[str, ...]
    not_understood: tuple[PassedOver, ...] = ()
    # Calls that could not be explained, by model.
    unexplained: Mapping[str, int] = field(default_factory=dict)

    @property
    def remarks(self) -> list[str]:
        """Remarks that a reader of the figures needs and cannot see in them."""
        return [
            *of_models(self.spending, self.unexplained),
            *skipped(self.passed_over),
            *not_understood(self.not_understood),
        ]

    def data(self) -> dict[str, Any]:
        return {
            "remarks": [with_names(remark) for remark in self.remarks],
            "spent": spending_data(self.spending),
            "calls_not_explained": dict(self.unexplained),
            "models_without_price": self.spending.unpriced,
            "passed_over": dict(self.passed_over),
            # Lines of many files say nothing.
            "not_understood": [
                {name: held for name, held in as_data(kind).items() if name != "line"}
                for kind in self.not_understood
            ],
            "failures": list(self.failures),
        }


def sums(found: Sums) -> Document:
    """The spending by model, project, agent, day and session."""
    whole, sessions = found.spending.whole, len(found.spending.sessions)
    price = "no price is known" if whole.total is None else f"${dollars(whole.total)}"
    if whole.at_least and whole.total is not None:
        price = f"at least {price}"
    if whole.unpriced and whole.total is not None:
        price += f" without {counted(whole.unpriced, 'call')} of unknown prices"
    scope = f"{counted(whole.calls, 'call')} of {counted(sessions, 'session')}: {price}"
    blocks = (
        sentences([scope], "strong", bullets=False),
        *bill_of(found.spending, DAYS, PROJECTS, sessions=SESSIONS),
        sentences(found.remarks, "quiet"),
    )
    return Document(blocks, data=found.data)


def page(found: Sums) -> Document:
    """The spending as a page."""
    failures = sentences([name(failure) for failure in found.failures], "bad")
    title = Heading("What did these sessions cost?", level=1)
    return Document((title, failures, *sums(found).blocks))


def _least(part: str) -> Callable[[Spent], str]:
    """Dollars; "at least" if prices or tokens are unknown."""

    def text(each: Spent) -> str:
        dollars = getattr(each, part)
        more = "\N{GREATER-THAN OR EQUAL TO}" if each.at_least and dollars is not None else ""
        return f"{more}{show(dollars, 'USD')}"

    return text


SPENT = (
    Field("calls"),
    Field("uncached_tokens", "usage.uncached", "plain", "tokens", rank=4, group="tokens"),
    Field("", "usage.cache_write", "written", "tokens", rank=3, group="tokens"),
    *hidden(write_5m_tokens="usage.cache_write_5m", write_1h_tokens="usage.cache_write_1h"),
    Field("read_tokens", "usage.cache_read", "read", "tokens", rank=2, group="tokens"),
    Field("output_tokens", "usage.output", "output", "tokens", rank=1, group="tokens"),
    *hidden(unpriced_calls="unpriced"),
    Field("input_usd", "input", "input, $", text=_least("input")),
    Field("output_usd", "output", "output, $", text=_least("output")),
    *hidden("searches", searches_usd="searched"),
    Field("total_usd", "total", "total, $", text=_least("total")),
    *hidden(
        "at_least",
        tokens_passed_over="missing",
        estimated_output_tokens="estimated",
        estimated_output_usd="estimated_output",
        inherited_calls="inherited",
        inherited_usd="inherited_total",
    ),
)


def spending_data(spending: Spending) -> dict[str, Any]:
    """All spending as JSON data: ``docs/audit.md`` explains the keys."""
    groups = {
        "purpose": spending.by_purpose(),
        "day": spending.by_day(),
        "model": spending.by_model(),
        "project": spending.by_project(),
        "agent": spending.by_agent(),
    }
    return {
        **data_of(SPENT, spending.whole),
        "time_zone": spending.zone_name,
        **{
            f"by_{title}": [{title: name, **data_of(SPENT, each)} for name, each in group.items()]
            for title, group in groups.items()
        },
        "by_session": [
            {"session": session.name, "file": session.file, **data_of(SPENT, each)}
            for session, each in spending.by_session()
        ],
    }


def bill_of(spending: Spending, days: int, projects: int, sessions: int = 0) -> Iterator[Block]:
    """The whole bill; limited to the last days, and to the most expensive projects and sessions."""
    yield Heading("What was spent?", level=2)
    lines = [TableRow(_cells(model, each)) for model, each in spending.by_model().items()]
    lines.append(TableRow(_cells("all", spending.whole), "strong"))
    yield Table((Column("model", words=True), *heads_of(SPENT)), tuple(lines))
    yield sentences([*estimates(spending.whole)])
    purposes = spending.by_purpose()
    if purposes.keys() != {ANSWER}:
        yield _table("for", [(_purpose(each, sum), sum) for each, sum in purposes.items()])
    agents = spending.by_agent()
    if AGENTS[True] in agents:
        yield _table("agent", [*agents.items()])
    by_project = [*spending.by_project().items()]
    if {project for project, _ in by_project} != {UNPLACED}:
        yield _table("project", [(_short(each), sum) for each, sum in by_project[:projects]])
        yield _left(len(by_project), projects, "most expensive projects")
    by_day = [*spending.by_day().items()]
    zone = "" if spending.zone is UTC else f" ({spending.zone_name})"
    yield _table(f"day{zone}", by_day[-days:])
    yield _left(len(by_day), days, "last days")
    if sessions:
        by_session = spending.by_session()
        yield _table("session", [(_called(each), sum) for each, sum in by_session[:sessions]])
        yield _left(len(by_session), sessions, "most expensive sessions")


def _table(title: str, groups: list[tuple[str, Spent]]) -> Table:
    columns = (Column(title, words=True), *heads_of(SPENT))
    return Table(columns, rows(_cells(each, sum) for each, sum in groups))


def _purpose(purpose: str, spent: Spent) -> str:
    """The purpose of requests; for web searches with their number."""
    searches = f" ({spent.searches:,})" if spent.searches else ""
    return f"{purpose.replace('_', ' ')}{searches}"


def _left(number: int, shown: int, what: str) -> Block:
    text = f"These are the {shown} {what} of {number:,}; --format json has all."
    return sentences([text] * (number > shown))


def _short(path: str) -> str:
    """The end of a path, which identifies it."""
    return path if len(path) <= _NAME else f"\N{HORIZONTAL ELLIPSIS}{path[1 - _NAME :]}"


def _called(session: Session) -> str:
    return shorten(session.name, _NAME)


def _cells(title: str, each: Spent) -> tuple[str, ...]:
    return name(title), *cells_of(SPENT, each)
