"""DeepSeek's context cache: on disk, free to write, and read in whole units.

DeepSeek's guide to its context cache, as of 2026-11. Models with sliding-window attention only read
a prefix as a whole *unit*. Units end where the input or the output of a request ends, where the
system detects a common beginning of requests, and at regular intervals. So after A+B, A+C reads
nothing but makes A a unit, which A+D is the first to read. Older models read any common prefix, in
steps of 64 tokens. Both are best effort; unused content is evicted after "a few hours to a few
days".
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from compactlab.sim.cache.policy import Cache, Expiring, Lookup, Request, Stored, ascending
from compactlab.sim.cache.prefixes import Automatic, Prefixes
from compactlab.sim.cache.prompt import Prompt


@dataclass(frozen=True)
class DeepseekGrid(Automatic):
    """DeepSeek's models before V4: any common prefix, in steps of a grid.

    Parameters
    ----------
    grid, minimum
        Tokens; the guide's former page gives storage units of 64, and stores nothing shorter.
    idle
        Seconds that a prefix lives unused: a day, within the "few hours to a few days".
    loss
        Share of requests that find nothing. "Best effort", without a figure.
    """

    grid: int = 64
    minimum: int = 64
    idle: float = 86_400.0
    loss: float = 0.0


@dataclass(frozen=True)
class Deepseek(Expiring):
    """DeepSeek's models from V4 on, with sliding-window attention.

    Outputs follow from the next prompt: an unchanged answer directly after the end of an earlier
    prompt is the output of that request. The common beginning of requests consists of equal whole
    parts of messages; a request is compared with those within the lifetime. A unit's lifetime
    begins when it was last stored or read.

    Parameters
    ----------
    interval
        Tokens between regular units; 0 for none. The guide mentions such units in long inputs and
        outputs, without their length; none is the worst case.
    grid
        Tokens: reads of a unit are multiples of this. Not in the guide: sums over many calls
        published by third parties (435,033,856 tokens in 2026-05; 1,668,125,568 in 2026-06) are
        multiples of 128.
    idle
        Seconds that a unit lives unused: a day, within the "few hours to a few days".
    loss
        Share of requests that find nothing. "Best effort", without a figure.
    """

    interval: int = 0
    grid: int = 128
    idle: float = 86_400.0
    loss: float = 0.0

    def __post_init__(self) -> None:
        if self.grid < 1:
            raise ValueError(f"grid is at least 1 token, not {self.grid}")
        if self.interval < 0 or self.idle < 0:
            raise ValueError("interval and idle are not negative")
        if not 0 <= self.loss <= 1:
            raise ValueError(f"loss is a share between 0 and 1, not {self.loss}")

    def open(self) -> Cache:
        return _Units(self)


# The first block that reaches a number of tokens, and that number: later empty blocks do not count.
_End = tuple[int, int]
_Named = tuple[int, int]  # such an end with the key in place of the block
_Name = Callable[[int], int]  # returns the key of the prefix that ends with a block
_When = tuple[float, float]  # start of a request, start of its answer
_Cause = tuple[str, int]

# A request usually adds less. In a long list, bisection takes a tenth of a call.
_RECENT = 32


class _Units(Cache):
    """Stored units, by the key of their last block and their tokens."""

    def __init__(self, policy: Deepseek) -> None:
        self._policy = policy
        self._sent = Prefixes(idle=policy.idle)
        self._units: dict[_Named, Stored] = {}
        # Times of sent prompts by key: the unit of the output has the same age.
        self._asked: dict[int, _When] = {}

    def request(self, request: Request) -> Lookup:
        prompt, at, totals = request.prompt, request.at, request.prompt.totals
        if not totals:
            return Lookup()
        sent = self._sent.send(request)
        name = self._sent.name
        block, alike = self._answered(prompt, name, sent.stored)
        unit, held, missed = self._find(totals, name, (block, alike), at)
        tokens = 0 if request.lost else held
        if unit is not None and tokens:
            unit.touched = at
        now, whole = (at, at + request.latency), totals[-1]
        if self._policy.interval:
            self._store_regular(totals, name, (tokens, whole), now)
        if alike > tokens:
            self._store((name(block), alike), now)
        if whole > tokens:
            self._store((name(_reaching(totals, whole)), whole), now)
        self._asked[name(len(totals) - 1)] = now
        held -= held % self._policy.grid
        read = 0 if request.lost else held
        if not missed and read == held < alike == sent.known:  # the usual case
            return Lookup(read, missed=(("grid", alike),))
        if read < alike or sent.known > alike:
            missed += ("eviction", held), ("grid", alike)
            if sent.known > sent.stored:
                missed.append(("ttl_expired", sent.known))
        return Lookup(read, missed=ascending(read, *missed) if missed else ())

    def _answered(self, prompt: Prompt, name: _Name, tokens: int) -> _End:
        """Return the end of the known part of a prompt, given the number of tokens sent before.

        A following answer to the sent prompt is included, and stored.
        """
        totals = prompt.totals
        block = _reaching(totals, tokens + 1) - 1
        # Empty blocks may follow: then the sent prompt ended with one of them.
        while block >= 0 and totals[block] == tokens:
            asked = self._asked.get(name(block))
            end = _end_of_answer(prompt, block) if asked else -1
            if asked and end >= 0:
                upto = totals[end]
                first = _reaching(totals, upto)
                self._store_regular(totals, name, (tokens, upto), asked)
                self._store((name(first), upto), asked)
                return first, upto
            block -= 1
        return block + 1, tokens

    def _store_regular(
        self, totals: list[int], name: _Name, tokens: tuple[int, int], when: _When
    ) -> None:
        """Store the units that end at multiples of the interval within a range of tokens."""
        interval, (above, upto) = self._policy.interval, tokens
        if interval:
            for inner in range(above - above % interval + interval, upto + 1, interval):
                self._store((name(_reaching(totals, inner)), inner), when)

    def _store(self, end: _Named, when: _When) -> None:
        """Store a unit, or touch an existing one."""
        at, visible = when
        known = self._units.get(end)
        if known is None or at - known.touched > self._policy.idle:
            self._units[end] = Stored(at, visible)
        else:
            known.touched, known.visible = max(at, known.touched), min(visible, known.visible)

    def _find(
        self, totals: list[int], name: _Name, most: _End, at: float
    ) -> tuple[Stored | None, int, list[_Cause]]:
        """Return the longest readable unit up to an end, and the causes for longer ones."""
        causes: list[_Cause] = []
        interval, idle = self._policy.interval, self._policy.idle
        for block in range(most[0] if most[1] else -1, -1, -1):
            for tokens in _inside(totals, block, interval) if interval else (totals[block],):
                unit = self._units.get((name(block), tokens))
                if unit is None:
                    continue
                if at - unit.touched > idle:
                    causes.append(("ttl_expired", tokens))
                elif unit.visible > at:
                    causes.append(("concurrent_cold", tokens))
                else:
                    return unit, tokens, causes
        return None, 0, causes


def _inside(totals: list[int], block: int, interval: int) -> Iterator[int]:
    """Yield the possible unit ends within a block, in tokens, longest first."""
    tokens, before = totals[block], totals[block - 1] if block else 0
    yield tokens
    yield from range((tokens - 1) // interval * interval, before, -interval)


def _reaching(ascending: list[int], number: int) -> int:
    """Return the index of the first number that is large enough; searches the end first."""
    near = len(ascending) - _RECENT
    return bisect_left(ascending, number, near if near > 0 and ascending[near] < number else 0)


def _end_of_answer(prompt: Prompt, block: int) -> int:
    """Return the last block of an answer after a block; -1 if there is none, or it was changed."""
    starts = prompt.starts
    index = len(starts) - 1
    if index < 0 or starts[index] != block + 1:  # usually it is the last one
        index = _reaching(starts, block + 2) - 1
    if index < 0 or starts[index] != block + 1:
        return -1
    message = prompt.view.messages[index]
    if message.role != "assistant" or any(part.kind != "verbatim" for part in message.parts):
        return -1
    next = starts[index + 1] if index + 1 < len(starts) else len(prompt.totals)
    return next - 1 if next - starts[index] == len(message.parts) else -1
