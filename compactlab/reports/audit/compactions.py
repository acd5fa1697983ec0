"""Compactions of a log: when, how long one waited, and which files are read again after them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from math import fsum
from typing import NamedTuple

from compactlab.reports.render.fields import hidden
from compactlab.sim.core.conversation import Compaction, Conversation
from compactlab.sim.core.errors import ModelError
from compactlab.sim.core.message import Call, Message, Usage
from compactlab.sim.core.reads import looked_at
from compactlab.sim.core.tokens import chars4
from compactlab.sim.models.model import Model
from compactlab.sim.models.pricing import prices_of

# What was lost in a compaction is looked for within so many calls: recorded agents of Codex do it
# in 2 to 20 (openai/codex issue 36665, 2026-11).
WITHIN = 20


@dataclass(frozen=True)
class Rereads:
    """Reads of what had been read before, around the compactions of some sessions."""

    compactions: int = 0
    followed: int = 0  # after how many of them something was read again
    reads: int = 0  # how many reads those were, in the calls after the compactions
    tokens: int = 0  # what came back, estimated from its text
    # Dollars for writing that to the cache once, or for sending it plain; None without a price.
    cost: float | None = 0.0
    # How many such reads there were in as many calls before the compactions: what is usual.
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
    """One look at a file: by which call, at what, and what came back."""

    number: int
    what: str
    call_id: str
    call: Call
    time: float


def reads_of(answer: Message, call: Call, number: int) -> Iterator[Read]:
    """The looks at files of an answer to the call of that number."""
    for part in answer.parts:
        if part.type == "tool_call" and (what := looked_at(part)):
            yield Read(number, what, part.call_id, call, answer.time)


def around(
    reads: list[Read], calls: int, texts: dict[str, str], find: Callable[[str], Model]
) -> Rereads:
    """Count the reads around the compaction that came after so many calls."""
    after = _again(reads, calls)
    return Rereads(1, bool(after), len(after), *_priced(after, texts, find), _before(reads, calls))


def _again(reads: list[Read], calls: int) -> list[Read]:
    """The reads right after a compaction of what had been read before it."""
    known = {read.what for read in reads if read.number <= calls}
    return [read for read in reads if calls < read.number <= calls + WITHIN and read.what in known]


def _before(reads: list[Read], calls: int) -> int:
    """How many reads right before a compaction were of what had been read before them."""
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
    """Tokens of what came back, and dollars for sending it once."""
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

    number: int  # how many calls the session had made before it
    # Tokens of the context, as logged, else of the prompt of the call before; 0 where not known.
    before: int = 0
    after: int = 0  # of the prompt of the first call after it, with what had come since
    # Seconds from the last message to the compaction, which a client logs when its summary is
    # there. None without times, and of one that the user asked for: nobody waited until then.
    wait: float | None = None
    rereads: Rereads = field(default_factory=Rereads)  # what was read again after it
    time: float = 0.0  # seconds since 1970
    answer: str = ""  # id of the first answer after it; "" where none followed

    @property
    def gain(self) -> float | None:
        """By what share it made the context smaller; None where that is not known."""
        return 1 - self.after / self.before if self.before and self.after else None


def compactions_of(conversation: Conversation, find: Callable[[str], Model]) -> list[Logged]:
    """The compactions of a recording."""
    reads: list[Read] = []
    texts: dict[str, str] = {}
    found: list[Logged] = []
    number = prompt = 0
    last = 0.0
    for event in conversation.events:
        if isinstance(event, Compaction):
            if event.edits:
                continue
            before = event.tokens_before or prompt
            found.append(Logged(number, before, wait=_wait(event, last), time=event.time))
        elif isinstance(event, Message):
            last = event.time
            if event.call is not None:
                number += 1
                for index in range(len(found) - 1, -1, -1):
                    if found[index].answer:
                        break
                    found[index] = replace(found[index], answer=event.id)
                reads += reads_of(event, event.call, number)
                if event.call.usage is not None:
                    prompt = event.call.usage.prompt
                    if found and not found[-1].after:
                        found[-1] = replace(found[-1], after=prompt)
            texts |= {p.call_id: p.text for p in event.parts if p.type == "tool_result"}
    return [replace(each, rereads=around(reads, each.number, texts, find)) for each in found]


def _wait(compaction: Compaction, last: float) -> float | None:
    known = compaction.trigger != "manual" and last and compaction.time > last
    return compaction.time - last if known else None
