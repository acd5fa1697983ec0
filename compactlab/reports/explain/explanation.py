"""One session under one strategy, request by request: costs and causes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby, pairwise
from typing import Any

from compactlab.reports.analysis.comparison import RECALL
from compactlab.reports.bill import Spending, Spent, session_of
from compactlab.reports.explain.compaction import in_lines, view_of
from compactlab.reports.render.document import (
    Column,
    Document,
    Sentence,
    Sentences,
    Table,
    name,
    rows,
    sentences,
)
from compactlab.reports.render.fields import (
    Field,
    as_data,
    cells_of,
    csv_of,
    data_of,
    heads_of,
    hidden,
)
from compactlab.reports.render.text import NONE, counted, dollars, lag_from, show
from compactlab.sim.cache.causes import CAUSES
from compactlab.sim.core.conversation import Conversation, PassedOver, Rewind
from compactlab.sim.core.message import Message, Usage
from compactlab.sim.diff import diff_of
from compactlab.sim.metrics import METRICS, RunData, figures
from compactlab.sim.metrics.run_data import Payback
from compactlab.sim.models.model import Catalogue, built_in, tokenizer_of
from compactlab.sim.replay.sizes import Unseen, unseen
from compactlab.sim.replay.summarize import FAULTS
from compactlab.sim.replay.trace import Header, SideCall, Step
from compactlab.sim.store.parquet import Columns
from compactlab.sim.store.tables import VIEWS, columns_of, written_in

CALL = "call"


@dataclass(frozen=True, slots=True)
class RequestRow:
    """One request."""

    call: int  # from 1; for a summary call, the call that it precedes
    kind: str  # ``call``, or the purpose of a summary call
    answer: str  # "" for a summary call
    model: str
    time: float  # seconds since 1970
    gap: float | None  # seconds since the previous call; None if unknown
    usage: Usage
    causes: Mapping[str, int]  # cache-miss tokens, in the order of the prompt
    cost: float  # dollars, also total and avoidable_cost
    total: float
    avoidable_cost: float
    dead: int  # tokens written that no later request read
    rewrite: bool = False
    compaction: bool = False
    overflow: bool = False
    payback: Payback | None = None
    faults: tuple[str, ...] = ()  # of a summary; names of FAULTS

    @property
    def eventful(self) -> bool:
        """Whether it did more than append."""
        acted = self.rewrite or self.compaction or self.overflow or self.kind != CALL
        return acted or not self.causes.keys() <= {"append"}


@dataclass(frozen=True)
class Account:
    """All requests of a replay, and the figures of the run."""

    header: Header
    entries: tuple[RequestRow, ...]
    figures: Mapping[str, float | None]  # as from ``compactlab run``
    # Of the requested call, if it was a compaction.
    view: Columns = field(default_factory=dict)
    # Texts of messages in the view that are not in the script.
    written: Mapping[str, str] = field(default_factory=dict)


def account(reading: RunData, call: int | None = None) -> Account:
    """Make the account of a replay."""
    steps = reading.trace.steps
    paybacks = {each.call: each for each in reading.paybacks}
    owners = {step.place.number: index for index, step in enumerate(steps)}
    owners |= {s.place.number: index for index, step in enumerate(steps) for s in step.side}
    entries: list[RequestRow] = []
    total = 0.0
    waste = zip(reading.avoidable_costs, reading.dead, strict=True)
    for request, (avoidable_cost, dead) in zip(reading.requests, waste, strict=True):
        index, dollars = owners[request.place.number], reading.cost(request)
        total += dollars
        step = None if isinstance(request, SideCall) else request
        entries.append(
            RequestRow(
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
                avoidable_cost=avoidable_cost,
                dead=dead,
                **{name: step is not None and getattr(step, name) for name in _OF_STEP},
                payback=paybacks.get(index) if step else None,
                faults=request.faults if isinstance(request, SideCall) else (),
            )
        )
    view, written = ({}, {}) if call is None else _compared(reading, call - 1)
    return Account(reading.trace.header, tuple(entries), figures(reading), view, written)


def _compared(reading: RunData, index: int) -> tuple[Columns, Mapping[str, str]]:
    """The view of a call, if it was a compaction."""
    if index not in {payback.call for payback in reading.paybacks}:
        return {}, {}
    diff = diff_of(reading, index)
    return columns_of(diff), written_in(diff)


def _gap(last: Step, step: Step) -> float | None:
    return step.time - last.time if last.time and step.time else None


def data(account: Account, call: int | None = None) -> dict[str, Any]:
    """The JSON of an account, or of one call."""
    header = account.header
    return {
        "conversation": header.conversation,
        "digest": header.digest,
        "strategy": header.strategy,
        "summarizer": header.summarizer,
        "model": header.model,
        "window": header.window,
        "seed": header.seed,
        "figures": as_data(account.figures),
        "requests": [data_of((*_REQUEST, *_IN_JSON), each) for each in _of(account, call)],
        "view": _view(account),
    }


def _view(account: Account) -> dict[str, Any] | None:
    """A compaction message by message, in the columns of the table of views; else None."""
    if not account.view:
        return None
    rows = zip(*account.view.values(), strict=True)
    return {
        "messages": [dict(zip(account.view, row, strict=True)) for row in rows],
        "written": dict(account.written),
    }


def _of(account: Account, call: int | None) -> list[RequestRow]:
    return [entry for entry in account.entries if call in (None, entry.call)]


def requests_as_csv(account: Account, call: int | None = None) -> str:
    """One row per request at full precision, of all calls or of one."""

    def tokens(cause: str) -> Callable[[RequestRow], int | None]:
        return lambda entry: entry.causes.get(cause)

    causes = (Field(f"cache_miss_{cause}", tokens(cause)) for cause in CAUSES)
    return csv_of((*_REQUEST, *causes), _of(account, call))


MOST = 60
_LAGS = (20_000, 10_000, 40_000)  # the primary distance, and the others
_OF_CAUSES = (Column("cause", words=True), Column("tokens"), Column("meaning", words=True))
_WIDTH = 116


_SECONDS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def _tokens(tokens: int) -> str:
    return show(tokens, "tokens") if tokens else NONE


def _ago(seconds: float | None) -> str:
    if seconds is None or seconds < 0:
        return ""
    size, unit = next(((s, u) for s, u in _SECONDS if seconds >= s), (1, "s"))
    return f"{seconds / size:.0f} {unit}"


def _named(entry: RequestRow) -> str:
    return f"{entry.call:,}" if entry.kind == CALL else name(entry.kind)


def _remark(entry: RequestRow) -> str:
    causes = ", ".join(f"{cause} {show(n, 'tokens')}" for cause, n in entry.causes.items())
    return "; ".join([*_deeds(entry), *([causes] if causes else [])])


_OF_STEP = ("rewrite", "compaction", "overflow")
_REQUEST = (
    Field("call", text=_named),
    *hidden("kind", "answer", "model", "time"),
    Field("gap", write=_ago),
    Field("prompt", "usage.prompt", write=_tokens),
    Field("cache_read", "usage.cache_read", "read", write=_tokens),
    Field("", "usage.cache_write", "written", write=_tokens),
    *hidden("cache_write_5m", "cache_write_1h", of="usage"),
    Field("uncached", "usage.uncached", write=_tokens),
    *hidden("output", of="usage"),
    Field("cost_usd", "cost", "USD", "USD"),
    Field("total_usd", "total", "total", "USD"),
    *hidden(*_OF_STEP, avoidable_cost_usd="avoidable_cost", dead_writes="dead"),
    *hidden(
        removed="payback.removed",
        spike_avoidable_cost_usd="payback.avoidable_cost",
        summary_cost_usd="payback.summary",
        saved_usd="payback.saved",
        break_even_calls="payback.break_even",
        calls_to_next="payback.calls",
    ),
    Field("", label="what the strategy did; cache misses by cause", text=_remark, words=True),
)
_IN_JSON = (Field("causes"), Field("faults"))


def explanation(account: Account, *, everything: bool = False) -> Document:
    """An account as a table, with its totals.

    It shows all requests, or only those that did more than append, and at most :data:`MOST` of
    these, the most expensive ones.
    """
    entries = account.entries
    shown = set(range(len(entries))) if everything else _chosen(entries)
    lines: list[Sequence[str]] = []
    for here, group in groupby(range(len(entries)), shown.__contains__):
        numbers = list(group)
        if here or len(numbers) == 1:
            lines += (cells_of(_REQUEST, entries[number]) for number in numbers)
        else:
            lines.append(_folded([entries[number] for number in numbers]))
    causes = sentences(["cache-miss tokens by cause, side calls included:"], bullets=False)
    blocks = (
        sentences(_about(account), bullets=False),
        Table(heads_of(_REQUEST), rows(lines)),
        sentences([*_totals(account), *_failed(account)]),
        causes,
        Table(_OF_CAUSES, rows(_causes(account))),
    )
    return Document(blocks, data=partial(data, account), width=_WIDTH)


def _chosen(entries: Sequence[RequestRow]) -> set[int]:
    eventful = [number for number, entry in enumerate(entries) if entry.eventful]
    by_cost = sorted(eventful, key=lambda number: (-round(entries[number].cost, 9), number))
    ends = {0, len(entries) - 1} if entries else set()
    return {*by_cost[:MOST], *ends}


def _about(account: Account) -> list[str]:
    header = account.header
    window = f", window narrowed to {header.window:,} tokens" if header.window else ""
    used = ", ".join(dict.fromkeys(entry.model for entry in account.entries))
    model = f"recorded: {used}" if header.model == "recorded" else header.model
    asked = any(entry.kind != CALL for entry in account.entries)
    kind = "summaries" if header.summarizer.startswith("llm(") else "simulated summaries"
    written = f"; {kind} by {name(header.summarizer)}" if asked else ""
    return [
        f"{name(header.conversation)} under {name(header.strategy)}",
        f"model {name(model)}{window}{written}",
    ]


def _deeds(entry: RequestRow) -> Iterator[str]:
    if entry.overflow:
        yield "EXCEEDS THE CONTEXT WINDOW"
    if entry.compaction:
        yield f"compacted{_break_even(entry)}"
    elif entry.rewrite:
        yield "rewritten"
    if entry.faults:
        yield f"failed the sanity check: {', '.join(entry.faults)}"


def _break_even(entry: RequestRow) -> str:
    """What a compaction removed, and its calls until break-even."""
    back = entry.payback
    if back is None:
        return ""
    size = show(abs(back.removed), "tokens")
    left = f" by {size}" if back.removed > 0 else f", larger by {size}" if back.removed else ""
    if not math.isfinite(back.break_even):
        return f"{left}, no break-even: it saves nothing"
    after = f"{back.break_even:,.1f} calls"
    return f"{left}, {'break-even after' if back.paid else 'no break-even yet: it takes'} {after}"


def _folded(entries: Sequence[RequestRow]) -> Sequence[str]:
    """A row for hidden requests."""
    calls = [entry for entry in entries if entry.kind == CALL]
    parts = [counted(len(calls), "call")]
    if not any(entry.eventful for entry in entries):
        parts.append("appended only")
    kinds = {
        "compaction": sum(entry.compaction for entry in calls),
        "side call": len(entries) - len(calls),
    }
    parts += (counted(number, kind) for kind, number in kinds.items() if number)
    spent = dollars(math.fsum(entry.cost for entry in entries))
    return ["...", *[""] * 5, spent, dollars(entries[-1].total), ", ".join(parts)]


def _totals(account: Account) -> Iterator[str]:
    """The figures of the run, in sentences."""
    figures = account.figures

    def of(name: str) -> str:
        return show(figures[name], METRICS[name].unit)

    yield (
        f"cost: {of('cost_usd')} USD for {of('calls')} calls; side calls {of('side_cost_usd')} "
        f"USD, of which summaries {of('summary_cost_usd')} USD"
    )
    if figures["recorded_usd"] is not None:
        yield f"the log's own bill: {of('recorded_usd')} USD, as compactlab audit has it"
    if figures["amnesia_need"] is not None:
        yield f"fact recall{_recall(figures)}; miss rate, all needs: {of('amnesia_need')}"
    yield (
        f"tokens: read {of('tokens_cache_read')}, written {of('tokens_cache_write')}, "
        f"uncached {of('tokens_uncached')}, output {of('tokens_output')}; "
        f"share of prompt tokens read from the cache {of('prefix_reuse')}"
    )
    yield (
        f"cache waste: {of('avoidable_cost_usd')} USD; "
        f"cache writes never read: {of('tokens_dead_writes')} tokens "
        f"({of('dead_writes_usd')} USD above the uncached price)"
    )
    if figures["compactions"]:
        back = figures["break_even_calls"]
        never = back is None or math.isinf(back)
        after = "no break-even" if never else f"break-even after {back:,.1f} calls"
        yield (
            f"{counted(int(figures['compactions']), 'compaction')}: {after} (median); "
            f"{of('paid_back')} broke even before the next one"
        )
    yield (
        f"prefill time, a proxy for time to first token: median {of('ttft_proxy_p50')} s, "
        f"95th percentile {of('ttft_proxy_p95')} s"
    )


def _failed(account: Account) -> Iterator[str]:
    """How many summaries failed, and what was wrong with them."""
    if bad := account.figures["summaries_failed"]:
        asked = counted(int(account.figures["summaries"] or 0), "summary")
        yield (
            f"{bad:,.0f} of {asked} failed the sanity check. Where they stay in the prompts, "
            "recall counts them. Their faults:"
        )
        wrong = Counter(fault for entry in account.entries for fault in entry.faults)
        yield from (f"  {fault} {number:,}: {FAULTS[fault]}" for fault, number in wrong.items())


def _recall(figures: Mapping[str, float | None]) -> str:
    """Recall at the primary distance, or at the longest one, and at the others."""
    known = {lag: show(figures[n], "share") for lag, n in RECALL.items() if figures[n] is not None}
    headline = max((lag for lag in known if lag <= _LAGS[0]), default=None)
    if headline is None:
        return f": no fact is needed at a distance of {min(RECALL):,} tokens"
    others = [f"{lag_from(lag)} {known[lag]}" for lag in _LAGS if lag in known and lag != headline]
    beside = f" ({', '.join(others)})" if others else ""
    return f" at a distance of {headline:,} tokens or more: {known[headline]}{beside}"


def _causes(account: Account) -> Iterator[Sequence[str]]:
    for cause, meaning in CAUSES.items():
        if figure := account.figures[f"cache_miss_{cause}"]:
            yield cause, show(figure, "tokens"), meaning


def one_call(account: Account, call: int) -> Document:
    """Everything about one call and its summary calls; for a compaction, the fates of messages."""
    entries = [entry for entry in account.entries if entry.call == call]
    parts: list[Iterable[str]] = [_about(account), *map(_block, entries)]
    view = view_of(VIEWS.filled(account.view), account.written)
    if view is not None and view.call == call:
        parts.append(in_lines(view))
    blocks = (Sentences(tuple(map(Sentence, part)), bullets=False) for part in parts)
    return Document(tuple(blocks), data=partial(data, account, call))


def _block(entry: RequestRow) -> Iterator[str]:
    usage = entry.usage
    what = f"call {_named(entry)}" if entry.kind == CALL else _named(entry)
    answered = f", answered by {name(entry.answer)}" if entry.answer else ""
    after = f", {_ago(entry.gap)} after the previous call" if _ago(entry.gap) else ""
    yield f"{what}, {name(entry.model)}{answered}{after}"
    yield _titled(
        "prompt",
        f"{usage.prompt:,} tokens: {usage.cache_read:,} read, {usage.cache_write_5m:,} written for "
        f"5 min, {usage.cache_write_1h:,} written for 1 h, {usage.uncached:,} uncached",
    )
    yield _titled("output", f"{usage.output:,} tokens")
    yield _titled("cost", f"{dollars(entry.cost)} USD, {dollars(entry.total)} USD so far")
    yield _titled("cache waste", f"{dollars(entry.avoidable_cost)} USD")
    yield _titled("never read", f"{entry.dead:,} tokens of its cache writes")
    for cause, tokens in entry.causes.items():
        yield _titled("cache miss", f"{tokens:,} {cause}: {CAUSES[cause]}")
    for deed in _deeds(entry):
        yield _titled("strategy", deed)
    if back := entry.payback:
        yield _titled(
            "compaction",
            f"cache waste {dollars(back.avoidable_cost)} USD, summaries "
            f"{dollars(back.summary)} USD; saved {dollars(back.saved)} USD on "
            f"{counted(back.calls, 'call')} until the next one",
        )


def _titled(title: str, text: str) -> str:
    return f"  {title:<11} {text}"


@dataclass(frozen=True)
class Anatomy:
    """The figures of a conversation."""

    conversation: str
    format: str
    messages: int
    calls: int
    turns: int
    rewinds: int
    compactions: tuple[int, ...]  # recorded tokens before each
    models: dict[str, int]  # calls by model
    tokens_by_role: dict[str, int]  # o200k
    tokens_by_tool: dict[str, int]  # o200k, of results
    images: int
    gaps: tuple[float, ...]  # seconds: median, ninth decile, longest; empty without times
    spent: Spent  # the whole recorded bill
    purposes: dict[str, Spent]  # the bill by the purpose of requests
    unseen: Unseen  # tokens of prompts that are not messages
    passed_over: tuple[PassedOver, ...]  # skipped records
    parent: str  # the session that it was forked from

    @property
    def unrecorded(self) -> bool:
        """Whether the log has no usage at all."""
        return not self.spent.calls


def anatomy(conversation: Conversation, catalogue: Catalogue | None = None) -> Anatomy:
    """Compute the figures of a conversation."""
    known = catalogue or built_in()
    models = Counter(answer.call.model for answer in conversation.calls if answer.call)
    parts = [part for message in conversation.messages for part in message.parts]
    spending = Spending([session_of(conversation, known.billed)])
    return Anatomy(
        conversation=conversation.id,
        format=conversation.format,
        messages=len(conversation.messages),
        calls=len(conversation.calls),
        turns=conversation.turns,
        rewinds=sum(isinstance(event, Rewind) for event in conversation.events),
        compactions=tuple(e.tokens_before for e in conversation.compactions if not e.edits),
        models=dict(models.most_common()),
        tokens_by_role=_by_role(conversation),
        tokens_by_tool=_by_tool(conversation),
        images=sum(part.type == "image" for part in parts),
        gaps=_gaps(conversation.messages),
        spent=spending.whole,
        purposes=dict(spending.by_purpose()),
        unseen=unseen(conversation, known),
        passed_over=conversation.passed_over,
        parent=conversation.parent,
    )


def _by_role(conversation: Conversation) -> dict[str, int]:
    count = tokenizer_of("").message
    tokens: Counter[str] = Counter()
    for message in conversation.messages:
        tokens["client" if message.meta else message.role] += count(message)
    return dict(tokens.most_common())


def _by_tool(conversation: Conversation) -> dict[str, int]:
    count = tokenizer_of("").part
    tokens: Counter[str] = Counter()
    for message in conversation.messages:
        for part in message.parts:
            if part.type == "tool_result":
                tokens[part.name or "?"] += count(part)
    return dict(tokens.most_common())


def _gaps(messages: tuple[Message, ...]) -> tuple[float, ...]:
    times = [message.time for message in messages if message.time]
    gaps = sorted(max(0.0, after - before) for before, after in pairwise(times))
    if not gaps:
        return ()
    return gaps[len(gaps) // 2], gaps[len(gaps) * 9 // 10], gaps[-1]
