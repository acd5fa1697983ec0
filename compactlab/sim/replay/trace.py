"""The raw record of one replay, from which figures are computed later."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator, MutableMapping
from dataclasses import dataclass, field

import msgspec

from compactlab.sim.cache import PLAIN, Cache, Request, Settings
from compactlab.sim.cache.causes import explain
from compactlab.sim.cache.prompt import Lineage, Place, Prompt
from compactlab.sim.core.message import Message, Part, Usage
from compactlab.sim.core.notes import Remembered
from compactlab.sim.core.view import Messages, View
from compactlab.sim.models.model import Catalogue, Model, built_in, replayable


class SideCall(msgspec.Struct, frozen=True):
    """A request that the strategy itself caused."""

    purpose: str  # ``summary``, or a strategy's name of an extra turn: ``flush``
    model: str
    time: float  # seconds since 1970
    usage: Usage
    causes: dict[str, int]
    cycle: int = 0  # number of earlier compactions of the session
    heard: int = 0  # tokens of its answer that the user sees
    place: Place = Place()
    faults: tuple[str, ...] = ()  # faults of a summary; names of FAULTS
    waits: bool = True  # whether the agent waited for it


class Outside(msgspec.Struct, frozen=True):
    """Content that was stored outside the prompt since the previous step."""

    notes: tuple[Remembered, ...] = ()  # new notes in the agent's memory
    stored: tuple[tuple[str, str], ...] = ()  # offloaded content by handle
    broken: tuple[str, ...] = ()  # handles whose content is gone, or not what was offloaded


NOWHERE = Outside()


class Step(msgspec.Struct, frozen=True):
    """One call of a replay.

    Parameters
    ----------
    answer
        Id of the assistant message that answers it: of the script, or created in the replay.
    model
        Name of the model.
    time
        The start of the request, in seconds since 1970.
    system
        The system blocks of the prompt.
    shared
        Number of leading messages that the prompt shares with the previous prompt.
    added
        The other messages of the prompt.
    log
        All messages before this call, from the script or created in the replay.
    usage
        Tokens by billing class.
    causes
        Cache-miss tokens by cause.
    rewrite
        Whether the strategy changed the prompt other than by appending the new messages.
    compaction
        Whether it removed or shortened content that had been sent.
    overflow
        Whether the prompt is larger than the window.
    side
        The side calls since the previous step.
    cycle
        Number of earlier compactions of the session.
    place
        Its place among all requests.
    born
        New messages in the log since the previous step that are not in the script.
    outside
        Content stored outside the prompt since the previous step.
    recovery
        The recovery action of a call in the closed loop, see :mod:`compactlab.sim.replay.recovery`;
        "" for a call of the script.
    unmet
        Ids of the facts that it needed and did not have.
    misjudged
        For each compaction since the previous step that an estimate started: the estimated tokens
        of the context, less the actual ones.
    """

    answer: str
    model: str
    time: float
    system: tuple[Part, ...]
    shared: int
    added: Messages
    log: Messages
    usage: Usage
    causes: dict[str, int]
    rewrite: bool = False
    compaction: bool = False
    overflow: bool = False
    side: tuple[SideCall, ...] = ()
    cycle: int = 0
    place: Place = Place()
    created: tuple[Message, ...] = ()
    outside: Outside = NOWHERE
    recovery: str = ""
    unmet: tuple[str, ...] = ()
    misjudged: tuple[float, ...] = ()


@dataclass(frozen=True)
class Header:
    """The identity of a trace."""

    conversation: str  # id
    digest: str
    strategy: str  # spec
    summarizer: str
    model: str
    window: int  # 0 if the run was not narrowed
    seed: int
    flushes: bool = False  # whether it promises a memory flush before each compaction


@dataclass
class Trace:
    """A header and the steps of one replay.

    Parameters
    ----------
    header
        Its identity.
    steps
        Its calls in order. A step only holds the part of its prompt that the previous one lacks, so
        a trace grows with the new content.
    catalogue
        The models of its steps; with other prices, the same steps have other costs.
    """

    header: Header
    steps: list[Step] = field(default_factory=list)
    catalogue: Catalogue = field(default_factory=built_in, repr=False)

    def prompts(self) -> Iterator[Messages]:
        """Yield the messages of every prompt, rebuilt step by step."""
        prompt = Messages()
        for step in self.steps:
            if step.shared == len(prompt):
                prompt = prompt.append(*step.added)
            else:
                prompt = prompt[: step.shared].append(*step.added) if step.shared else step.added
            yield prompt


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
        """Return the tokens of the prompt that was last measured, all uncached."""
        line = self._line(model)
        line.stripped = False
        return Bill(Usage(uncached=line.main.tokens, output=output), {}, _NO_PLACE)

    def side(self, *_: object, **__: object) -> Bill:
        """Return an empty bill."""
        return Bill(Usage(), {}, _NO_PLACE)

    def unbilled(self, *_: object, **__: object) -> None:
        """Send nothing: there is no cache to fill."""
