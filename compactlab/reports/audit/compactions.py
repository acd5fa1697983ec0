"""Compactions of a log: their times, waits, and the files that are read again after them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from math import fsum
from typing import NamedTuple

from compactlab.reports.render.fields import hidden
from compactlab.sim.core.clients import looked_at
from compactlab.sim.core.conversation import Compaction, Conversation
from compactlab.sim.core.errors import ModelError
from compactlab.sim.core.message import Call, Message, Usage
from compactlab.sim.core.tokens import chars4
from compactlab.sim.models.model import Model
from compactlab.sim.models.pricing import prices_of

# Rereads count within this many calls: recorded agents of Codex need 2 to 20 (openai/codex issue
# 36665, 2026-11).
WITHIN = 20


@dataclass(frozen=True)
class Rereads:
    """Repeated reads around the compactions of some sessions."""

    compactions: int = 0
    followed: int = 0  # number of compactions with a repeated read after them
    reads: int = 0  # number of repeated reads in the calls after the compactions
    tokens: int = 0  # tokens of their results, estimated from the texts
    # Dollars for sending the results once, cached or uncached; None without a price.
    cost: float | None = 0.0
    # The usual number: repeated reads in as many calls before the compactions.
    before: int = 0

    def __add__(self, other: Rereads) -> Rereads:
        known = self.cost is not None and other.cost is not None
        return Rereads(
            self.compactions + other.compactions,
            self.followed + other.followed,
            self.reads + other.reads,
            self.tokens + other.tokens,
            (self.cost or 0.0) + (other.cost or 0.0) if known else None,
            self.before + other.before,
        )


class Read(NamedTuple):
    """A read of a file: its call, its target and the id of its result."""

    number: int
    what: str
    call_id: str
    call: Call
    time: float


def reads_of(answer: Message, call: Call, number: int) -> Iterator[Read]:
    """The reads of files in the answer to a call."""
    for part in answer.parts:
        if part.type == "tool_call" and (what := looked_at(part)):
            yield Read(number, what, part.call_id, call, answer.time)


def around(
    reads: list[Read], calls: int, texts: dict[str, str], find: Callable[[str], Model]
) -> Rereads:
    """Count the repeated reads around the compaction after a number of calls."""
    after = _again(reads, calls)
    return Rereads(1, bool(after), len(after), *_priced(after, texts, find), _before(reads, calls))


def _again(reads: list[Read], calls: int) -> list[Read]:
    """The reads right after a compaction that repeat earlier ones."""
    known = {read.what for read in reads if read.number <= calls}
    return [read for read in reads if calls < read.number <= calls + WITHIN and read.what in known]


def _before(reads: list[Read], calls: int) -> int:
    """The number of reads right before a compaction that repeat earlier ones."""
    seen: set[str] = set()
    count = 0
    for read in reads:
        if read.number <= calls:
            count += read.number > calls - WITHIN and read.what in seen
            seen.add(read.what)
    return count


def _priced(
    reads: list[Read], texts: dict[str, str], find: Callable[[str], Model]
) -> tuple[int, float | None]:
    """Tokens of the results, and dollars for sending them once."""
    tokens, costs = 0, []
    try:
        for read in reads:
            model = find(read.call.model)
            size = round(chars4(texts.get(read.call_id, "")) * model.tokenizer.factor)
            tokens += size
            kind = {"1h": "cache_write_1h", "5m": "cache_write_5m"}.get(read.call.ttl, "uncached")
            prompt = read.call.usage.prompt if read.call.usage else size
            rates = prices_of(model).rates(read.time, prompt)
            costs.append(rates.cost(Usage(**{kind: size})))
    except ModelError:
        return tokens, None
    return tokens, fsum(costs)


REREADS = hidden(
    "compactions",
    "followed",
    "reads",
    "tokens",
    cost_usd="cost",
    reads_before="before",
    within_calls=lambda _: WITHIN,
)


@dataclass(frozen=True)
class Logged:
    """A compaction of a log."""

    number: int  # number of calls of the session before it
    # Logged tokens of the context, else of the previous call's prompt; 0 if unknown.
    before: int = 0
    after: int = 0  # of the prompt of the first call after it, including new messages
    # Seconds from the last message to the compaction, which is logged when its summary is done.
    # None without times, and if the user requested it, because the start is unknown.
    wait: float | None = None
    rereads: Rereads = field(default_factory=Rereads)  # repeated reads around it
    time: float = 0.0  # seconds since 1970
    answer: str = ""  # id of the first answer after it; "" without one
    manual: bool = False  # whether the user requested it
    # What changed at the start of that answer's turn: "model", "effort" or "". Codex then compacts
    # (openai/codex issue 33833).
    switch: str = ""

    @property
    def gain(self) -> float | None:
        """The relative reduction of the context; None if unknown."""
        return 1 - self.after / self.before if self.before and self.after else None


def compactions_of(conversation: Conversation, find: Callable[[str], Model]) -> list[Logged]:
    """The compactions of a recording."""
    reads: list[Read] = []
    texts: dict[str, str] = {}
    found: list[Logged] = []
    number = prompt = 0
    last, opens, caller = 0.0, False, Call()
    for event in conversation.events:
        if isinstance(event, Compaction):
            if event.edits:
                continue
            before = event.tokens_before or prompt
            manual = event.trigger == "manual"
            wait = _wait(event, last)
            found.append(Logged(number, before, wait=wait, time=event.time, manual=manual))
        elif isinstance(event, Message):
            last = event.time
            opens = opens or event.starts_turn
            if event.call is not None:
                number += 1
                changed = _changed(caller, event.call) if opens else ""
                for index in range(len(found) - 1, -1, -1):
                    if found[index].answer:
                        break
                    switch = "" if found[index].manual else changed
                    found[index] = replace(found[index], answer=event.id, switch=switch)
                opens, caller = False, event.call
                reads += reads_of(event, event.call, number)
                if event.call.usage is not None:
                    prompt = event.call.usage.prompt
                    if found and not found[-1].after:
                        found[-1] = replace(found[-1], after=prompt)
            texts |= {p.call_id: p.text for p in event.parts if p.type == "tool_result"}
    return [replace(each, rereads=around(reads, each.number, texts, find)) for each in found]


def _changed(before: Call, call: Call) -> str:
    """What differs between two requests as far as the log shows it: model, effort, or nothing."""
    for name, (old, new) in {
        "model": (before.model, call.model),
        "effort": (before.thinking, call.thinking),
    }.items():
        if old and new and old != new:
            return name
    return ""


# How the prompt of OpenClaw's memory flush begins (2026.1.29 to 2026.9.6); before 2026.6 or so its
# turns are in the log.
FLUSH = "Pre-compaction memory flush"


def flush_turns(conversation: Conversation) -> tuple[tuple[str, ...], ...]:
    """The turns of a memory flush in a recording: of each, the ids of its answers."""
    turns: list[list[str]] = []
    flushing = False
    for event in conversation.events:
        if not isinstance(event, Message):
            continue
        if event.role == "user" and not event.origin:
            flushing = FLUSH in event.text[:200]
            turns += [[]] if flushing else []
        elif flushing and event.call is not None:
            turns[-1].append(event.id)
    return tuple(map(tuple, turns))


def _wait(compaction: Compaction, last: float) -> float | None:
    known = compaction.trigger != "manual" and last and compaction.time > last
    return compaction.time - last if known else None
