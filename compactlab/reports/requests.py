"""An account of a replay for programs: every request with everything that is known of it."""

from __future__ import annotations

import csv
import json
from io import StringIO
from typing import Any

from compactlab.reports.comma import harmless
from compactlab.reports.figures import plain
from compactlab.sim.account import CALL, Account, Entry
from compactlab.sim.causes import CAUSES
from compactlab.sim.message import Usage


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


def account_as_json(account: Account, call: int | None = None) -> str:
    """The account as strict JSON in ASCII; what has no value is null."""
    header = account.header
    data = {
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
    return json.dumps(data, indent=2, allow_nan=False)


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
