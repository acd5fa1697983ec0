"""Bills requests: builds the prompt of a view and looks it up in the cache, by model."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, MutableMapping
from dataclasses import dataclass, field

import msgspec

from compactlab.sim.cache import PLAIN, Cache, Request, Settings
from compactlab.sim.cache.causes import explain
from compactlab.sim.cache.prompt import Lineage, Place, Prompt
from compactlab.sim.core.message import Usage
from compactlab.sim.core.view import View
from compactlab.sim.models.model import Model, replayable


class Bill(msgspec.Struct, frozen=True):
    """One request: tokens by billing class, cache-miss tokens by cause, and its place."""

    usage: Usage
    causes: dict[str, int]
    place: Place


_NO_PLACE = Place()


class _Line:
    """A model's cache, and the last prompts sent to it."""

    def __init__(self, model: Model, caches: MutableMapping[str, Cache]) -> None:
        model, policy = replayable(model)
        if model.name not in caches:
            caches[model.name] = policy.open()
        self.cache = caches[model.name]
        self.loss, self.degradation = policy.loss, model.degradation
        self.main = Prompt(model.tokenizer, strips=model.strips_thinking)
        self.side = Prompt(model.tokenizer, strips=model.strips_thinking)
        self.lineage = Lineage()
        self.requests = 0
        self.stripped = False

    def loses(self, rng: Callable[[str], random.Random] | None) -> bool:
        """Whether the next request misses everything, by schedule or by chance."""
        self.requests += 1
        every = self.degradation.lose_every
        if every and self.requests % every == 0:
            return True
        if not self.loss or rng is None:
            return False
        return rng(f"routing {self.requests}").random() < self.loss


@dataclass
class Meter:
    """Measures prompts and bills requests for one session.

    A side call has a separate prompt object, so that the main one is unaffected; both use the same
    cache.
    """

    # Caches by model; sessions may share them.
    caches: MutableMapping[str, Cache] = field(default_factory=dict)
    # Random streams for lost requests; None: none is lost by chance.
    rng: Callable[[str], random.Random] | None = None
    settings: Settings = PLAIN
    mark: int = 0  # number of leading messages before a strategy's own mark
    _lines: dict[str, _Line] = field(default_factory=dict)
    _clock: float = 0.0
    _requests: int = 0

    def _line(self, model: Model) -> _Line:
        line = self._lines.get(model.name)
        if line is None:
            line = self._lines[model.name] = _Line(model, self.caches)
        return line

    def tokens(self, model: Model, view: View) -> int:
        """Return the tokens of a view as the next prompt."""
        line = self._line(model)
        line.main.move(view)
        line.stripped |= line.main.stripped is not None
        return line.main.tokens

    def stripped(self, model: Model) -> bool:
        """Whether the model dropped thinking of earlier turns since the last request."""
        return self._line(model).stripped

    def request(
        self,
        model: Model,
        at: float,
        ttl: str,
        arrived: Collection[str],
        reason: str,
        *,
        output: int = 0,
    ) -> Bill:
        """Send the prompt that was last measured, and return its bill."""
        line = self._line(model)
        line.stripped = False
        return self._bill(
            line, line.main, at=at, ttl=ttl, arrived=arrived, reason=reason, output=output
        )

    def side(
        self,
        model: Model,
        view: View,
        at: float,
        ttl: str,
        cause: str,
        *,
        own: Collection[str] = (),
        marked: bool = True,
    ) -> Bill:
        """Send a view as a side call; all its cache-miss tokens have the same cause.

        Without marks, it reads and writes nothing if the provider needs marks. If it changes the
        system blocks of the live prompt, only its own messages (by id) have that cause; the others
        missed the cache because of the change.
        """
        line = self._line(model)
        line.side.move(view)
        if own:
            bill = self._bill(line, line.side, at=at, ttl=ttl, arrived=own, reason="system_changed")
            named = {cause if key == "append" else key: n for key, n in bill.causes.items()}
            return Bill(bill.usage, named, bill.place)
        bill = self._bill(line, line.side, at=at, ttl=ttl, arrived=(), reason=cause, marked=marked)
        cache_misses = sum(bill.causes.values())
        return Bill(bill.usage, {cause: cache_misses} if cache_misses else {}, bill.place)

    def unbilled(self, model: Model, view: View, at: float, ttl: str) -> None:
        """Send an unlogged request, which fills the cache without a bill."""
        line = self._line(model)
        line.side.move(view)
        self._clock = max(self._clock, at)
        line.cache.request(Request(line.side, self._clock, ttl, self.settings))

    def _bill(
        self,
        line: _Line,
        prompt: Prompt,
        *,
        at: float,
        ttl: str,
        arrived: Collection[str],
        reason: str,
        output: int = 0,
        marked: bool = True,
    ) -> Bill:
        # Recorded times may decrease by a few milliseconds; the cache's clock must not.
        self._clock = max(self._clock, at)
        latency = 0.0 if prompt is line.main else line.degradation.latency
        lost = bool(line.loss or line.degradation.lose_every) and line.loses(self.rng)
        mark = self.mark if prompt is line.main else 0
        request = Request(prompt, self._clock, ttl, self.settings, latency, lost, mark, marked)
        lookup = line.cache.request(request)
        self._clock += latency
        causes = explain(prompt, lookup, arrived, reason)
        place = line.lineage.place(self._requests, prompt)
        self._requests += 1
        prompt.mark_sent()
        written = lookup.write_5m + lookup.write_1h
        usage = Usage(
            uncached=prompt.tokens - lookup.read - written,
            cache_read=lookup.read,
            cache_write_5m=lookup.write_5m,
            cache_write_1h=lookup.write_1h,
            output=output,
            storage=lookup.storage,
        )
        return Bill(usage, causes, place)


class CountingMeter(Meter):
    """Counts prompts, but looks nothing up in a cache: for a replay of which only memory is read.

    A strategy that decides by prices needs a real meter (:attr:`.Strategy.by_price`).
    """

    def _bill(self, line: _Line, prompt: Prompt, *, output: int = 0, **_: object) -> Bill:
        return Bill(Usage(uncached=prompt.tokens, output=output), {}, _NO_PLACE)

    def unbilled(self, model: Model, view: View, at: float, ttl: str) -> None:
        """Send nothing: there is no cache to fill."""
