"""The tables of an audit: sessions, churn, and the calls that lie furthest apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import nlargest
from typing import NamedTuple

from compactlab.reports.audit.causes import GROUNDS
from compactlab.reports.audit.inquest import Finding
from compactlab.reports.audit.ledger import Entry, Ledger, client_name, together
from compactlab.reports.audit.tally import Pair, Tally, input_costs
from compactlab.reports.render.text import NONE, dollars, show
from compactlab.sim.replay.client import Rate

# The columns of an audit's tables: what we would have predicted, and what was there.


@dataclass(frozen=True)
class Line:
    """A row: a session, or several together.

    Parameters
    ----------
    label
        What it is called.
    recorded, rebuilt
        What it comes to with prompts of the recorded size, and of the size that the text gives.
    total
        Whether it stands for several.
    """

    label: str
    recorded: Tally
    rebuilt: Tally
    total: bool = False


@dataclass(frozen=True)
class Column:
    """A column.

    Parameters
    ----------
    title
        Its heading.
    cell
        What stands in it.
    rank
        Which go first where there is no room: the highest.
    group
        What it belongs to, with the columns beside it.
    """

    title: str
    cell: Callable[[Line], str]
    rank: int = 0
    group: str = ""


def signed(error: float | None) -> str:
    """By what share a figure is off, with its sign.

    Examples
    --------
    >>> signed(-0.1234), signed(0.0), signed(2.5)
    ('-12.3%', '0.0%', '+250%')
    """
    if error is None:
        return NONE
    if abs(error) >= 1:
        return f"{100 * error:+,.0f}%"
    told = f"{100 * error:+.1f}%"
    return told[1:] if told[1:] == "0.0%" else told


def _pair(
    title: str, pick: Callable[[Line], Pair | None], write: Callable[[float], str], rank: int
) -> tuple[Column, ...]:
    def of(part: Callable[[Pair], str]) -> Callable[[Line], str]:
        return lambda line: part(pair) if (pair := pick(line)) is not None else NONE

    return (
        Column("expected", of(lambda pair: write(pair.expected)), rank + 1, title),
        Column("recorded", of(lambda pair: write(pair.recorded)), rank, title),
        Column("off by", of(lambda pair: signed(pair.error)), rank, title),
    )


def _tokens(value: float) -> str:
    return show(value, "tokens")


def _of_rebuilds(name: str) -> Callable[[Line], str]:
    return lambda line: f"{getattr(line.recorded.rebuilds, name):,}"


SIZES = (
    Column("calls", lambda line: f"{line.recorded.calls:,}"),
    *_pair("read", lambda line: line.recorded.read, _tokens, 5),
    *_pair("fresh", lambda line: line.recorded.written, _tokens, 3),
    *_pair("cost, $", lambda line: line.recorded.cost, dollars, 0),
    Column("exact", lambda line: show(line.recorded.exact, "share"), 7, "calls"),
    Column("within 5%", lambda line: show(line.recorded.near, "share"), 2, "calls"),
)

REBUILDS = (
    Column("recorded", _of_rebuilds("recorded"), group="rebuilds"),
    Column("follow", _of_rebuilds("follow"), group="rebuilds"),
    Column("found", _of_rebuilds("found"), group="rebuilds"),
    Column("invented", _of_rebuilds("invented"), group="rebuilds"),
    Column("prompt size", lambda line: show(line.rebuilt.prompt_error, "share"), 1, "from text"),
    Column("read", lambda line: signed(line.rebuilt.read.error), 3, "from text"),
    Column("fresh", lambda line: signed(line.rebuilt.written.error), 2, "from text"),
    Column("cost", lambda line: signed(_error(line.rebuilt.cost)), 1, "from text"),
)

MEANING = (
    "Cost is that of the input. Fresh tokens were not read from the cache: they were written to "
    "it, or billed as plain input. Off by: expected against recorded. Exact, within 5%: calls "
    "that read so much as expected.",
    "A rebuild is a call that lost 4,000 tokens or more of what the call before had left in the "
    "cache. Follow: something in the log tells of it. Found: those of them that were expected. "
    "Invented: expected, and did not happen.",
    "From text: by how much all of it is off when the sizes of prompts are not given, but rebuilt "
    "from the text of the log; of prompt sizes, the median of a session's calls, and of several "
    "sessions the middle one.",
)


def _error(pair: Pair | None) -> float | None:
    return pair.error if pair is not None else None


def line(entry: Entry) -> Line:
    """The row of a session."""
    audited = entry.audited
    return Line(entry.name, audited.recorded, audited.rebuilt)


def totals(ledger: Ledger) -> list[Line]:
    """The rows of each client, and of all sessions where there are several clients."""
    found = [
        _total(client_name(client), ledger.of_client(client))
        for client in ledger.clients
        if len(ledger.of_client(client)) > 1 or len(ledger.clients) > 1
    ]
    return found + ([_total("all", ledger.entries)] if len(ledger.clients) > 1 else [])


def _total(name: str, entries: Sequence[Entry]) -> Line:
    recorded = together(name, [entry.audited.recorded for entry in entries])
    rebuilt = together(name, [entry.audited.rebuilt for entry in entries])
    label = f"{name}, {len(entries):,} session{'s' * (len(entries) != 1)}"
    return Line(label, recorded, rebuilt, total=True)


# How much clients change their prompts unasked: the rows of that table.

CHURN_HEADS = ("client", "at", "calls", "front lost", "messages lost", "share lost", "95% interval")
CHURN_RANKS = (0, 0, 0, 2, 1, 0, 0)
CHURN_MEANING = (
    "Of the calls that could have read all that the one before had left, by all that the log "
    "says: how many lost 4,000 tokens or more. Front lost: nothing was found again, tools and "
    "system prompt included. Messages lost: only those were found; where a part of the messages "
    "was, too, the share that was not counts."
)


class ChurnRow(NamedTuple):
    """A row: a client at the first calls of turns, or at the others."""

    client: str
    at: str
    calls: str
    front: str
    messages: str
    share: str
    interval: str


def churn_rows(ledger: Ledger) -> Iterator[ChurnRow]:
    """Two rows a client."""
    for client, churn in ledger.churns.items():
        for at, rate in (("first call of a turn", churn.turn), ("other calls", churn.call)):
            yield _row(client_name(client), at, rate)


def _row(client: str, at: str, rate: Rate) -> ChurnRow:
    if not rate.calls:
        return ChurnRow(client, at, "0", NONE, NONE, NONE, NONE)
    lost = rate.share("front") + rate.share("messages")
    interval = f"{show(rate.low, 'share')} to {show(rate.high, 'share')}"
    front, messages = f"{rate.front:.1f}", f"{rate.messages:.1f}"
    return ChurnRow(client, at, f"{rate.calls:,}", front, messages, show(lost, "share"), interval)


# The calls at which expected and recorded lie furthest apart.


@dataclass(frozen=True)
class Miss:
    """A call that was not as expected.

    Parameters
    ----------
    entry
        Its session.
    number
        The call's place in the session, from 1.
    finding
        What was found out about it.
    dollars
        What its input cost more than expected; None where prices are not known.
    """

    entry: Entry
    number: int
    finding: Finding
    dollars: float | None

    @property
    def tokens(self) -> int:
        """Tokens that were expected to be read and were not; below 0, the other way round."""
        return self.finding.forecast.read - self.finding.read

    @property
    def expected(self) -> str:
        """The causes that were expected, largest first."""
        causes = sorted(self.finding.forecast.causes.items(), key=lambda item: -item[1])
        return ", ".join(f"{cause} {tokens:,}" for cause, tokens in causes) or "nothing fresh"

    @property
    def happened(self) -> str:
        """The causes that were found, largest first, with what the first stands on."""
        charges = sorted(self.finding.charges, key=lambda charge: -charge.tokens)
        told = [f"{charge.cause} {charge.tokens:,}" for charge in charges if charge.tokens]
        if not told:
            return "nothing fresh"
        stands = next((GROUNDS[c.ground] for c in charges if c.ground in ("read", "pattern")), "")
        return ", ".join(told) + (f" ({stands})" if stands else "")


def worst(entries: Iterable[Entry], most: int) -> list[Miss]:
    """The calls that are furthest off, worst first.

    Parameters
    ----------
    entries
        The sessions.
    most
        How many calls at most. Those whose prices are known go by dollars and come first; the
        others by tokens.
    """
    missed = (miss for miss in _misses(entries) if miss.tokens or miss.dollars)
    return nlargest(most, missed, key=_weight)


def _misses(entries: Iterable[Entry]) -> Iterator[Miss]:
    for entry in entries:
        priced = entry.audited.recorded.cost is not None
        for number, finding in enumerate(entry.audited.findings, 1):
            dollars = None
            if priced:
                expected, recorded = input_costs(finding.forecast)
                dollars = recorded - expected
            yield Miss(entry, number, finding, dollars)


def _weight(miss: Miss) -> tuple[bool, float, int]:
    return miss.dollars is not None, abs(miss.dollars or 0.0), abs(miss.tokens)
