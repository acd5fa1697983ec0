"""A replay request by request: what each was, what it cost and why, side calls among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from compactlab.sim.diff import diff_of
from compactlab.sim.message import Usage
from compactlab.sim.metrics import Reading, figures
from compactlab.sim.metrics.payback import Payback
from compactlab.sim.tables import Columns
from compactlab.sim.tables.views import columns_of, written_in
from compactlab.sim.trace import Header, SideCall, Step

CALL = "call"


@dataclass(frozen=True, slots=True)
class Entry:
    """One request.

    Parameters
    ----------
    call
        The number of the call, from 1 on; of a side call, that of the call which it was made for.
    kind
        ``call``, or the purpose of a side call: ``summary``, ``flush``.
    answer
        Id of the message that answers it; "" of a side call.
    model
        The model's name.
    time, gap
        When it started, in seconds since 1970, and how many seconds after the call before; None
        for the first, for side calls, and where times are not known.
    usage
        Tokens by billing class.
    causes
        Fresh tokens by cause, in the order of the prompt.
    cost, total
        Dollars, and dollars of all requests so far.
    premium
        Dollars that its fresh tokens cost above reading those that need not have been fresh.
    dead
        Tokens that it wrote and that no later request has read.
    rewrite, compaction, overflow
        As in :class:`compactlab.sim.trace.Step`.
    payback
        Of a compaction, what it cost and what it saves.
    """

    call: int
    kind: str
    answer: str
    model: str
    time: float
    gap: float | None
    usage: Usage
    causes: Mapping[str, int]
    cost: float
    total: float
    premium: float
    dead: int
    rewrite: bool = False
    compaction: bool = False
    overflow: bool = False
    payback: Payback | None = None

    @property
    def eventful(self) -> bool:
        """Whether anything happened but that something was appended."""
        acted = self.rewrite or self.compaction or self.overflow or self.kind != CALL
        return acted or not self.causes.keys() <= {"append"}


@dataclass(frozen=True)
class Account:
    """All requests of a replay, and the figures of the run.

    Parameters
    ----------
    header
        What it is of.
    entries
        The requests, in the order in which they were made.
    figures
        Value by metric, as ``compactlab run`` gives them.
    view
        Of the one call that was asked for, if it was a compaction: its messages before and after,
        as in the table of views.
    written
        What those of them say that are not of the script, by their names.
    """

    header: Header
    entries: tuple[Entry, ...]
    figures: Mapping[str, float | None]
    view: Columns = field(default_factory=dict)
    written: Mapping[str, str] = field(default_factory=dict)


def account(reading: Reading, call: int | None = None) -> Account:
    """Give an account of a replay.

    Parameters
    ----------
    reading
        The replay, in the open loop.
    call
        The number of the call whose prompt is laid beside the one before; None for none.
    """
    steps = reading.trace.steps
    paybacks = {each.call: each for each in reading.paybacks}
    owners = {step.place.number: index for index, step in enumerate(steps)}
    owners |= {s.place.number: index for index, step in enumerate(steps) for s in step.side}
    entries: list[Entry] = []
    total = 0.0
    beside = zip(reading.premiums, reading.dead, strict=True)
    for request, (premium, dead) in zip(reading.requests, beside, strict=True):
        index, dollars = owners[request.place.number], reading.cost(request)
        total += dollars
        step = None if isinstance(request, SideCall) else request
        entries.append(
            Entry(
                call=index + 1,
                kind=request.purpose if isinstance(request, SideCall) else CALL,
                answer=step.answer if step else "",
                model=request.model,
                time=request.time,
                gap=_gap(steps[index - 1], step) if step and index else None,
                usage=request.usage,
                causes=request.causes,
                cost=dollars,
                total=total,
                premium=premium,
                dead=dead,
                rewrite=step is not None and step.rewrite,
                compaction=step is not None and step.compaction,
                overflow=step is not None and step.overflow,
                payback=paybacks.get(index) if step else None,
            )
        )
    view, written = ({}, {}) if call is None else _compared(reading, call - 1)
    return Account(reading.trace.header, tuple(entries), figures(reading), view, written)


def _compared(reading: Reading, index: int) -> tuple[Columns, Mapping[str, str]]:
    """What became of the messages at a call, if it was a compaction."""
    if index not in {payback.call for payback in reading.paybacks}:
        return {}, {}
    diff = diff_of(reading, index)
    return columns_of(diff), written_in(diff)


def _gap(last: Step, step: Step) -> float | None:
    return step.time - last.time if last.time and step.time else None
