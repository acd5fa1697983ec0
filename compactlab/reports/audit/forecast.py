"""Forecasts of the cache reads of recorded calls, from what precedes each call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from compactlab.sim.cache import Cache, CachePolicy, Lookup, Request, Settings
from compactlab.sim.cache.anthropic import Anthropic
from compactlab.sim.cache.causes import explain
from compactlab.sim.cache.prompt import Prompt
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import ModelError
from compactlab.sim.core.view import Messages, View
from compactlab.sim.models.model import Model, find_model, replayable
from compactlab.sim.replay.client import SHARING, SUGGESTION, Client
from compactlab.sim.replay.recording import Exchange, Uncounted, exchanges
from compactlab.sim.replay.sizes import Front, Sized

# A forecast uses what precedes a call and what the log says about it: time, model, lifetime of
# entries, settings, messages; and the recorded size of its prompt, if requested. Its cache usage is
# read only afterwards.


@dataclass(frozen=True)
class Forecast:
    """The forecast of one recorded call."""

    exchange: Exchange
    model: Model
    prompt: int  # tokens, as recorded
    lookup: Lookup
    causes: dict[str, int]  # expected cache-miss tokens
    before: int  # recorded tokens that the last call of this model left in the cache
    had: int  # the same, as forecast
    system: int  # tokens of tools and system prompt, if known
    shared: int  # those that all sessions of the client share; 0 if none

    @property
    def read(self) -> int:
        """Expected tokens read."""
        return min(self.lookup.read, self.prompt)

    @property
    def cache_misses(self) -> int:
        """Expected cache-miss tokens."""
        return self.prompt - self.read


def forecasts(
    conversation: Conversation, find: Callable[[str], Model] = find_model
) -> Iterator[Forecast]:
    """Forecast every counted call of a recording, in order."""
    lines: dict[str, _ModelCache] = {}
    clock = 0.0
    client = Client(conversation.format)
    last: _ModelCache | None = None
    for exchange in exchanges(conversation):
        try:
            model, policy = replayable(find(exchange.call.model))
        except ModelError:
            continue
        line = lines.get(model.name)
        if line is None:
            line = lines[model.name] = _ModelCache(model, policy, conversation)
        clock = max(clock, exchange.time)
        forecast = line.ask(exchange, clock, client, last)
        yield forecast
        line.learn(exchange, clock, client)
        last = line


class _ModelCache:
    """A model's cache and prompt, and what was learned beyond the log."""

    def __init__(self, model: Model, policy: CachePolicy, conversation: Conversation) -> None:
        self.model = model
        # Only ratios matter: with exact token counts, no figure changed by 0.2 points.
        blocks = Sized(replace(model.tokenizer, encoding="chars4"))
        self._prompt = Prompt(model.tokenizer, strips=model.strips_thinking, blocks=blocks)
        self._neighbour = Prompt(model.tokenizer, blocks=blocks)
        shares = conversation.format in SHARING
        self._front = Front(blocks, conversation, shares=shares)
        if shares and isinstance(policy, Anthropic):
            # The part that sessions share ends at its own breakpoint.
            policy = replace(policy, marks=("tools", *policy.marks))
        self._cache: Cache = policy.open()
        self._lifetime = policy.lifetime
        self._before = self._had = 0
        self._ttl = ""
        self._last: Exchange | None = None
        self._settings = Settings()
        self._expired = False

    def ask(
        self, exchange: Exchange, clock: float, client: Client, last: _ModelCache | None
    ) -> Forecast:
        """Forecast a call and apply it to the cache."""
        settings = client.settings(exchange.call, "", opens_turn=False)[1]
        self._ttl = exchange.call.ttl or self._ttl
        idle = exchange.time - self._last.time if self._last else 0.0
        self._expired = idle > self._lifetime(self._ttl)
        self._front.measure(exchange, self._prompt)
        self._between(exchange, clock, client, last)
        if client.shares_system(self._ttl):
            self._send(self._neighbour, self._front.alone(), clock, settings)
        lookup = self._send(self._prompt, self._front.view(exchange.context), clock, settings)
        shared = self._last.context.shared(exchange.context) if self._last else 0
        arrived = {message.id for message in exchange.context[shared:]}
        reason = self._reason(exchange, shared, settings, last)
        causes = explain(self._prompt, lookup, arrived if reason != "append" else (), reason)
        self._prompt.mark_sent()
        self._settings = settings
        had, self._had = self._had, self._prompt.tokens
        front = self._front
        return Forecast(
            *(exchange, self.model, exchange.usage.prompt, lookup, causes),
            *(self._before, had, front.system, front.shared if front.shares else 0),
        )

    def _reason(
        self, exchange: Exchange, shared: int, settings: Settings, last: _ModelCache | None
    ) -> str:
        """Why the prompt differs from the last one: the first reason that holds."""
        before = self._last.context if self._last else Messages()
        reasons = {
            "cold_start": last is None,
            "compaction": exchange.compacted is not None,
            "model_switch": last is not self,
            "rewind": exchange.rewound,
            "client_restart": exchange.call.restarted,
            "client_upgrade": settings.system != self._settings.system,
            "settings_changed": settings != self._settings,
            "history_edit": shared < len(before) or self._front.edited,
            "thinking_strip": self._front.stripped is not None,
        }
        return next((reason for reason, holds in reasons.items() if holds), "append")

    def _between(
        self, exchange: Exchange, clock: float, client: Client, last: _ModelCache | None
    ) -> None:
        """Send the requests since the last call that the log does not count."""
        sent = [(self, broken) for broken in exchange.uncounted]
        rode = last and last._rode(exchange, client)  # sent to the model of the last call
        if last and rode:
            sent.append((last, rode))
        for line, (context, time) in sorted(sent, key=lambda pair: pair[1].time):
            line._send(line._prompt, line._front.view(context), min(time, clock), line._settings)

    def _rode(self, exchange: Exchange, client: Client) -> Uncounted | None:
        """The client's own request since the last call, with the prompt of the session."""
        last = self._last
        if last is None:
            return None
        if exchange.compacted is not None:
            context, time = exchange.compacted
        elif client.suggests and last.ends_turn and exchange.opens_turn and not exchange.rewound:
            context, time = exchange.context[: len(last.context) + 1], last.answer.time
            context = context.append(SUGGESTION)
        else:
            return None
        return Uncounted(context, max(time, last.time))

    def _send(self, prompt: Prompt, view: View, at: float, settings: Settings) -> Lookup:
        prompt.move(view)
        return self._cache.request(Request(prompt, at, self._ttl, settings))

    def learn(self, exchange: Exchange, clock: float, client: Client) -> None:
        """Learn from the recorded usage of the call."""
        settings = client.settings(exchange.call, "", opens_turn=False)[1]
        if settings != self._settings:  # only now are the settings of the call known
            self._send(self._prompt, self._front.view(exchange.context), clock, settings)
            self._settings = settings
        anew = exchange.call.restarted or self._expired
        self._front.learn(exchange, self._before, anew)
        self._before = exchange.cached
        self._last = exchange
