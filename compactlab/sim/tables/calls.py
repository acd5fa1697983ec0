"""The table of calls: one row a call of the script, in the open loop."""

from __future__ import annotations

import math
from typing import Any

from compactlab.sim.causes import CAUSES
from compactlab.sim.metrics import Reading
from compactlab.sim.tables.table import Column, Columns, Table

FRESH = "fresh_"

_COLUMNS = {
    "call": Column("count", "number of the call in its conversation, from 1 on"),
    "model": Column("text", "model that it went to"),
    "time": Column("number", "when the request started, in seconds since 1970"),
    "uncached": Column("count", "prompt tokens at the plain input price"),
    "cache_read": Column("count", "prompt tokens read from the cache"),
    "cache_write_5m": Column("count", "prompt tokens written for 5 minutes"),
    "cache_write_1h": Column("count", "prompt tokens written for an hour or longer"),
    "output": Column("count", "tokens of the answer"),
    "cost_usd": Column("number", "dollars of the call, without its side calls"),
    "side_calls": Column("count", "side calls since the call before"),
    "side_tokens": Column("count", "tokens of their prompts and answers"),
    "side_cost_usd": Column("number", "dollars of these side calls"),
    "rewrite": Column("flag", "whether the strategy changed more than the prompt's end"),
    "compaction": Column("flag", "whether content that had been sent is gone or shortened"),
    "overflow": Column("flag", "whether the prompt is larger than the window"),
    "premium_usd": Column("number", "dollars above reading what need not have been fresh"),
    "dead_writes": Column("count", "tokens written that no later request has read"),
}


def _of(reading: Reading) -> Columns:
    steps = reading.trace.steps
    usages = [step.usage for step in steps]
    columns: dict[str, Any] = {
        "call": range(1, len(steps) + 1),
        "model": [step.model for step in steps],
        "time": [step.time for step in steps],
        "uncached": [usage.uncached for usage in usages],
        "cache_read": [usage.cache_read for usage in usages],
        "cache_write_5m": [usage.cache_write_5m for usage in usages],
        "cache_write_1h": [usage.cache_write_1h for usage in usages],
        "output": [usage.output for usage in usages],
        "cost_usd": reading.costs,
        "rewrite": [step.rewrite for step in steps],
        "compaction": [step.compaction for step in steps],
        "overflow": [step.overflow for step in steps],
    }
    return columns | _side(reading) | _waste(reading) | _causes(reading)


def _side(reading: Reading) -> dict[str, list[Any]]:
    if not reading.side_calls:
        return {}
    sides = [step.side for step in reading.trace.steps]
    return {
        "side_calls": list(map(len, sides)),
        "side_tokens": [sum(c.usage.prompt + c.usage.output for c in side) for side in sides],
        "side_cost_usd": [math.fsum(map(reading.cost, side)) for side in sides],
    }


def _waste(reading: Reading) -> dict[str, list[Any]]:
    """What a call and its side calls wasted."""
    premiums, dead = reading.premiums, reading.dead
    if not reading.side_calls:  # the requests are the calls
        return {"premium_usd": premiums, "dead_writes": dead}
    beside = zip(premiums, dead, strict=True)
    waste = {
        request.place.number: each for request, each in zip(reading.requests, beside, strict=True)
    }
    of = [
        [waste[number] for number in (step.place.number, *(c.place.number for c in step.side))]
        for step in reading.trace.steps
    ]
    return {
        "premium_usd": [math.fsum(dollars for dollars, _ in each) for each in of],
        "dead_writes": [sum(tokens for _, tokens in each) for each in of],
    }


def _causes(reading: Reading) -> dict[str, list[int]]:
    """A column a cause that occurs: fresh tokens of the call and its side calls."""
    steps = reading.trace.steps
    columns: dict[str, list[int]] = {}
    for place, step in enumerate(steps):
        for causes in (step.causes, *(call.causes for call in step.side)):
            for cause, tokens in causes.items():
                column = columns.get(cause)
                if column is None:
                    column = columns[cause] = [0] * len(steps)
                column[place] += tokens
    return {FRESH + cause: column for cause, column in columns.items()}


CALLS = Table(
    "calls",
    "a call of the script, in the open loop",
    _COLUMNS
    | {
        FRESH + cause: Column("count", f"fresh tokens, side calls among them: {meaning}")
        for cause, meaning in CAUSES.items()
    },
    _of,
)
