"""DeepSeek's context cache: on disk, free to write, and read in whole units.

DeepSeek's guide to its context cache, as of 2026-11. Models with sliding-window attention: a
prefix is found again only as a whole *unit*, and units end where the input of a request ends,
where its output ends, where the system notices that requests begin alike, and every so many
tokens. So after A+B, A+C reads nothing, but makes A a unit, which A+D is the first to read. Older
models: any common prefix, in steps of 64 tokens. Best effort in both; what is not used goes after
"a few hours to a few days".
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from compactlab.sim.cache.automatic import Automatic
from compactlab.sim.cache.missed import ascending
from compactlab.sim.cache.policy import Cache, CachePolicy, Lookup, Request
from compactlab.sim.cache.prefixes import Prefixes
from compactlab.sim.cache.salt import Salt
from compactlab.sim.prompt import Prompt


@dataclass(frozen=True)
class DeepseekGrid(Automatic):
    """The policy of DeepSeek's models before V4: any common prefix, in steps.

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
class Deepseek(CachePolicy):
    """The policy of DeepSeek's models with sliding-window attention, V4 and later.

    What a model wrote becomes known with the next prompt: an answer that directly follows the end
    of a former prompt, and that nobody has changed, is the output of that request. Requests begin
    alike as far as whole parts of messages are equal, and a request is compared with those that
    were sent within the lifetime. A unit lives from when it was last stored or read.

    Parameters
    ----------
    interval
        Tokens after which there is a unit in any case; 0 for none. The guide says that there are
        such units in long inputs and outputs, but not how long they are: none is the worst case.
    grid
        Tokens: what is read of a unit is a multiple of that. Not in the guide: sums over many calls
        that third parties publish (435,033,856 tokens in 2026-05; 1,668,125,568 in 2026-06) are
        multiples of 128.
    idle
        Seconds that a unit lives unused: a day, within the "few hours to a few days".
    loss
        Share of requests that find nothing. "Best effort", without a figure.

    Raises
    ------
    ValueError
        If a figure is impossible.
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
        """Start an empty cache."""
        return _Units(self)

    def lifetime(self, ttl: str = "") -> float:
        """Seconds that a unit lives unused."""
        return self.idle

    def shortened(self, share: float) -> Deepseek:
        """The same rules with a lifetime of such a share."""
        return replace(self, idle=self.idle * share)


class _Unit(NamedTuple):
    """A stored prefix: when it was last touched, and from when it can be read."""

    touched: float
    visible: float


# The first block that reaches so many tokens, and those: empty blocks behind it do not count.
_End = tuple[int, int]


class _Units(Cache):
    """Stored units, by the key of the block in which they end, and their tokens."""

    def __init__(self, policy: Deepseek) -> None:
        self._policy = policy
        self._sent = Prefixes(idle=policy.idle)
        self._units: dict[_End, _Unit] = {}
        # Of each prompt that was sent, by its key, what its output's unit is.
        self._asked: dict[int, _Unit] = {}
        self._salt = Salt(images=False)

    def request(self, request: Request) -> Lookup:
        """Look up, then store."""
        prompt, at, totals = request.prompt, request.at, request.prompt.totals
        if not totals:
            return Lookup()
        sent = self._sent.send(request)
        self._salt.take(request.settings, prompt)
        alike = self._answered(prompt, sent.stored)
        live, missed = self._find(prompt, alike, at)
        tokens = 0 if request.lost else live[1]
        now, last = _Unit(at, at + request.latency), len(totals) - 1
        if tokens:
            name = self._key(prompt, live[0]), tokens
            self._units[name] = _Unit(at, self._units[name].visible)
        for end in self._regular(tokens, totals[-1]):
            self._store(prompt, end, now)
        if alike > tokens:
            self._store(prompt, alike, now)
        if totals[last] > tokens:
            self._store(prompt, totals[last], now)
        self._asked[self._key(prompt, last)] = now
        held = live[1] - live[1] % self._policy.grid
        read = 0 if request.lost else held
        if read < alike or sent.known > alike:
            missed += [("eviction", held), ("grid", alike), ("ttl_expired", sent.known)]
        return Lookup(read, missed=ascending(read, *missed) if missed else ())

    def _key(self, prompt: Prompt, block: int) -> int:
        return prompt.key(block) ^ self._salt.of(block)

    def _answered(self, prompt: Prompt, tokens: int) -> int:
        """Tokens that are known of a prompt of which so many were sent before.

        More, if an answer to what was sent follows, which is stored here.
        """
        totals = prompt.totals
        first = bisect_left(totals, tokens)
        # Empty blocks may stand behind: then the prompt that was sent ended with one of them.
        for block in range(bisect_right(totals, tokens) - 1, first - 1, -1):
            asked = self._asked.get(self._key(prompt, block))
            end = _end_of_answer(prompt, block) if asked else -1
            if asked and end >= 0:
                for inner in (*self._regular(tokens, totals[end]), totals[end]):
                    self._store(prompt, inner, asked)
                return totals[end]
        return tokens

    def _regular(self, above: int, upto: int) -> Iterable[int]:
        """Multiples of the interval beyond some tokens, and up to others."""
        interval = self._policy.interval
        return range(above - above % interval + interval, upto + 1, interval) if interval else ()

    def _store(self, prompt: Prompt, tokens: int, unit: _Unit) -> None:
        """Store a unit, or touch it if it is there."""
        if not tokens:
            return
        block = bisect_left(prompt.totals, tokens)
        name = self._key(prompt, block), tokens
        known = self._units.get(name)
        if known is not None and unit.touched - known.touched <= self._policy.idle:
            unit = _Unit(max(unit.touched, known.touched), min(unit.visible, known.visible))
        self._units[name] = unit

    def _find(self, prompt: Prompt, most: int, at: float) -> tuple[_End, list[tuple[str, int]]]:
        """The longest unit of so many tokens that can be read, and why longer ones cannot."""
        causes = []
        for block, tokens in self._possible(prompt, most):
            unit = self._units.get((self._key(prompt, block), tokens))
            if unit is None:
                continue
            if at - unit.touched > self._policy.idle:
                causes.append(("ttl_expired", tokens))
            elif unit.visible > at:
                causes.append(("concurrent_cold", tokens))
            else:
                return (block, tokens), causes
        return (-1, 0), causes

    def _possible(self, prompt: Prompt, most: int) -> Iterator[_End]:
        """Ends of units that may be there, up to so many tokens, the longest first."""
        totals, interval = prompt.totals, self._policy.interval
        for block in range(bisect_left(totals, most) if most else -1, -1, -1):
            tokens = totals[block]
            yield block, tokens
            if interval:
                first = (tokens - 1) // interval * interval
                before = totals[block - 1] if block else 0
                for inner in range(first, before, -interval):
                    yield block, inner


def _end_of_answer(prompt: Prompt, block: int) -> int:
    """Where an answer ends that begins behind a block; -1 if nothing does, or it was changed."""
    starts = prompt.starts
    index = bisect_right(starts, block + 1) - 1
    if index < 0 or starts[index] != block + 1:
        return -1
    message = prompt.view.messages[index]
    next = starts[index + 1] if index + 1 < len(starts) else len(prompt.totals)
    if message.role != "assistant" or next - starts[index] != len(message.parts):
        return -1
    return next - 1 if all(part.kind == "verbatim" for part in message.parts) else -1
