"""A profile out of samples: medians, ninth deciles and shares."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, median

from compactlab.scenarios.fitting.samples import Samples
from compactlab.scenarios.plot.profile import SPEAKERS, Breaks, Profile, Spread

# A ninth decile of fewer samples is the largest of them.
LEAST = 10
# A pause of the user from here on may be a break, of which no cache that lives minutes is left.
BREAK_FROM = 1_800.0
# Tools of which a profile tells what they are given, and not what they return: see coding.toml.
GIVEN = ("edit", "write")
_SAID = ("user", "text", "answer", "thinking")  # sizes of what is no tool's
_NINTH = NormalDist().inv_cdf(0.9)
_ROUNDS = 50  # until the share of breaks and the waits agree; on recordings ten are enough
_INSTANT = 0.001  # seconds; the clocks of logs do not tell less apart


@dataclass(frozen=True)
class Fit:
    """A profile, and what it was measured on.

    Parameters
    ----------
    profile
        The profile.
    counts
        The number of samples, by table and key of the profile's file, e.g. ``sizes.user``.
    fill
        The name of the profile whose figures stand for those that have no count.
    """

    profile: Profile
    counts: Mapping[str, int]
    fill: str

    def toml(self) -> str:
        """The profile as a file, with the number of samples behind each figure."""
        lines, table = [], ""
        for line in self.profile.toml().splitlines():
            if line.startswith("["):
                table = line.strip("[]") + "."
            key, equals, _ = line.partition(" = ")
            note = self._note(table + key.strip('"')) if equals else ""
            lines.append(line + note)
        return "\n".join(lines) + "\n"

    def _note(self, key: str) -> str:
        if key in ("name", "source"):
            return ""
        count = self.counts.get(key)
        return f"  # n = {count:,}" if count else f"  # not measured: of {self.fill}"


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which that share of the samples lies, the nearest from above.

    Parameters
    ----------
    ordered
        The samples in order, at least one.
    share
        From 0 to 1.

    Examples
    --------
    >>> quantile([1, 2, 3, 4], 0.5), quantile([1, 2, 3, 4], 0.9)
    (2, 4)
    """
    place = math.ceil(share * len(ordered)) - 1
    return ordered[min(max(place, 0), len(ordered) - 1)]


def spread(samples: Sequence[float], least: float = 1.0, *, cut: bool = True) -> Spread:
    """The log-normal distribution with the samples' median and ninth decile.

    Parameters
    ----------
    samples
        At least one.
    least
        What is smaller counts as this: a logarithm is taken.
    cut
        Whether no draw shall be above the largest sample.

    Examples
    --------
    >>> spread([10] * 8 + [100, 400])
    Spread(median=10.0, sigma=1.797, most=400.0)
    """
    ordered = sorted(max(each, least) for each in samples)
    most = ordered[-1] if cut else math.inf
    return _lognormal(quantile(ordered, 0.5), quantile(ordered, 0.9), most)


def pauses(samples: Sequence[float]) -> tuple[Spread, Breaks]:
    """Part the pauses of the user into waits and breaks.

    Waits are log-normal and breaks begin at :data:`BREAK_FROM`, but some waits are as long. So the
    share of breaks is what lies there beyond what the waits explain, and the waits are what is
    left without the breaks; each is found with the other, in turns.

    Parameters
    ----------
    samples
        Seconds, at least one.

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
    """Make a profile of samples.

    Parameters
    ----------
    samples
        What was measured.
    name, source
        Those of the profile.
    fill
        Its figures stand where there are fewer than `LEAST` samples.
    """
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
    """The samples behind each size that can be told."""
    found = {
        **samples.sizes,
        "result": [size for rows in samples.results.values() for size in rows],
        **samples.results,
        **{tool: samples.arguments.get(tool, []) for tool in GIVEN},
    }
    return {key: rows for key, rows in found.items() if len(rows) >= LEAST}


def _filling(fill: Profile, sizes: Mapping[str, Spread]) -> dict[str, Spread]:
    """The sizes that another profile has to tell: of what is said, and of results if none is."""
    tools = "result" not in sizes
    return {key: size for key, size in fill.sizes.items() if tools or key in _SAID}


def _counts(samples: Samples) -> dict[str, int]:
    found = {
        "calls": len(samples.calls),
        "breaks": len(samples.waits.get("user", ())),
        **{f"sizes.{key}": len(rows) for key, rows in _sizes(samples).items()},
        **{f"waits.{key}": len(rows) for key, rows in samples.waits.items()},
        **{f"shares.{key}": share.of for key, share in samples.shares.items()},
        **{f"tools.{tool}": count for tool, count in samples.tools.items()},
    }
    counts = {key: count for key, count in found.items() if count >= LEAST}
    return counts | {"system.tools and system prompt": len(samples.system)}


def _lognormal(middle: float, ninth: float, most: float) -> Spread:
    sigma = math.log(ninth / middle) / _NINTH
    return Spread(float(f"{middle:.4g}"), round(sigma, 3), round(float(most), 3))


def _below(spread: Spread, value: float) -> float:
    """The share of draws below a value."""
    if not spread.sigma:
        return float(spread.median < value) or 1.0
    return NormalDist().cdf(math.log(value / spread.median) / spread.sigma) or 1.0
