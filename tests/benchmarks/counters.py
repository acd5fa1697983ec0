"""What a benchmark counts: figures of the work that it did, the same on every machine."""

from __future__ import annotations

from collections.abc import Iterable

from compactlab.sim.store.parquet import Rows

CACHE_MISS = ("uncached", "cache_write_5m", "cache_write_1h")


def counters(tables: Iterable[Rows]) -> dict[str, int]:
    """Calls replayed, tokens of their prompts, how many of those were fresh, and compactions.

    Parameters
    ----------
    tables
        Tables of calls.
    """
    found = dict.fromkeys(("calls", "prompt_tokens", "cache_miss_tokens", "compactions"), 0)
    for calls in tables:
        cache_misses = sum(int(calls.array(name).sum()) for name in CACHE_MISS)
        found["calls"] += len(calls)
        found["cache_miss_tokens"] += cache_misses
        found["prompt_tokens"] += cache_misses + int(calls.array("cache_read").sum())
        found["compactions"] += int(calls.array("compaction").sum())
    return found
