"""Hold a run of the benchmarks against the stored one: wide on time, exact on counters.

Usage: python examples/bench_gate.py hold RUN [STORED], or store RUN [STORED]

RUN is what ``pytest --benchmark-json=RUN`` writes. ``store`` keeps of it what says nothing of who
ran it and where: for each benchmark its shortest time and its counters.

Times are processor time, see ``tests/benchmarks/cpu.py``. A benchmark is too slow if it takes over
3 times as long as the stored one, in units of the calibration that ran beside it. Ratios between
two machines differ from one kind of work to another, by up to 1.5 (memory, versions of Python), and
on a busy machine, whose caches others fill, a shortest time may be 1.5 times that of a quiet one:
2.25 together, and 3 leaves room. What a gate is to catch, a cost that grows with the square of a
session, is far above that. Counters say how much work was done; they depend on nothing but the
code, so any change is told. Ends with 0 if all hold, 1 if one does not, 2 if it cannot be judged:
no stored run, no calibration, a benchmark that is only in one of the two.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STORED = Path(__file__).parents[1] / "tests" / "benchmarks" / "stored.json"
CALIBRATION = "test_calibration.py::test_calibration"
SLOWER = 3.0
SHOWN = 10


class UnusableError(Exception):
    """A file that says nothing that could be judged."""


@dataclass(frozen=True)
class Measured:
    """A benchmark: its shortest time in milliseconds, and what it counted."""

    ms: float
    counters: Mapping[str, int]


@dataclass(frozen=True)
class Held:
    """A benchmark beside the stored one, whose time is that of this machine."""

    name: str
    before: float
    after: float
    changed: tuple[str, ...]

    @property
    def ratio(self) -> float:
        return self.after / self.before

    @property
    def faults(self) -> tuple[str, ...]:
        slow = f"over {SLOWER:g} times as long"
        return (*([slow] if self.ratio > SLOWER else []), *self.changed)


def of_run(path: Path) -> dict[str, Measured]:
    """The benchmarks of a run that state counters; of the others nothing is held."""
    found = {}
    try:
        for each in _read(path)["benchmarks"]:
            counters = each["extra_info"].get("counters")
            if counters is not None:
                name = each["fullname"].rpartition("benchmarks/")[2]
                found[name] = Measured(each["stats"]["min"] * 1e3, dict(counters))
    except (LookupError, TypeError, AttributeError) as error:
        raise UnusableError(f"{path.name} is no run of benchmarks: {error!r}") from None
    return _calibrated(found, path)


def of_store(path: Path) -> dict[str, Measured]:
    """The benchmarks that are stored."""
    try:
        found = {name: Measured(**each) for name, each in _read(path).items()}
    except TypeError as error:
        raise UnusableError(f"{path.name} is no stored run: {error}") from None
    return _calibrated(found, path)


def _read(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text("utf-8")))
    except OSError as error:
        raise UnusableError(
            f"{path.name} cannot be read ({error.strerror}): make bench-store"
        ) from None
    except (ValueError, TypeError) as error:
        raise UnusableError(f"{path.name} is no run of benchmarks: {error}") from None


def _calibrated(found: dict[str, Measured], path: Path) -> dict[str, Measured]:
    if CALIBRATION not in found or not all(each.ms > 0 for each in found.values()):
        raise UnusableError(
            f"{path.name} has no calibration, {CALIBRATION}, or times that are none"
        )
    return found


def stored(run: Mapping[str, Measured]) -> str:
    """What is kept of a run: a line a benchmark, in the order of their names."""
    lines = [
        f"{json.dumps(name)}: "
        + json.dumps({"ms": float(f"{each.ms:.4g}"), "counters": dict(each.counters)})
        for name, each in sorted(run.items())
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def held(before: Mapping[str, Measured], after: Mapping[str, Measured]) -> list[Held]:
    """All benchmarks of both, the slowest first; times of before as they would be here and now."""
    scale = after[CALIBRATION].ms / before[CALIBRATION].ms
    found = [
        Held(name, was.ms * scale, after[name].ms, tuple(_changed(was, after[name])))
        for name, was in before.items()
        if name in after
    ]
    return sorted(found, key=lambda each: (-each.ratio, each.name))


def _changed(before: Measured, after: Measured) -> list[str]:
    names = sorted({*before.counters, *after.counters})
    pairs = [(name, before.counters.get(name), after.counters.get(name)) for name in names]
    return [f"{name} {_said(was)} → {_said(now)}" for name, was, now in pairs if was != now]


def _said(number: int | None) -> str:
    return "none" if number is None else f"{number:,}"


def report(before: Mapping[str, Measured], after: Mapping[str, Measured]) -> int:
    """Tell what does not hold, and those that come next; 0, 1 or 2 as the module says."""
    every = held(before, after)
    wrong = [each for each in every if each.faults]
    others = [each for each in every if not each.faults][:SHOWN]
    width = max(len(each.name) for each in [*wrong, *others])
    print(f"{'benchmark':{width}}  stored ms     now ms   ratio")
    for each in [*wrong, *others]:
        told = "; ".join(each.faults)
        line = f"{each.name:{width}}  {each.before:9,.2f}  {each.after:9,.2f}  {each.ratio:6.2f}"
        print(f"{line}  FAILS: {told}" if told else line)
    print(f"{'':{width}}  stored times are scaled by the calibration")
    lone = {"not stored, make bench-store": after, "stored, and not run": before}
    apart = [
        (name, why)
        for why, one in lone.items()
        for name in sorted(one)
        if not (name in before and name in after)
    ]
    for name, why in apart:
        print(f"{name}: {why}")
    told = f"{len(every) - len(wrong)} of {len(every)} benchmarks hold"
    print(f"{told}, {len(apart)} cannot be judged" if apart else told)
    return 1 if wrong else 2 if apart else 0


def main(arguments: list[str]) -> int:
    if len(arguments) not in (2, 3) or arguments[0] not in ("hold", "store"):
        print((__doc__ or "").partition("\n\n")[2].partition("\n\n")[0], file=sys.stderr)
        return 2
    path = Path(arguments[2]) if len(arguments) > 2 else STORED
    try:
        run = of_run(Path(arguments[1]))
        if arguments[0] == "hold":
            return report(of_store(path), run)
    except UnusableError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    path.write_text(stored(run), encoding="utf-8")
    print(f"wrote {path.name}: {len(run)} benchmarks")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
