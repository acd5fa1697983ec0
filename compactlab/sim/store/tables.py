"""The tables of the store other than the runs: their columns and the functions that fill them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Any

from compactlab.sim.cache.causes import CAUSES
from compactlab.sim.core.message import Message, Part, encoded
from compactlab.sim.diff import (
    FATES,
    Diff,
    DiffRow,
    diff_of,
    excerpt,
    losses,
    most_forgetful,
    need_of,
    statement_of,
)
from compactlab.sim.facts import STATES
from compactlab.sim.facts.ledger import numbers
from compactlab.sim.metrics import RunData
from compactlab.sim.metrics.memory import LAGS, recall
from compactlab.sim.metrics.run_data import BASE_CALLS
from compactlab.sim.store.parquet import Column, Columns, Table

# The table of calls: one row per call of the script, in the open loop.

CACHE_MISS = "cache_miss_"

_COLUMNS = {
    "call": Column("count", "number of the call in its conversation, from 1 on"),
    "model": Column("text", "name of the model"),
    "time": Column("number", "when the request started, in seconds since 1970"),
    "uncached": Column("count", "prompt tokens at the plain input price"),
    "cache_read": Column("count", "prompt tokens read from the cache"),
    "cache_write_5m": Column("count", "prompt tokens written for 5 minutes"),
    "cache_write_1h": Column("count", "prompt tokens written for an hour or longer"),
    "output": Column("count", "tokens of the answer"),
    "cost_usd": Column("number", "dollars of the call, without its side calls"),
    "side_calls": Column("count", "side calls since the previous call"),
    "side_tokens": Column("count", "tokens of the prompts and answers of these side calls"),
    "side_cost_usd": Column("number", "dollars of these side calls"),
    "rewrite": Column("flag", "whether the strategy changed more than the end of the prompt"),
    "compaction": Column("flag", "whether sent content was removed or shortened"),
    "overflow": Column("flag", "whether the prompt exceeds the context window"),
    "avoidable_cost_usd": Column("number", "avoidable cache cost in dollars, side calls included"),
    "dead_writes": Column("count", "never-read cache writes, in tokens"),
}


def _calls_of(data: RunData) -> Columns:
    steps = data.trace.steps
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
        "cost_usd": data.costs,
        "rewrite": [step.rewrite for step in steps],
        "compaction": [step.compaction for step in steps],
        "overflow": [step.overflow for step in steps],
    }
    return columns | _side(data) | _waste(data) | _causes(data)


def _side(data: RunData) -> dict[str, list[Any]]:
    if not data.side_calls:
        return {}
    sides = [step.side for step in data.trace.steps]
    return {
        "side_calls": list(map(len, sides)),
        "side_tokens": [sum(c.usage.prompt + c.usage.output for c in side) for side in sides],
        "side_cost_usd": [math.fsum(map(data.cost, side)) for side in sides],
    }


def _waste(data: RunData) -> dict[str, list[Any]]:
    """Return the cache waste of a call and its summary calls."""
    avoidable_costs, dead = data.avoidable_costs, data.dead
    if not data.side_calls:  # the requests are the calls
        return {"avoidable_cost_usd": avoidable_costs, "dead_writes": dead}
    wasted = zip(avoidable_costs, dead, strict=True)
    waste = {
        request.place.number: each for request, each in zip(data.requests, wasted, strict=True)
    }
    of = [
        [waste[number] for number in (step.place.number, *(c.place.number for c in step.side))]
        for step in data.trace.steps
    ]
    return {
        "avoidable_cost_usd": [math.fsum(dollars for dollars, _ in each) for each in of],
        "dead_writes": [sum(tokens for _, tokens in each) for each in of],
    }


def _causes(data: RunData) -> dict[str, list[int]]:
    """Return one column per cache-miss cause: missed tokens of the call and its summary calls."""
    steps = data.trace.steps
    columns: dict[str, list[int]] = {}
    for index, step in enumerate(steps):
        for causes in (step.causes, *(call.causes for call in step.side)):
            for cause, tokens in causes.items():
                column = columns.get(cause)
                if column is None:
                    column = columns[cause] = [0] * len(steps)
                column[index] += tokens
    return {CACHE_MISS + cause: column for cause, column in columns.items()}


CALLS = Table(
    "calls",
    "a call of the script, in the open loop",
    _COLUMNS
    | {
        CACHE_MISS + cause: Column("count", f"cache-miss tokens, side calls included: {meaning}")
        for cause, meaning in CAUSES.items()
    },
    _calls_of,
    sums={
        "cost_usd": ("cost_usd", "side_cost_usd"),
        "side_cost_usd": ("side_cost_usd",),
        "avoidable_cost_usd": ("avoidable_cost_usd",),
        "tokens_dead_writes": ("dead_writes",),
        "compactions": ("compaction",),
        "rewrites": ("rewrite",),
        "overflows": ("overflow",),
        **{CACHE_MISS + cause: (CACHE_MISS + cause,) for cause in CAUSES},
    },
)


# The table of facts: the state of each fact of a conversation over time, in the open loop.


class _Duration:
    """Counts for how many calls each bit of a mask was set; only processes changed bits."""

    def __init__(self, bits: int) -> None:
        self.calls = [0] * bits
        self._since = [0] * bits
        self._mask = 0

    def follow(self, masks: Iterable[int]) -> list[int]:
        at = 0
        for at, mask in enumerate(masks):
            self._move(mask, at)
        self._move(0, at + 1)
        return self.calls

    def _move(self, mask: int, at: int) -> None:
        for bit in numbers(mask ^ self._mask):
            if mask >> bit & 1:
                self._since[bit] = at
            else:
                self.calls[bit] += at - self._since[bit]
        self._mask = mask


def _facts_of(data: RunData) -> Columns:
    ledger, facts = data.ledger, data.ledger.facts
    moments = [ledger.moments[step.answer] for step in data.trace.steps]
    states = data.states
    counted: dict[str, Any] = {
        f"calls_{name}": _Duration(len(facts)).follow(
            moment.due & state[index] for moment, state in zip(moments, states, strict=True)
        )
        for index, name in enumerate(STATES)
    }
    gone = (m.due & ~(s.kept | s.unknown) for m, s in zip(moments, states, strict=True))
    met = (m.needed & (s.kept | s.unknown) for m, s in zip(moments, states, strict=True))
    missed = (m.needed & ~(s.kept | s.unknown) for m, s in zip(moments, states, strict=True))
    first_missed = _first(len(facts), missed)
    return {
        "fact": [fact.id for fact in facts],
        "type": [fact.kind for fact in facts],
        "stated_in": [fact.origin[0].id if fact.origin else "" for fact in facts],
        "decoy": [fact.decoy for fact in facts],
        "calls_due": _Duration(len(facts)).follow(moment.due for moment in moments),
        **counted,
        "needs": _Duration(len(facts)).follow(moment.needed for moment in moments),
        "needs_met": _Duration(len(facts)).follow(met),
        "first_gone": _first(len(facts), gone),
        "first_missed": first_missed,
        **_missed(data, first_missed),
    }


def _missed(data: RunData, calls: list[int]) -> dict[str, list[Any]]:
    """Return statement, place and distance of the facts that were missed.

    The many other facts are left out, because nothing reads them.
    """
    facts, messages = data.ledger.facts, data.conversation.messages if any(calls) else ()
    place = {message.id: number for number, message in enumerate(messages, 1)}
    lags = [need_of(data, n, call - 1) if call else None for n, call in enumerate(calls)]
    pairs = list(zip(facts, calls, strict=True))
    return {
        "stated_at": [
            place.get(fact.origin[0].id, 0) if call and fact.origin else 0 for fact, call in pairs
        ],
        "statement": [storable(statement_of(fact)) if call else "" for fact, call in pairs],
        "missed_lag": ["" if lag is None else str(lag) for lag in lags],
    }


def _first(bits: int, masks: Iterable[int]) -> list[int]:
    """Return the number of the first call at which each bit is set; 0 if never."""
    firsts, seen = [0] * bits, 0
    for call, mask in enumerate(masks, 1):
        for bit in numbers(mask & ~seen):
            firsts[bit] = call
        seen |= mask
    return firsts


FACTS = Table(
    "facts",
    "a fact of a conversation under a strategy, in the open loop",
    {
        "fact": Column("text", "its id"),
        "type": Column("text", "its type"),
        "stated_in": Column("text", "id of the first message that states it"),
        "decoy": Column("flag", "whether it is never stated, and measures chance"),
        "calls_due": Column("count", "calls of the script at which it was due"),
        **{
            f"calls_{name}": Column("count", f"of those calls, those with it {name}")
            for name in STATES
        },
        "needs": Column("count", "calls of the script that needed it"),
        "needs_met": Column("count", "of those, the calls whose prompt held or may have held it"),
        "first_gone": Column(
            "count", "first call at which it was due and certainly not kept; 0: none"
        ),
        "first_missed": Column("count", "first call that needed it and lacked it; 0: none"),
        "stated_at": Column(
            "count", "number of the message that states a missed fact first; 0: not missed"
        ),
        "statement": Column("text", "key and value of a missed fact, shortened; else empty"),
        "missed_lag": Column(
            "text", "lag of that first miss: the step's lower end, as in lags; empty: none"
        ),
    },
    _facts_of,
    {"needs_met": "needs", **{f"calls_{name}": "calls_due" for name in STATES}},
)


# The table of messages: the text of messages that are not in the script.


def script_of(data: RunData) -> dict[str, Message]:
    """Return the messages of the script by id."""
    return {message.id: message for message in data.conversation.messages}


def written(message: Message, script: Mapping[str, Message]) -> bool:
    """Whether a message is not in the script in this exact form."""
    original = script.get(message.id)
    if original is message:
        return False
    return original is None or (original.role, original.parts) != (message.role, message.parts)


def name_of(message: Message, script: Mapping[str, Message]) -> str:
    """Return the stored name of a message: its id, or ``#`` and a digest of a strategy's text."""
    if not written(message, script):
        return message.id
    content = encoded((message.role, message.parts))
    return f"#{hashlib.blake2b(content, digest_size=8).hexdigest()}"


def loops(data: RunData) -> Iterator[tuple[str, RunData]]:
    """Return the distinct replays of a run: open loop, best case, worst case."""
    traces = [data.trace]
    yield "open", data
    for name, replay in (("best", data.best), ("worst", data.worst)):
        if replay is not None and not any(replay.trace is trace for trace in traces):
            traces.append(replay.trace)
            yield name, replay


def _messages_of(data: RunData) -> Columns:
    script = script_of(data)
    steps = (step for _, replay in loops(data) for step in replay.trace.steps)
    unique = {id(m): m for step in steps for m in step.added if written(m, script)}
    named = {name_of(message, script): message for message in unique.values()}
    messages = list(named.values())
    return {
        "message": list(named),
        "role": [message.role for message in messages],
        "kinds": [list(map(attrgetter("kind"), message.parts)) for message in messages],
        "text": list(map(text_of, messages)),
    }


def text_of(message: Message) -> str:
    """Return the text of a message, with a line break between parts."""
    return "\n".join(storable(part.text) for part in message.parts)


def storable(text: str) -> str:
    """Return a text that a table can hold: without unpaired surrogates."""
    return text.encode("utf-8", "replace").decode()


MESSAGES = Table(
    "messages",
    "a message that a strategy wrote or changed, or that the replay created",
    {
        "message": Column("text", "digest of its content, with # in front"),
        "role": Column("text", "role of the message"),
        "kinds": Column("texts", "kinds of its parts: summary, stub, truncated, ..."),
        "text": Column("text", "its text as the model reads it"),
    },
    _messages_of,
)


# The table of compactions: removed tokens, cost and saving of each.


def _compactions_of(data: RunData) -> Columns:
    paybacks, prompts = data.paybacks, data.prompts
    if not paybacks:
        return {}
    script = script_of(data)
    changes = [data.changes[each.call] for each in paybacks]
    return {
        "call": [each.call + 1 for each in paybacks],
        "tokens_before": [prompts[each.call - 1] for each in paybacks],
        "tokens_after": [prompts[each.call] for each in paybacks],
        "tokens_removed": [each.removed for each in paybacks],
        "cache_miss_tokens": [cache_misses for cache_misses, _ in data.spikes],
        "cache_miss_tokens_before": [base for _, base in data.spikes],
        "messages_removed": [len(change.gone) for change in changes],
        "messages_added": [len(change.come) for change in changes],
        "written": [
            [name_of(m, script) for m in change.come if written(m, script)] for change in changes
        ],
        "avoidable_cost_usd": [each.avoidable_cost for each in paybacks],
        "summary_usd": [each.summary for each in paybacks],
        "saved_usd": [each.saved for each in paybacks],
        "calls_to_next": [each.calls for each in paybacks],
        "break_even_calls": [each.break_even for each in paybacks],
    }


COMPACTIONS = Table(
    "compactions",
    "a compaction, in the open loop",
    {
        "call": Column("count", "number of the call before which it happened"),
        "tokens_before": Column("count", "tokens of the prompt before"),
        "tokens_after": Column("count", "tokens of the prompt after, new messages included"),
        "tokens_removed": Column("count", "tokens by which it made the prompt smaller"),
        "cache_miss_tokens": Column("count", "cache-miss tokens of its call"),
        "cache_miss_tokens_before": Column(
            "number", f"median of those of the previous {BASE_CALLS} calls"
        ),
        "messages_removed": Column("count", "messages that left the prompt"),
        "messages_added": Column("count", "messages that were added, new ones of the log included"),
        "written": Column("texts", "those of them that the strategy wrote, see table messages"),
        "avoidable_cost_usd": Column("number", "avoidable cache cost that it caused, in dollars"),
        "summary_usd": Column("number", "dollars of the summaries since the previous compaction"),
        "saved_usd": Column("number", "dollars saved until the next compaction, or the end"),
        "calls_to_next": Column("count", "calls until the next compaction, or the end"),
        "break_even_calls": Column("number", "calls until it breaks even; inf for never"),
    },
    _compactions_of,
)


# The table of prompts: the trace, from which every prompt of a run can be rebuilt.


def _prompts_of(data: RunData) -> Columns:
    script = script_of(data)
    made = [(loop, n, s) for loop, r in loops(data) for n, s in enumerate(r.trace.steps, 1)]
    return {
        "loop": [loop for loop, _, _ in made],
        "request": [number for _, number, _ in made],
        "answer": [step.answer for _, _, step in made],
        "recovery": [step.recovery for _, _, step in made],
        "unmet": [list(step.unmet) for _, _, step in made],
        "shared": [step.shared for _, _, step in made],
        "added": [[name_of(m, script) for m in step.added] for _, _, step in made],
        "prompt": [step.usage.prompt for _, _, step in made],
        "cache_read": [step.usage.cache_read for _, _, step in made],
        "output": [step.usage.output for _, _, step in made],
    }


PROMPTS = Table(
    "prompts",
    "a call of a replay, closed loop included, and what it shares with the previous call",
    {
        "loop": Column("text", "open, best or worst; closed loops equal to another are left out"),
        "request": Column("count", "number of the call in its replay, from 1 on"),
        "answer": Column("text", "id of the message that answers it"),
        "recovery": Column("text", "why the replay added this call; empty for calls of the script"),
        "unmet": Column("texts", "ids of the facts that it needed and did not get"),
        "shared": Column("count", "leading messages that it shares with the previous prompt"),
        "added": Column("texts", "the messages after those: ids, or # and a digest"),
        "prompt": Column("count", "tokens of the prompt"),
        "cache_read": Column("count", "of those, tokens read from the cache"),
        "output": Column("count", "tokens of the answer"),
    },
    _prompts_of,
)


# The table of views: for each run, the compaction that forgot most, message by message.

# Characters shown from the start and the end of a message, and of text that a strategy wrote into
# the system blocks (which no other table stores).
HEAD, TAIL = 160, 80
SYSTEM = 4_000
# Only in these parts, the name is that of a tool.
_NAMED = ("tool_call", "tool_result")


def _views_of(data: RunData) -> Columns:
    if not data.paybacks:
        return {}
    lost = losses(data)
    index = most_forgetful(data, lost)
    return {} if index is None else columns_of(diff_of(data, index, lost))


def columns_of(diff: Diff) -> Columns:
    """Return the rows of one compaction."""
    lines, script = diff.lines, diff.script

    def name(message: Message | None) -> str:
        return name_of(message, script) if message is not None else ""

    return {
        "call": [diff.call] * len(lines),
        "fate": [line.fate for line in lines],
        "count": [line.count for line in lines],
        "message": [name(line.message) for line in lines],
        "became": [name(line.became) for line in lines],
        "role": [_role(line) for line in lines],
        "what": [_what(line) for line in lines],
        "tokens_before": [line.before for line in lines],
        "tokens_after": [line.after for line in lines],
        "text": [_text(line, diff) for line in lines],
        "facts_lost": [line.lost for line in lines],
        "facts_missed": [line.missed for line in lines],
        "facts": [[fact.id for fact in line.facts] for line in lines],
        "statements": [[fact.statement for fact in line.facts] for line in lines],
        "states": [[fact.state for fact in line.facts] for line in lines],
        "missed_at": [[str(fact.missed or "") for fact in line.facts] for line in lines],
        "missed_lag": [
            ["" if fact.lag is None else str(fact.lag) for fact in line.facts] for line in lines
        ],
    }


def written_in(diff: Diff) -> dict[str, str]:
    """Return the text of a compaction's messages that are not in the script, by name."""
    messages = (m for line in diff.lines for m in (line.message, line.became) if m is not None)
    made = [message for message in messages if written(message, diff.script)]
    return {name_of(message, diff.script): text_of(message) for message in made}


def _role(line: DiffRow) -> str:
    message = line.message or line.became
    return "system" if line.system else message.role if message else ""


def _what(line: DiffRow) -> str:
    message = line.message or line.became
    if message is None:
        return ""
    return ", ".join(dict.fromkeys(map(_type, message.parts)))


def _type(part: Part) -> str:
    return f"{part.type} {part.name}".strip() if part.type in _NAMED else part.type


def _text(line: DiffRow, diff: Diff) -> str:
    if line.system:
        return excerpt(line.shown, SYSTEM, 0)
    # The table of messages holds the whole text of written messages.
    if line.message is None or written(line.message, diff.script):
        return ""
    return excerpt(line.shown, HEAD, TAIL)


VIEWS = Table(
    "views",
    "a message before and after one compaction of the run, in the open loop: the compaction that "
    "lost most facts that were needed later, among equals the one that removed most. "
    "Less important messages are folded into one row",
    {
        "call": Column("count", "number of the call before which it happened"),
        "fate": Column("text", "; ".join(f"{fate}: {meaning}" for fate, meaning in FATES.items())),
        "count": Column("count", "messages that the row stands for, all with that fate"),
        "message": Column("text", "message before: its id, or # and a digest; empty for several"),
        "became": Column("text", "the message after, where it is another one"),
        "role": Column("text", "its role; system for the system blocks; empty for several"),
        "what": Column("text", "types of its parts, with the names of tools"),
        "tokens_before": Column(
            "count", "tokens without the compaction: in the last prompt and the new messages"
        ),
        "tokens_after": Column("count", "tokens in the prompt that was sent"),
        "text": Column(
            "text", "beginning and end of a text of the script; for others see table messages"
        ),
        "facts_lost": Column("count", "facts that the prompt lost with it"),
        "facts_missed": Column("count", "of those, facts that a later call needed and lacked"),
        "facts": Column("texts", "ids of the first of these facts, in order of the first miss"),
        "statements": Column("texts", "statement of each of these: key and value, shortened"),
        "states": Column("texts", "state of each after the compaction"),
        "missed_at": Column("texts", "first call that needed each and lacked it; empty: none"),
        "missed_lag": Column(
            "texts",
            "lag of each of these needs: the step's lower end, as in lags; empty: none",
        ),
    },
    _views_of,
)


# The table of lags: recall by distance, also for the bound summarisers.


def _lags_of(data: RunData) -> Columns:
    recalls = [("", recall(data)), *((name, recall(each)) for name, each in data.controls.items())]
    lasts = [
        len(each.needs) - next((n for n, c in enumerate(reversed(each.needs)) if c), len(LAGS))
        for _, each in recalls
    ]
    steps = [
        (name, each, index)
        for (name, each), last in zip(recalls, lasts, strict=True)
        for index in range(last)
    ]
    return {
        "summaries": [name for name, _, _ in steps],
        "lag": [LAGS[index] for _, _, index in steps],
        "needs": [each.needs[index] for _, each, index in steps],
        "met": [each.met[index] for _, each, index in steps],
    }


LAG_TABLE = Table(
    "lags",
    "a step of the lag: the needs at that lag and how many were met, in the open loop",
    {
        "summaries": Column("text", "null summariser that wrote instead; empty for the run's own"),
        "lag": Column(
            "count", "tokens of log since the fact was last stated: the step's lower end"
        ),
        "needs": Column("count", "calls and facts that they use, as many as have that lag"),
        "met": Column("count", "of those, needs whose fact the prompt held"),
    },
    _lags_of,
    {"met": "needs"},
)


# All tables of the store but the table of runs, which every shard has. One file per table.

RUNS = "runs"
COUNTED = "rows_"  # prefix of columns of the table of runs: the number of rows per table
TABLES = {
    table.name: table for table in (CALLS, COMPACTIONS, FACTS, LAG_TABLE, MESSAGES, VIEWS, PROMPTS)
}
# The trace is only written on request: it is as long as the session.
USUAL = ("calls", "compactions", "facts", "lags", "messages", "views")
