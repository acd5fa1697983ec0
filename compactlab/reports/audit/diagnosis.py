"""Diagnosis of recorded cache misses: each gets a cause, or is unexplained."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import exp, fsum, lgamma, log, log1p
from typing import Literal, NamedTuple

from compactlab.reports.audit.forecast import Forecast
from compactlab.sim.replay.recording import Exchange
from compactlab.sim.replay.sizes import REBUILD, SLACK

# A forecast weighs such signs and may be wrong. So only the log decides whether a loss follows from
# the log.


class Signs:
    """Finds the signs of causes in one recording, call by call."""

    def __init__(self) -> None:
        self._last: Exchange | None = None
        self._model = self._ttl = ""
        self._thought = False

    def of(self, forecast: Forecast) -> list[str]:
        """The causes that the log shows, the most severe first; none for a first call."""
        exchange, last = forecast.exchange, self._last
        if last is None:
            return []
        call, before = exchange.call, last.call
        lifetime = forecast.model.policy.lifetime(self._ttl) if forecast.model.policy else 0.0
        smaller = exchange.usage.prompt < last.usage.prompt
        strips = forecast.model.strips_thinking and exchange.opens_turn and self._thought
        signs = {
            "compaction": exchange.compacted is not None,
            "model_switch": forecast.model.name != self._model,
            "client_restart": call.restarted,
            "client_upgrade": _differ(call.version, before.version),
            "ttl_expired": exchange.time - last.time > lifetime,
            "settings_changed": _differ(call.thinking, before.thinking),
            "rewind": exchange.rewound,
            "thinking_strip": strips,
            "history_edit": smaller,
        }
        return [cause for cause, flag in signs.items() if flag]

    def keep(self, forecast: Forecast) -> None:
        """Go on to the next call."""
        exchange = forecast.exchange
        self._last, self._model = exchange, forecast.model.name
        self._ttl = exchange.call.ttl or self._ttl
        if exchange.opens_turn:
            self._thought = False
        self._thought |= any(part.type == "thinking" for part in exchange.answer.parts)


def _differ(one: str, other: str) -> bool:
    """Whether two known settings differ."""
    return bool(one and other) and one != other


# A forecast may use only what precedes a call. A diagnosis may use everything, above all the tokens
# read: they show how much of the prompt was unchanged.

Ground = Literal["provider", "log", "read", "pattern", "none"]
"""The evidence for a cause: the provider, the log, tokens read, the pattern, or none."""

# Words of providers for a cache miss, with the possible causes, the most obvious first:
# `message.diagnostics.cache_miss_reason` of Anthropic, `prompt_cache_diagnostics` of OpenAI (the
# project's notes on prompt caching, 2026-08). Other words do not name a cause.
REASONS = {
    "system_changed": ("system_changed", "client_restart", "client_upgrade"),
    "tools_changed": ("tools_changed",),
    "messages_changed": ("history_edit", "compaction", "rewind", "thinking_strip"),
    "input_changed": ("history_edit", "rewind", "thinking_strip"),
    "context_compacted": ("compaction",),
    "model_changed": ("model_switch",),
    "reasoning_effort_changed": ("settings_changed",),
    "verbosity_changed": ("settings_changed",),
    "text_format_changed": ("settings_changed",),
    "service_tier_changed": ("settings_changed",),
    "prompt_cache_key_changed": ("settings_changed",),
}

# Random losses are independent of who has spoken; below this probability it was not chance.
_CHANCE = 1e-3
# Causes of a forecast that do not explain a loss.
_NO_REASON = ("append", "grid", "unexplained")
_GRID = 256  # maximum of tokens that a cache with a grid of 128 omits, with the odd ones


class Charge(NamedTuple):
    """Cache-miss tokens with their cause, and its evidence."""

    cause: str
    tokens: int
    ground: Ground


@dataclass(frozen=True)
class Finding:
    """The diagnosis of one recorded call."""

    forecast: Forecast
    lost: int  # tokens that the previous call had left in the cache and this one did not read
    charges: tuple[Charge, ...]
    guess: str = ""  # the cause by the rules, ignoring the provider's word
    follows: bool = True  # whether the log shows the cause

    @property
    def read(self) -> int:
        """Tokens read from the cache."""
        return self.forecast.exchange.usage.cache_read

    @property
    def cache_misses(self) -> int:
        """Cache-miss tokens."""
        return self.forecast.exchange.usage.prompt - self.read

    @property
    def expected_lost(self) -> int:
        """Tokens that were expected to be lost."""
        forecast = self.forecast
        return max(0, min(forecast.had, forecast.prompt) - forecast.read)

    def bare(self) -> Finding:
        """A copy without the texts of its call."""
        forecast = self.forecast
        return replace(self, forecast=replace(forecast, exchange=forecast.exchange.bare()))


def _said(exchange: Exchange, guess: str, ground: Ground, lost: int) -> Charge:
    """The loss with the provider's cause, if it names one.

    A guess among the provider's causes is more specific, so it stays.
    """
    diagnosis = exchange.call.diagnosis
    causes = REASONS.get(diagnosis.reason, ()) if diagnosis else ()
    if not causes:
        return Charge(guess, lost, ground)
    return Charge(guess if guess in causes else causes[0], lost, "provider")


def agreement(findings: Iterable[Finding]) -> dict[tuple[str, str], int]:
    """Counts of losses by the provider's word and the rules' cause, most frequent first.

    The rules' cause is found without that word. Words that name no cause are counted, too.
    """
    counts: dict[tuple[str, str], int] = {}
    for finding in findings:
        diagnosis = finding.forecast.exchange.call.diagnosis
        if diagnosis is not None and finding.lost >= REBUILD:
            pair = diagnosis.reason, finding.guess
            counts[pair] = counts.get(pair, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def agreed(pairs: Mapping[tuple[str, str], int]) -> tuple[int, int]:
    """The number of matching pairs, and of pairs whose word names a cause."""
    named = {pair: count for pair, count in pairs.items() if pair[0] in REASONS}
    right = sum(count for (said, guess), count in named.items() if guess in REASONS[said])
    return right, sum(named.values())


def _lost(forecast: Forecast) -> int:
    exchange = forecast.exchange
    return max(0, min(forecast.before, exchange.cached) - exchange.usage.cache_read)


def diagnose(forecasts: Iterable[Forecast]) -> Iterator[Finding]:
    """Diagnose every call of one recording, in order."""
    memory = _Memory()
    for forecast in forecasts:
        yield memory.find(forecast)
        memory.keep(forecast)


@dataclass
class _Memory:
    """The ends of the prefixes that this session stored, and its previous calls."""

    ends: set[int] = field(default_factory=set)
    signs: Signs = field(default_factory=Signs)
    last: Forecast | None = None

    def find(self, forecast: Forecast) -> Finding:
        exchange = forecast.exchange
        read, whole = exchange.usage.cache_read, exchange.usage.prompt
        cache_misses = whole - read
        if not forecast.before:
            cause = "cold_start" if self.last is None else "model_switch"
            return Finding(forecast, 0, (Charge(cause, cache_misses, "log"),), cause)
        lost = _lost(forecast)
        if exchange.compacted is not None:
            said = _said(exchange, "compaction", "log", cache_misses)
            return Finding(forecast, lost, (Charge(*said),), "compaction")
        charges = [Charge("append", cache_misses - lost, "log")] if cache_misses > lost else []
        if not lost:
            return Finding(forecast, lost, tuple(charges))
        guess, ground = self._why(forecast, lost)
        charges.append(Charge(*_said(exchange, guess, ground, lost)))
        return Finding(forecast, lost, tuple(charges), guess, ground == "log")

    def _why(self, forecast: Forecast, lost: int) -> tuple[str, Ground]:
        exchange, read = forecast.exchange, forecast.exchange.usage.cache_read
        grid = not exchange.usage.cache_write and not exchange.call.ttl
        if grid and lost <= _GRID:
            return "grid", "log"
        expected = {k: n for k, n in forecast.causes.items() if k not in _NO_REASON}
        if expected and 2 * sum(expected.values()) >= lost:
            return max(expected, key=lambda cause: expected[cause]), "log"
        causes = self.signs.of(forecast)
        if causes:
            return causes[0], "log"
        if read and grid:
            return "eviction", "read"
        if self._is_behind_system(forecast, read):
            return "history_edit", "read"
        return ("system_changed", "read") if read else ("unexplained", "none")

    def _is_behind_system(self, forecast: Forecast, read: int) -> bool:
        """Whether the read ends after the system prompt, so that messages were changed."""
        if forecast.shared:
            return read > forecast.shared + SLACK
        return abs(read - forecast.system) <= SLACK or self._ends_at(read)

    def _ends_at(self, read: int) -> bool:
        return any(abs(end - read) <= SLACK for end in self.ends)

    def keep(self, forecast: Forecast) -> None:
        usage = forecast.exchange.usage
        if forecast.exchange.compacted is not None:
            self.ends.clear()
        self.ends |= {usage.cache_read, usage.prompt - usage.uncached} - {0}
        self.signs.keep(forecast)
        self.last = forecast


def by_pattern(findings: list[Finding]) -> list[Finding]:
    """Name unexplained losses of one client if they only happen when a person speaks.

    Providers that drop an entry or route a request elsewhere do not know who has spoken. So if such
    losses coincide with new turns more than by chance, the client has changed its prompt from the
    start.
    """
    warm = [f for f in findings if f.forecast.before >= REBUILD and f.expected_lost < REBUILD]
    opening = [f for f in warm if f.forecast.exchange.opens_turn]
    bare = [f for f in warm if any(c.cause == "unexplained" for c in f.charges)]
    hits = sum(f.forecast.exchange.opens_turn for f in bare)
    share = len(opening) / len(warm) if warm else 1.0
    if not bare or chance(hits, len(bare), share) >= _CHANCE:
        return findings
    return [_named(f) if f.forecast.exchange.opens_turn else f for f in findings]


def chance(hits: int, of: int, share: float) -> float:
    """The binomial probability of at least this many hits.

    Examples
    --------
    >>> round(chance(2, 2, 0.5), 9), round(chance(3_000, 6_000, 0.5), 3)
    (0.25, 0.505)
    """
    if not 0 < share < 1:
        return float(share >= 1 or not hits)
    # In logarithms: binomial coefficients of thousands of calls overflow a float.
    whole, yes, no = lgamma(of + 1), log(share), log1p(-share)
    return fsum(
        exp(whole - lgamma(k + 1) - lgamma(of - k + 1) + k * yes + (of - k) * no)
        for k in range(hits, of + 1)
    )


def _named(finding: Finding) -> Finding:
    charges = tuple(
        Charge("system_changed", c.tokens, "pattern") if c.cause == "unexplained" else c
        for c in finding.charges
    )
    guess = "system_changed" if finding.guess == "unexplained" else finding.guess
    return replace(finding, charges=charges, guess=guess)
