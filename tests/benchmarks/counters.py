"""What a benchmark counts: figures of the work that it did, the same on every machine."""

from __future__ import annotations

from collections.abc import Iterable

from compactlab.sim.experiment.parquet import Rows

FRESH = ("uncached", "cache_write_5m", "cache_write_1h")


def counters(tables: Iterable[Rows]) -> dict[str, int]:
    """Calls replayed, tokens of their prompts, how many of those were fresh, and compactions.

    Parameters
    ----------
    tables
        Tables of calls.
    """
    found = dict.fromkeys(("calls", "prompt_tokens", "fresh_tokens", "compactions"), 0)
    for calls in tables:
        fresh = sum(int(calls.array(name).sum()) for name in FRESH)
        found["calls"] += len(calls)
        found["fresh_tokens"] += fresh
        found["prompt_tokens"] += fresh + int(calls.array("cache_read").sum())
        found["compactions"] += int(calls.array("compaction").sum())
    return found
