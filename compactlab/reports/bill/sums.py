"""The spending as a document: for ``audit --sums``, and as a part of an audit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC
from typing import Any

from compactlab.reports.bill.caveats import estimates, not_understood, of_models, skipped
from compactlab.reports.bill.spent import AGENTS, UNPLACED, Session, Spending, Spent
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
from compactlab.reports.render.text import counted, dollars, shorten, show
from compactlab.sim.core.conversation import PassedOver
from compactlab.sim.replay.recorded_bill import ANSWER

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
        """All data, for JSON."""
        return {
            "remarks": [with_names(remark) for remark in self.remarks],
            "spent": spending_data(self.spending),
            "calls_not_explained": dict(self.unexplained),
            "models_without_price": self.spending.unpriced,
            "passed_over": dict(self.passed_over),
            "not_understood": as_data(self.not_understood),
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
