"""contextwatch: a profiler of contexts, told of each call's messages as a loop of one's own does.

Its quickest ways are taken: no ledger file (``sink=None``), its estimate of tokens by length, and
each message as plain text, so that it need not put blocks together. It has no strategies: whoever
calls it cuts the window.
"""

from __future__ import annotations

from contextwatch import ContextProfiler
from stopwatch import best_of, given, tell


def measure(script: dict, keep: int) -> dict[str, object]:
    """Profile each call under a window of so many messages; 0 for all of them."""
    messages = script["messages"]

    def work(profiler: ContextProfiler) -> int:
        for end in script["calls"]:
            profiler.record_turn(messages[max(0, end - keep) if keep else 0 : end])
        return len(profiler.records)

    return {
        "strategy": "sliding_window" if keep else "keep_all",
        "ran": "record_turn of each call's messages, no file, tokens estimated",
        **best_of(lambda: ContextProfiler(sink=None, strict=True), work),
    }


if __name__ == "__main__":
    _, script = given()
    tell([measure(script, 0), measure(script, script["keep"])])
