"""An account of a replay: every request with what it was, what it cost and why."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

from compactlab.reports.render.text import harmless, plain
from compactlab.sim.cache.causes import CAUSES
from compactlab.sim.core.message import Usage
from compactlab.sim.experiment.compaction_diff import diff_of
from compactlab.sim.experiment.table import Columns
from compactlab.sim.experiment.tables import columns_of, written_in
from compactlab.sim.metrics import Reading, figures
from compactlab.sim.metrics.run_data import Payback
from compactlab.sim.replay.trace import Header, SideCall, Step

# A replay request by request: what each was, what it cost and why, side calls among them.

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
        As in :class:`compactlab.sim.replay.trace.Step`.
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
    """Give an account of a replay."""
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


# An account of a replay for programs: every request with everything that is known of it.


def entries_as_csv(account: Account, call: int | None = None) -> str:
    """A row a request, with everything at full precision: of all calls, or of one."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    heads = [*_HEADS, *(f"fresh_{cause}" for cause in CAUSES)]
    writer.writerow(heads)
    for row in map(_plain, _of(account, call)):
        fresh = {f"fresh_{cause}": tokens for cause, tokens in row.pop("causes").items()}
        told = {**dict.fromkeys(heads), **row, **fresh}
        writer.writerow(
            harmless(value) if isinstance(value, str) else value
            for value in (told[head] for head in heads)
        )
    return out.getvalue()


def data(account: Account, call: int | None = None) -> dict[str, Any]:
    """All of an account, or of one call: what its JSON holds."""
    header = account.header
    return {
        "conversation": header.conversation,
        "digest": header.digest,
        "strategy": header.strategy,
        "summarizer": header.summarizer,
        "model": header.model,
        "window": header.window,
        "seed": header.seed,
        "figures": {name: plain(value) for name, value in account.figures.items()},
        "requests": [*map(_plain, _of(account, call))],
        "view": _view(account),
    }


def _view(account: Account) -> dict[str, Any] | None:
    """A compaction message by message, in the columns of the table of views; None of others."""
    if not account.view:
        return None
    rows = zip(*account.view.values(), strict=True)
    return {
        "messages": [dict(zip(account.view, row, strict=True)) for row in rows],
        "written": dict(account.written),
    }


def _of(account: Account, call: int | None) -> list[Entry]:
    return [entry for entry in account.entries if call in (None, entry.call)]


def _plain(entry: Entry) -> dict[str, Any]:
    usage, back = entry.usage, entry.payback
    return {
        "call": entry.call,
        "kind": entry.kind,
        "answer": entry.answer,
        "model": entry.model,
        "time": entry.time,
        "gap": entry.gap,
        "prompt": usage.prompt,
        "cache_read": usage.cache_read,
        "cache_write_5m": usage.cache_write_5m,
        "cache_write_1h": usage.cache_write_1h,
        "uncached": usage.uncached,
        "output": usage.output,
        "cost_usd": entry.cost,
        "total_usd": entry.total,
        "premium_usd": entry.premium,
        "dead_writes": entry.dead,
        "causes": dict(entry.causes),
        "rewrite": entry.rewrite,
        "compaction": entry.compaction,
        "overflow": entry.overflow,
        "removed": back.removed if back else None,
        "spike_premium_usd": back.premium if back else None,
        "summary_cost_usd": back.summary if back else None,
        "saved_usd": back.saved if back else None,
        "break_even_calls": plain(back.break_even) if back else None,
        "calls_to_next": back.calls if back else None,
    }


_NOTHING = Entry(0, CALL, "", "", 0.0, None, Usage(), {}, 0.0, 0.0, 0.0, 0)
_HEADS = [name for name in _plain(_NOTHING) if name != "causes"]
