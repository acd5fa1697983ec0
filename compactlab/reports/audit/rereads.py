"""Files that an agent reads again after a compaction: what that costs, and what is usual."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import fsum
from typing import NamedTuple

from compactlab.reports.render.fields import hidden
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
