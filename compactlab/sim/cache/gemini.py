"""Gemini's caches: the implicit one, and named ones that a client pays for by the hour."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from compactlab.sim.cache.policy import Cache, CachePolicy, Lookup, Request, Salt, ascending
from compactlab.sim.cache.prefixes import Automatic
from compactlab.sim.cache.prompt import Prompt
from compactlab.sim.core.view import Messages

# Gemini's implicit cache: on by default, free to write, without guarantees.
#
# Google's pages on context caching, as of 2026-11 (Gemini API 2026-10-13, Agent Platform): hits are
# discounted but not guaranteed. The minimum depends on the model. There are two stores, a memory
# store that evicts prefixes when it needs room, and a durable one. Every prefix is evicted within
# 24 hours, most much earlier.
#
# Google does not document the lifetime of a prefix, the step size of reads, when a prefix can first
# be read, or how often a stored prefix is missed. Third parties report far fewer hits than with
# other providers: on gemini-3.8-flash in 1 of 138 requests that only extended the last one
# (rig-core 0.43, 2026).


@dataclass(frozen=True)
class Gemini(Automatic):
    """Google's Gemini models, without explicit caches: any common prefix.

    Parameters
    ----------
    grid
        Tokens; none is documented, so 1.
    minimum
        Tokens. Google's table of 2026-10-13: 4,096 for 3.1 Pro and all of 3.6 to 4, 2,048 for 2.5
        Flash and Pro (earlier copies: 1,024 for Flash, 4,096 for Pro).
    idle
        Seconds; an assumption, an hour: Google says only "within 24 hours", and "requests with a
        similar prefix in a short amount of time".
    loss
        Share of requests that miss stored prefixes. Google gives no figure, and those of third
        parties vary widely; 0 is the best case, so set your own.
    """

    grid: int = 1
    minimum: int = 4096
    idle: float = 3600.0
    loss: float = 0.0


# Named caches that a client pays for by the hour, like Google's ``cachedContents``.
#
# Google's pages on explicit context caching, as of 2026-11: a client stores a prefix of at least
# the model's minimum, by default for one hour. The content is immutable; only the lifetime can
# change. A request with a cache takes tools and system prompt from it. Creation costs the input
# price of its tokens once. Requests read the tokens at the cached price. Storage is billed per
# token and time, until the cache expires or is deleted.
#
# Billing in this model: the request that creates a cache counts all its tokens as uncached input,
# which pays for the creation. Its own read at the cached price is left out, because each token has
# one class. With a cached price of 10 %, the bill of a new cache is about 10 % too low. Each
# request is charged the storage (tokens times seconds) since the last one, or until expiry. Each
# use renews the lifetime, so a cache is held for one lifetime after its last use. A client deletes
# its cache if it creates a longer one, or if its prompt no longer starts with it. After the last
# request nothing is charged: a client deletes its cache with its session. One that does not pays up
# to one more lifetime.
#
# Tokens after a cache are plain input. Google's implicit cache may find some of them; that is
# another policy (``gemini``).


@dataclass(frozen=True)
class Explicit(CachePolicy):
    """A client that creates caches by name, as Google's explicit caches.

    Parameters
    ----------
    what
        The stored prefix: ``system`` (tools and system prompt), or ``history`` (the prompt up to
        the end of the last whole turn).
    minimum
        Tokens below which no cache can be made; Google's table of 2026-10-13 has 4,096 for most
        models since 3.1 Pro and 2,048 for 2.5.
    ttl
        Seconds that a cache lives from its last use; an hour unless the client says otherwise.
    renew
        A cache is replaced if the new one would be longer by more than this share. The new one is
        paid for as input, so the default is a compromise: over some hundred calls a fifth costs
        least.
    """

    what: Literal["system", "history"] = "system"
    minimum: int = 4096
    ttl: float = 3600.0
    renew: float = 0.2

    def __post_init__(self) -> None:
        if min(self.minimum, self.ttl, self.renew) < 0:
            raise ValueError("minimum, ttl and renew are not negative")

    def open(self) -> Cache:
        return _Named(self)

    def lifetime(self, ttl: str = "") -> float:
        return self.ttl

    def shortened(self, share: float) -> Explicit:
        return replace(self, ttl=self.ttl * share)


@dataclass
class _Held:
    """A cache: its last block, key, tokens, time of last payment, and expiry."""

    block: int
    key: int
    tokens: int
    paid: float
    expires: float


@dataclass
class _Client:
    """The sender of a prompt: its cache, and the start of its last turn."""

    held: _Held | None = None
    messages: Messages = field(default_factory=Messages)
    turn: int = 0

    def last_turn(self, messages: Messages) -> int:
        """Return the index of the message that starts the last turn; only checks new messages."""
        same = self.messages.shared(messages)
        known, floor = (self.turn, same) if self.turn < same else (0, 1)
        later = range(len(messages) - 1, floor - 1, -1)
        self.turn = next((index for index in later if messages[index].starts_turn), known)
        self.messages = messages
        return self.turn


class _Named(Cache):
    """The caches of all clients, each of which may use the others'."""

    def __init__(self, policy: Explicit) -> None:
        self._policy = policy
        self._clients: dict[Prompt, _Client] = {}
        self._owed = 0.0  # fraction of a token-second
        self._salt = Salt()

    def request(self, request: Request) -> Lookup:
        """Find a cache; create one if there is none, or only a short one."""
        prompt, at = request.prompt, request.at
        storage = self._charge(at)
        if not prompt.totals:
            return Lookup(storage=storage)
        self._salt.take(request.settings, prompt)
        client = self._clients.setdefault(prompt, _Client())
        best = self._best(prompt, at)
        end = self._end(prompt, client)
        tokens = prompt.totals[end] if end >= 0 else 0
        if best is not None and tokens - best.tokens <= self._policy.renew * best.tokens:
            best.expires = at + self._policy.ttl
            read = 0 if request.lost else best.tokens
            causes = ("eviction", best.tokens), ("grid", prompt.sent)
            return Lookup(read, missed=ascending(read, *causes), storage=storage)
        missed = self._missed(prompt, client.held, best, tokens)
        client.held = None
        if tokens and tokens >= self._policy.minimum:
            expires = at + self._policy.ttl
            client.held = _Held(end, self._key(prompt, end), tokens, at, expires)
        return Lookup(missed=missed, storage=storage)

    def _charge(self, at: float) -> int:
        """Return the token-seconds since the caches were last paid for."""
        for client in self._clients.values():
            held = client.held
            if held is not None and held.paid < held.expires:
                until = min(at, held.expires)
                self._owed += held.tokens * (until - held.paid)
                held.paid = until
        whole = int(self._owed)
        self._owed -= whole
        return whole

    def _key(self, prompt: Prompt, block: int) -> int:
        return prompt.key(block) ^ self._salt.of(block)

    def _best(self, prompt: Prompt, at: float) -> _Held | None:
        """Return the longest cache of a prefix of the prompt that includes its system prompt."""
        usable = [
            client.held
            for client in self._clients.values()
            if client.held is not None
            and at <= client.held.expires
            and client.held.block >= prompt.front - 1
            and self._holds(client.held, prompt)
        ]
        return max(usable, key=lambda held: held.tokens) if usable else None

    def _holds(self, held: _Held, prompt: Prompt) -> bool:
        """Whether a cache contains a prefix of a prompt."""
        return held.block < len(prompt.totals) and self._key(prompt, held.block) == held.key

    def _end(self, prompt: Prompt, client: _Client) -> int:
        """Return the last block that the client would store now; -1 for none."""
        if self._policy.what == "system":
            return prompt.front - 1
        starts = prompt.starts
        turn = client.last_turn(prompt.view.messages)
        return (starts[turn] if starts else len(prompt.totals)) - 1

    def _missed(
        self, prompt: Prompt, own: _Held | None, best: _Held | None, tokens: int
    ) -> tuple[tuple[str, int], ...]:
        """Return why tokens that were sent before are not read."""
        rest = "grid", prompt.sent
        if best is not None:  # it is replaced by a longer one
            return ascending(0, rest)
        if own is None:
            short = min(tokens, prompt.sent)
            return ascending(0, ("below_minimum", short), rest)
        if self._holds(own, prompt):
            return ascending(0, ("ttl_expired", own.tokens), rest)
        return ()  # the changed prompt is the cause
