"""The profile of a kind of session: lengths of texts, and times that people and tools take.

A profile is data. The built-in ones are in ``profiles/*.toml`` beside this file, with a source for
each figure. A scenario accepts any other file of that form: ``profile="mine.toml"``.
"""

from __future__ import annotations

import json
import math
import random
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from compactlab.sim.core.errors import UsageError, unknown
from compactlab.sim.core.toml import (
    AMOUNT,
    FACTOR,
    SIZE,
    TEXT,
    Kind,
    Section,
    parse_toml,
    read_toml,
)

BUILT_IN = ("aloud", "chat", "coding", "days", "flood", "hostile", "repeats", "research", "rewinds",
            "rotation")  # fmt: skip
# Roles whose messages take time; shares of calls with text, with thinking, with a second parallel
# call; the share of results that are errors.
SPEAKERS = ("assistant", "tool", "user")
SHARES = ("text", "thinking", "pair", "error")
ANY_RESULT = "result"  # size of a result of a tool without a size of its own

_PROFILES = Path(__file__).with_name("profiles")
_DAY = 86_400.0
_NIGHT = Kind("seconds from 0 to 43,200", lambda value: AMOUNT.fits(value) and 2 * value <= _DAY)
_SHARE = Kind("a number from 0 to 1", lambda value: AMOUNT.fits(value) and value <= 1)


@dataclass(frozen=True)
class Spread:
    """A log-normal distribution, cut at its top.

    Examples
    --------
    >>> Spread(median=20, sigma=0).draw(random.Random(0))
    20.0
    """

    median: float
    # Standard deviation of the logarithm; from a measured ninth decile, ln(p90 / median) / 1.2816.
    sigma: float
    most: float = math.inf

    def draw(self, rng: random.Random) -> float:
        return min(self.median * rng.lognormvariate(0, self.sigma), self.most)


@dataclass(frozen=True)
class Breaks:
    """Long pauses of the user (meals, nights), which no short-lived cache survives."""

    share: float = 0.0  # share of all pauses of the user
    # Seconds: Pareto-distributed from the shortest break, with exponent 1, and cut.
    shortest: float = 1_800.0
    longest: float = 57_600.0
    # Seconds after midnight (UTC) in which the user says nothing; at most half a day.
    night: float = 0.0

    def draw(self, rng: random.Random) -> float:
        """Draw the length of a break, in seconds."""
        return min(self.shortest * rng.paretovariate(1), self.longest)

    def waking(self, clock: float) -> float:
        """Move a time (seconds since 1970) out of the hours of sleep."""
        return clock + self.night if clock % _DAY < self.night else clock


@dataclass(frozen=True)
class Profile:
    """Lengths and times in one kind of session."""

    name: str  # the kind of session
    # Sources of its figures: what was measured, how much of it, when, and what is a guess.
    source: str
    # Tokens (o200k) of texts: the agent's ``text`` and ``thinking`` with a call, its ``answer`` at
    # the end of a turn, ``user``, and by tool the results (or the text that a tool writes);
    # ``result`` for all other tools.
    sizes: Mapping[str, Spread]
    # Seconds until the ``assistant`` answers, a ``tool`` returns, the ``user`` speaks again.
    waits: Mapping[str, Spread]
    # Calls per turn. A scenario sets the numbers of turns and tokens; from this it only takes the
    # variation of turns.
    calls: Spread
    # Shares from 0 to 1: of calls with ``text``, with ``thinking``, with a second parallel call
    # (``pair``), and of results that are an ``error``.
    shares: Mapping[str, float]
    tools: Mapping[str, float]  # shares of calls by tool
    breaks: Breaks  # the longest pauses of the user
    system: Mapping[str, int]  # tokens of the parts of the system prompt, whose texts are not known

    def size(self, what: str) -> Spread:
        """Return the distribution of a size in tokens; by default that of a tool's result."""
        spread = self.sizes.get(what) or self.sizes.get(ANY_RESULT)
        if spread is None:
            raise UsageError(f"profile {self.name!r}: {unknown('size', what, self.sizes)}")
        return spread

    def toml(self) -> str:
        """Write the profile as TOML; reading it gives an equal profile."""
        lines = [f"name = {_text(self.name)}", f"source = {_text(self.source)}"]
        lines += ["", f"calls = {_spread(self.calls)}"]
        figures = (f"{key} = {value!r}" for key, value in asdict(self.breaks).items())
        lines.append(f"breaks = {{ {', '.join(figures)} }}")
        for table in ("sizes", "waits", "shares", "tools", "system"):
            rows: Mapping[str, Spread | float] = getattr(self, table)
            lines += ["", f"[{table}]"]
            for key, value in rows.items():
                written = _spread(value) if isinstance(value, Spread) else repr(value)
                lines.append(f"{_text(key)} = {written}")
        return "\n".join(lines) + "\n"


def find_profile(name: str) -> Profile:
    """Load a profile by its name or its file.

    Examples
    --------
    >>> find_profile("coding").waits["user"].median
    68.0
    """
    file = file_of(name)
    if name.endswith(".toml"):
        return profile_of(Section(read_toml(file, "profile"), name))
    if name not in BUILT_IN:
        raise UsageError(unknown("profile", name, BUILT_IN))
    return profile_of(Section(parse_toml(file.read_text("utf-8")), file.name))


def file_of(name: str) -> Path:
    """Return the path of a profile's file, which may not exist."""
    return Path(name) if name.endswith(".toml") else _PROFILES / f"{name}.toml"


def profile_of(whole: Section) -> Profile:
    """Build a profile from the contents of its file."""
    whole.only([field.name for field in fields(Profile)])
    breaks = whole.section("breaks").only([field.name for field in fields(Breaks)])
    plain = Breaks()
    sizes = {key: _spread_of(row) for key, row in whole.section("sizes").sections()}
    waits = whole.section("waits").only(SPEAKERS)
    shares = whole.section("shares").only(SHARES)
    tools, system = whole.section("tools"), whole.section("system")
    return Profile(
        name=whole.take("name", TEXT),
        source=whole.take("source", TEXT),
        sizes=sizes,
        waits={speaker: _spread_of(waits.section(speaker)) for speaker in SPEAKERS},
        calls=_spread_of(whole.section("calls")),
        shares={share: float(shares.take(share, _SHARE, 0.0)) for share in SHARES},
        tools={key: float(tools.take(key, AMOUNT)) for key in tools.values},
        breaks=Breaks(
            share=float(breaks.take("share", _SHARE, plain.share)),
            shortest=float(breaks.take("shortest", FACTOR, plain.shortest)),
            longest=float(breaks.take("longest", FACTOR, plain.longest)),
            night=float(breaks.take("night", _NIGHT, plain.night)),
        ),
        system={key: system.take(key, SIZE) for key in system.values},
    )


def _spread_of(row: Section) -> Spread:
    row.only([field.name for field in fields(Spread)])
    most = float(row.take("most", FACTOR, math.inf))
    return Spread(float(row.take("median", FACTOR)), float(row.take("sigma", AMOUNT)), most)


def _spread(spread: Spread) -> str:
    most = "" if math.isinf(spread.most) else f", most = {spread.most!r}"
    return f"{{ median = {spread.median!r}, sigma = {spread.sigma!r}{most} }}"


_UNSEEN = frozenset({"Cc", "Cf", "Co", "Zl", "Zp"})


def _text(text: str) -> str:
    """Write a text as TOML: as JSON, with one more control character escaped."""
    return "".join(map(_escaped, json.dumps(text, ensure_ascii=False)))


def _escaped(sign: str) -> str:
    """Escape a character in a TOML string if it is not visible."""
    kind = unicodedata.category(sign)
    if kind == "Cs":  # half of a surrogate pair, which TOML cannot express
        return "\\ufffd"
    return f"\\U{ord(sign):08x}" if kind in _UNSEEN else sign
