"""One session under one strategy, request by request: what each cost, and why."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby

from compactlab.reports.explain.account import CALL, Account, Entry, data
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
from compactlab.reports.render.text import NONE, counted, dollars, show
from compactlab.sim.cache.causes import CAUSES
from compactlab.sim.experiment.tables import VIEWS
from compactlab.sim.metrics import METRICS

MOST = 60
_HEADS = ("call", "after", "prompt", "read", "written", "plain", "USD", "total")
_COLUMNS = (
    *map(Column, _HEADS),
    Column("why tokens were fresh; what was done", words=True),
)
_OF_CAUSES = (Column("cause", words=True), Column("tokens"), Column("meaning", words=True))
_WIDTH = 116
_SECONDS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def explanation(account: Account, *, everything: bool = False) -> Document:
    """An account as a table, with what it comes to.

    Shown are all requests, or only those where anything but appending happened, and of these at
    most :data:`MOST`, the dearest ones.
    """
    entries = account.entries
    shown = set(range(len(entries))) if everything else _chosen(entries)
    lines: list[Sequence[str]] = []
    for here, group in groupby(range(len(entries)), shown.__contains__):
        numbers = list(group)
        if here or len(numbers) == 1:
            lines += (_row(entries[number]) for number in numbers)
        else:
            lines.append(_folded([entries[number] for number in numbers]))
    causes = sentences(["fresh tokens by cause, side calls among them:"], bullets=False)
    blocks = (
        sentences(_about(account), bullets=False),
        Table(_COLUMNS, rows(lines)),
        sentences(_totals(account)),
        causes,
        Table(_OF_CAUSES, rows(_causes(account))),
    )
    return Document(blocks, data=partial(data, account), width=_WIDTH)


def _chosen(entries: Sequence[Entry]) -> set[int]:
    eventful = [number for number, entry in enumerate(entries) if entry.eventful]
    dearest = sorted(eventful, key=lambda number: (-round(entries[number].cost, 9), number))
    ends = {0, len(entries) - 1} if entries else set()
    return {*dearest[:MOST], *ends}


def _about(account: Account) -> list[str]:
    header = account.header
    window = f", window narrowed to {header.window:,} tokens" if header.window else ""
    used = ", ".join(dict.fromkeys(entry.model for entry in account.entries))
    model = f"recorded: {used}" if header.model == "recorded" else header.model
    asked = any(entry.kind != CALL for entry in account.entries)
    written = f"; simulated summaries by {name(header.summarizer)}" if asked else ""
    return [
        f"{name(header.conversation)} under {name(header.strategy)}",
        f"model {name(model)}{window}{written}",
    ]


def _row(entry: Entry) -> Sequence[str]:
    usage = entry.usage
    tokens = (usage.prompt, usage.cache_read, usage.cache_write, usage.uncached)
    what = f"{entry.call:,}" if entry.kind == CALL else name(entry.kind)
    told = "; ".join([*_deeds(entry), *([_why(entry)] if entry.causes else [])])
    dear = (dollars(entry.cost), dollars(entry.total))
    return [what, _ago(entry.gap), *map(_tokens, tokens), *dear, told]


def _tokens(tokens: int) -> str:
    return show(tokens, "tokens") if tokens else NONE


def _why(entry: Entry) -> str:
    return ", ".join(f"{cause} {show(n, 'tokens')}" for cause, n in entry.causes.items())


def _deeds(entry: Entry) -> Iterator[str]:
    if entry.overflow:
        yield "OVER THE WINDOW"
    if entry.compaction:
        yield f"compacted{_earned(entry)}"
    elif entry.rewrite:
        yield "rewritten"


def _earned(entry: Entry) -> str:
    """What a compaction took away, and after how many calls that had paid for it."""
    back = entry.payback
    if back is None:
        return ""
    size = show(abs(back.removed), "tokens")
    left = f" by {size}" if back.removed > 0 else f", larger by {size}" if back.removed else ""
    if not math.isfinite(back.break_even):
        return f"{left}, saves nothing"
    after = f"{back.break_even:,.1f} calls"
    return f"{left}, paid for after {after}" if back.paid else f"{left}, unpaid: needs {after}"


def _ago(seconds: float | None) -> str:
    if seconds is None or seconds < 0:
        return ""
    size, unit = next(((s, u) for s, u in _SECONDS if seconds >= s), (1, "s"))
    return f"{seconds / size:.0f} {unit}"


def _folded(entries: Sequence[Entry]) -> Sequence[str]:
    """A row for requests that are not shown."""
    calls = [entry for entry in entries if entry.kind == CALL]
    told = [counted(len(calls), "call")]
    if not any(entry.eventful for entry in entries):
        told.append("only appended to")
    kinds = {
        "compaction": sum(entry.compaction for entry in calls),
        "side call": len(entries) - len(calls),
    }
    told += (counted(number, kind) for kind, number in kinds.items() if number)
    spent = dollars(math.fsum(entry.cost for entry in entries))
    return ["...", *[""] * 5, spent, dollars(entries[-1].total), ", ".join(told)]


def _totals(account: Account) -> Iterator[str]:
    """The figures of the run, in sentences."""
    figures = account.figures

    def of(name: str) -> str:
        return show(figures[name], METRICS[name].unit)

    yield (
        f"{of('cost_usd')} USD for {of('calls')} calls, of it {of('side_cost_usd')} for side calls "
        f"({of('summary_cost_usd')} for summaries)"
    )
    yield (
        f"tokens: {of('tokens_cache_read')} read, {of('tokens_cache_write')} written, "
        f"{of('tokens_uncached')} plain, {of('tokens_output')} of output; "
        f"{of('prefix_reuse')} of the calls' prompts read"
    )
    yield (
        f"{of('premium_usd')} USD above reading what need not have been fresh; "
        f"{of('tokens_dead_writes')} tokens written for nobody "
        f"({of('dead_writes_usd')} USD above plain input)"
    )
    if figures["compactions"]:
        back = figures["break_even_calls"]
        after = "never" if back is None or math.isinf(back) else f"after {back:,.1f} calls"
        yield (
            f"{counted(int(figures['compactions']), 'compaction')}, paid for {after} (median); "
            f"{of('paid_back')} before the next one"
        )
    yield (
        f"prefill, a proxy for the first token: {of('ttft_proxy_p50')} s for half of the calls, "
        f"{of('ttft_proxy_p95')} s for 19 of 20"
    )


def _causes(account: Account) -> Iterator[Sequence[str]]:
    for cause, meaning in CAUSES.items():
        if figure := account.figures[f"fresh_{cause}"]:
            yield cause, show(figure, "tokens"), meaning


def one_call(account: Account, call: int) -> Document:
    """Everything about one call and its side calls; of a compaction, what became of messages."""
    entries = [entry for entry in account.entries if entry.call == call]
    parts: list[Iterable[str]] = [_about(account), *map(_block, entries)]
    view = view_of(VIEWS.filled(account.view), account.written)
    if view is not None and view.call == call:
        parts.append(in_lines(view))
    blocks = (Sentences(tuple(map(Sentence, part)), bullets=False) for part in parts)
    return Document(tuple(blocks), data=partial(data, account, call))


def _block(entry: Entry) -> Iterator[str]:
    usage = entry.usage
    what = f"call {entry.call:,}" if entry.kind == CALL else name(entry.kind)
    answered = f", answered by {name(entry.answer)}" if entry.answer else ""
    after = f", {_ago(entry.gap)} after the call before" if _ago(entry.gap) else ""
    yield f"{what}, {name(entry.model)}{answered}{after}"
    yield _told(
        "prompt",
        f"{usage.prompt:,} tokens: {usage.cache_read:,} read, {usage.cache_write_5m:,} written for "
        f"5 min, {usage.cache_write_1h:,} for 1 h, {usage.uncached:,} plain",
    )
    yield _told("output", f"{usage.output:,} tokens")
    yield _told("cost", f"{dollars(entry.cost)} USD, {dollars(entry.total)} USD so far")
    yield _told("premium", f"{dollars(entry.premium)} USD above reading what need not be fresh")
    yield _told("written", f"{entry.dead:,} tokens of it were never read by a later request")
    for cause, tokens in entry.causes.items():
        yield _told("fresh", f"{tokens:,} {cause}: {CAUSES[cause]}")
    for deed in _deeds(entry):
        yield _told("strategy", deed)
    if back := entry.payback:
        yield _told(
            "compaction",
            f"{dollars(back.premium)} USD above reading and {dollars(back.summary)} USD for "
            f"summaries; {dollars(back.saved)} USD saved on {counted(back.calls, 'call')}, "
            "until the next one",
        )


def _told(title: str, text: str) -> str:
    return f"  {title:<11} {text}"
