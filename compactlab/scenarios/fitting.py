"""Profiles from recordings: measure, estimate a profile, and compare it with the recordings."""

from __future__ import annotations

import math
import re
import tomllib
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist, median

from compactlab.scenarios.engine.profile import SPEAKERS, Breaks, Profile, Spread
from compactlab.sim.core.conversation import Compaction, Conversation, Rewind
from compactlab.sim.core.message import Message, Part
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.replay.sizes import unseen

# Tools with the same function as one of the built-in profiles, by the names of Claude Code, Codex
# and pi in logs of 2026. Other names are converted to lower case.
_NAMES = {
    "multiedit": "edit",
    "apply_patch": "edit",
    "exec_command": "bash",
    "shell": "bash",
    "shell_command": "bash",
    "websearch": "search",
    "web_search": "search",
    "webfetch": "open",
}
_COUNT = Tokenizer().part  # o200k


@dataclass
class Share:
    """A share, as two counts."""

    hits: int = 0
    of: int = 0

    def take(self, hit: bool) -> None:
        """Count one case."""
        self.of += 1
        self.hits += hit

    @property
    def value(self) -> float:
        return self.hits / self.of if self.of else 0.0


def _shares() -> dict[str, Share]:
    return {name: Share() for name in ("text", "thinking", "pair", "error")}


@dataclass
class Samples:
    """The measurements of some conversations, pooled: a long one has more weight."""

    # Tokens (o200k) of ``user``; of the agent's ``text`` beside calls, ``answer`` without any,
    # ``thinking``.
    sizes: dict[str, list[int]] = field(default_factory=dict)
    # Tokens of tool results, without errors.
    results: dict[str, list[int]] = field(default_factory=dict)
    arguments: dict[str, list[int]] = field(default_factory=dict)  # tokens
    # Seconds between two messages of a branch, by the role of the second; messages of the client
    # itself are not counted.
    waits: dict[str, list[float]] = field(default_factory=dict)
    # Of the calls with tools: share with ``text``, with more than one tool (``pair``); of all
    # calls: share with ``thinking``; of the results: share of ``error``.
    shares: dict[str, Share] = field(default_factory=_shares)
    tools: Counter[str] = field(default_factory=Counter)  # calls by tool
    calls: list[int] = field(default_factory=list)  # calls per turn, of turns with calls
    written: list[int] = field(default_factory=list)  # tokens of each call's answer
    # Growth of the context from call to call, in tokens.
    growth: list[int] = field(default_factory=list)
    # Share of the tokens that tools returned, for each conversation.
    tool_share: list[float] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)  # tokens of all messages, by conversation
    turns: list[int] = field(default_factory=list)
    system: list[int] = field(default_factory=list)  # tokens, where known
    formats: Counter[str] = field(default_factory=Counter)  # conversations by format


def tool_named(name: str) -> str:
    """Map a tool to its name in profiles.

    Examples
    --------
    >>> tool_named("Grep"), tool_named("apply_patch")
    ('grep', 'edit')
    """
    small = name.lower()
    return _NAMES.get(small, small)


def measure(conversations: Iterable[Conversation]) -> Samples:
    """Measure conversations, recorded or synthetic."""
    samples = Samples()
    for conversation in conversations:
        samples.formats[conversation.format] += 1
        if held := _system(conversation):
            samples.system.append(held)
        _Walk(samples).through(conversation)
    return samples


def _system(conversation: Conversation) -> int:
    """Return the tokens of system prompt and tools, as recorded or estimated from the usage."""
    held = sum(map(_COUNT, conversation.system))
    return held or unseen(conversation).system


class _Walk:
    """Walks through one conversation and takes its samples."""

    def __init__(self, samples: Samples) -> None:
        self._samples = samples
        self._before: Message | None = None
        self._in_turn = 0  # calls
        self._grown: int | None = None  # tokens since the last call; None if there was none
        self._tokens = self._returned = 0

    def through(self, conversation: Conversation) -> None:
        for event in conversation.events:
            if isinstance(event, Rewind):
                self._before = self._grown = None
            elif not isinstance(event, Compaction):
                self._take(event)
        self._end_turn()
        self._samples.turns.append(conversation.turns)
        self._samples.tokens.append(self._tokens)
        if self._tokens:
            self._samples.tool_share.append(self._returned / self._tokens)

    def _take(self, message: Message) -> None:
        self._wait(message)
        if message.starts_turn:
            self._end_turn()
            self._size("user", message.parts, "text")
        if message.role == "assistant" and message.call is not None:
            self._call(message)
        size = sum(map(_COUNT, message.parts))
        self._tokens += size
        if message.role == "tool":
            self._result(message)
            self._returned += size
        if self._grown is not None:
            self._grown += size
        self._before = message

    def _wait(self, message: Message) -> None:
        before = self._before
        if message.meta or before is None or not (message.time and before.time):
            return
        self._samples.waits.setdefault(message.role, []).append(message.time - before.time)

    def _call(self, message: Message) -> None:
        samples = self._samples
        self._in_turn += 1
        if self._grown is not None:
            samples.growth.append(self._grown)
        self._grown = 0
        samples.written.append(sum(map(_COUNT, message.parts)))
        used = [part for part in message.parts if part.type == "tool_call"]
        types = {part.type for part in message.parts}
        samples.shares["thinking"].take("thinking" in types)
        if used:
            samples.shares["text"].take("text" in types)
            samples.shares["pair"].take(len(used) > 1)
        self._size("text" if used else "answer", message.parts, "text")
        self._size("thinking", message.parts, "thinking")
        for part in used:
            tool = tool_named(part.name)
            samples.tools[tool] += 1
            samples.arguments.setdefault(tool, []).append(_COUNT(part))

    def _result(self, message: Message) -> None:
        for part in message.parts:
            if part.type == "tool_result":
                self._samples.shares["error"].take(part.is_error)
                if not part.is_error:
                    tool = tool_named(part.name)
                    self._samples.results.setdefault(tool, []).append(_COUNT(part))

    def _size(self, what: str, parts: tuple[Part, ...], type: str) -> None:
        sizes = [_COUNT(part) for part in parts if part.type == type and part.text]
        if sizes:
            self._samples.sizes.setdefault(what, []).append(sum(sizes))

    def _end_turn(self) -> None:
        if self._in_turn:
            self._samples.calls.append(self._in_turn)
        self._in_turn = 0


# The ninth decile of fewer samples is the largest of them.
LEAST = 10
# A pause of the user from this length on may be a break: a cache with a lifetime of minutes
# expires.
BREAK_FROM = 1_800.0
# Tools whose arguments a profile describes instead of their results: see coding.toml.
GIVEN = ("edit", "write")
_SAID = ("user", "text", "answer", "thinking")  # sizes of messages without tools
_NINTH = NormalDist().inv_cdf(0.9)
_ROUNDS = 50  # until the share of breaks and the waits converge; ten are enough for recordings
_INSTANT = 0.001  # seconds: the resolution of the clocks of logs


# A key in a profile's file, bare or quoted.
_KEY = re.compile(r'(\w+|"(?:[^"\\]|\\.)*") = ')


@dataclass(frozen=True)
class Fit:
    """A profile, and the samples behind it."""

    profile: Profile
    # Numbers of samples, by table and key of the profile's file, e.g. ``sizes.user``.
    counts: Mapping[str, int]
    fill: str  # name of the profile that supplies the missing figures

    def toml(self) -> str:
        """Write the profile as TOML, with the number of samples behind each figure."""
        lines, table = [], ""
        for line in self.profile.toml().split("\n")[:-1]:
            if line.startswith("["):
                table = line.strip("[]") + "."
            key = _KEY.match(line)
            note = self._note(table + _named(key[1])) if key else ""
            lines.append(line + note)
        return "\n".join(lines) + "\n"

    def _note(self, key: str) -> str:
        if key in ("name", "source"):
            return ""
        count = self.counts.get(key)
        return f"  # n = {count:,}" if count else f"  # not measured: of {self.fill}"


def _named(key: str) -> str:
    name: str = tomllib.loads(f"key = {key}")["key"] if key.startswith('"') else key
    return name


def quantile(ordered: Sequence[float], share: float) -> float:
    """Return the quantile of ordered samples: the smallest sample at or above it.

    Examples
    --------
    >>> quantile([1, 2, 3, 4], 0.5), quantile([1, 2, 3, 4], 0.9)
    (2, 4)
    """
    index = math.ceil(share * len(ordered)) - 1
    return ordered[min(max(index, 0), len(ordered) - 1)]


def spread(samples: Sequence[float], least: float = 1.0, *, cut: bool = True) -> Spread:
    """Fit a log-normal distribution to the samples' median and ninth decile, from ``least`` on.

    Examples
    --------
    >>> spread([10] * 8 + [100, 400])
    Spread(median=10.0, sigma=1.797, most=400.0)
    """
    ordered = sorted(max(each, least) for each in samples)
    most = ordered[-1] if cut else math.inf
    return _lognormal(quantile(ordered, 0.5), quantile(ordered, 0.9), most)


def pauses(samples: Sequence[float]) -> tuple[Spread, Breaks]:
    """Split the pauses of the user into waits and breaks.

    Waits are log-normal, and breaks are at least :data:`BREAK_FROM`; some waits are as long. So the
    share of breaks is the number of such pauses above the expected number of waits, and the waits
    are the other pauses. The two are estimated alternately.

    Examples
    --------
    >>> waits, breaks = pauses([60.0] * 9 + [40_000.0])
    >>> waits, breaks.share, breaks.longest
    (Spread(median=60.0, sigma=0.0, most=inf), 0.1, 40000.0)
    """
    ordered = sorted(max(each, _INSTANT) for each in samples)
    below = sum(each < BREAK_FROM for each in ordered) / len(ordered)
    share = 1 - below
    for _ in range(_ROUNDS):
        middle = quantile(ordered, 0.5 * (1 - share))
        waits = _lognormal(middle, quantile(ordered, 0.9 * (1 - share)), math.inf)
        share = max(1 - below / _below(waits, BREAK_FROM), 0.0)
    longest = max(round(ordered[-1], 1), BREAK_FROM)
    return waits, Breaks(round(share, 4), BREAK_FROM, longest) if share else Breaks()


def estimate(samples: Samples, name: str, source: str, fill: Profile) -> Fit:
    """Estimate a profile from samples; with fewer than `LEAST`, a figure is taken from ``fill``."""
    sizes = {key: spread(rows) for key, rows in _sizes(samples).items()}
    waited = {key: rows for key, rows in samples.waits.items() if len(rows) >= LEAST}
    waits = {key: spread(rows, _INSTANT) for key, rows in waited.items()}
    breaks = fill.breaks
    if "user" in waited:
        waits["user"], breaks = pauses(waited["user"])
    calls = spread(samples.calls, cut=False) if len(samples.calls) >= LEAST else fill.calls
    shares = {key: round(s.value, 4) for key, s in samples.shares.items() if s.of >= LEAST}
    uses = samples.tools.total()
    tools = {t: round(n / uses, 4) for t, n in samples.tools.most_common() if n >= LEAST}
    system = {"tools and system prompt": round(median(samples.system))} if samples.system else {}
    profile = Profile(
        name=name,
        source=source,
        sizes={**_filling(fill, sizes), **sizes},
        waits={key: waits.get(key, fill.waits[key]) for key in SPEAKERS},
        calls=calls,
        shares={**fill.shares, **shares},
        tools=tools,
        breaks=breaks,
        system=system or fill.system,
    )
    return Fit(profile, _counts(samples), fill.name)


def _sizes(samples: Samples) -> dict[str, list[int]]:
    """Return the samples of each size that can be estimated."""
    samples_of = {
        **samples.sizes,
        "result": [size for rows in samples.results.values() for size in rows],
        **samples.results,
        **{tool: samples.arguments.get(tool, []) for tool in GIVEN},
    }
    return {key: rows for key, rows in samples_of.items() if len(rows) >= LEAST}


def _filling(fill: Profile, sizes: Mapping[str, Spread]) -> dict[str, Spread]:
    """Return the sizes that another profile must supply: texts, and results if there are none."""
    tools = "result" not in sizes
    return {key: size for key, size in fill.sizes.items() if tools or key in _SAID}


def _counts(samples: Samples) -> dict[str, int]:
    every = {
        "calls": len(samples.calls),
        "breaks": len(samples.waits.get("user", ())),
        **{f"sizes.{key}": len(rows) for key, rows in _sizes(samples).items()},
        **{f"waits.{key}": len(rows) for key, rows in samples.waits.items()},
        **{f"shares.{key}": share.of for key, share in samples.shares.items()},
        **{f"tools.{tool}": count for tool, count in samples.tools.items()},
    }
    counts = {key: count for key, count in every.items() if count >= LEAST}
    return counts | {"system.tools and system prompt": len(samples.system)}


def _lognormal(middle: float, ninth: float, most: float) -> Spread:
    sigma = math.log(ninth / middle) / _NINTH
    return Spread(float(f"{middle:.4g}"), round(sigma, 3), round(float(most), 3))


def _below(spread: Spread, value: float) -> float:
    if not spread.sigma:
        return float(spread.median < value) or 1.0
    return NormalDist().cdf(math.log(value / spread.median) / spread.sigma) or 1.0


QUANTILES = (0.1, 0.5, 0.9, 0.99)
# Quantile of Kolmogorov's distribution: in 95 % of cases, two samples of one distribution are no
# further apart than this times the root of (n + m) / (n m). Smirnov 1948.
_KOLMOGOROV = 1.358


@dataclass(frozen=True)
class Row:
    """One distribution, in the recordings and in the synthetic conversations."""

    name: str
    unit: str
    recorded: Sequence[float]
    made: Sequence[float]

    @property
    def distance(self) -> float | None:
        """The Kolmogorov-Smirnov distance; None with fewer than `LEAST` samples."""
        if min(len(self.recorded), len(self.made)) < LEAST:
            return None
        return kolmogorov_smirnov(self.recorded, self.made)

    @property
    def chance(self) -> float | None:
        """The largest distance in 95 % of cases, if both samples have the same distribution."""
        n, m = len(self.recorded), len(self.made)
        return _KOLMOGOROV * math.sqrt((n + m) / (n * m)) if n and m else None


def kolmogorov_smirnov(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the Kolmogorov-Smirnov distance of two samples."""
    n, m = len(one), len(other)
    return max(
        abs(bisect_right(one, value) / n - bisect_right(other, value) / m)
        for value in {*one, *other}
    )


def quantiles(samples: Sequence[float]) -> tuple[float, ...] | None:
    """Return the `QUANTILES` of samples; None without samples."""
    return tuple(quantile(samples, share) for share in QUANTILES) if samples else None


def closeness(recorded: Samples, made: Samples) -> list[Row]:
    """Compare recordings with synthetic conversations, where either has `LEAST` samples."""
    rows = [
        Row(name, unit, sorted(one), sorted(other))
        for (name, unit, one), (_, _, other) in zip(
            _listed(recorded, recorded, made), _listed(made, recorded, made), strict=True
        )
    ]
    return [row for row in rows if max(len(row.recorded), len(row.made)) >= LEAST]


def worst(rows: Sequence[Row]) -> Row | None:
    """Return the row with the largest distance; None if no row has one."""
    known = [(row.distance, row) for row in rows if row.distance is not None]
    return max(known, key=lambda pair: pair[0])[1] if known else None


def _listed(
    of: Samples, recorded: Samples, made: Samples
) -> Iterator[tuple[str, str, Sequence[float]]]:
    """List the samples of one side, under names that both sides share."""
    for what in ("user", "text", "answer", "thinking"):
        yield what, "tokens", of.sizes.get(what, [])
    tools = dict.fromkeys([t for t, _ in (recorded.tools + made.tools).most_common()])
    for tool in tools:
        yield f"given to {tool}", "tokens", of.arguments.get(tool, [])
        yield f"result of {tool}", "tokens", of.results.get(tool, [])
    for role in ("assistant", "tool", "user"):
        yield f"wait for {role}", "seconds", of.waits.get(role, [])
    yield "calls per turn", "calls", of.calls
    yield "written per call", "tokens", of.written
    yield "growth per call", "tokens", of.growth
    yield "results in session", "share", of.tool_share
