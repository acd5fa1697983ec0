"""Hold the cache model against recorded sessions: how far off it is, and how far it may be.

Usage: python examples/bars.py [FOLDER]. The folder holds recordings of Claude Code, pi and Codex.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from compactlab.reports.audit.audit import Audited, audit, name_by_pattern, sessions_of
from compactlab.reports.audit.churning import halvings
from compactlab.reports.audit.tally import Pair, Rebuilds, Tally, causes
from compactlab.scenarios.readers.transcript import find, read

FOLDER = "../shared/recorded"
CLAUDE, PI, CODEX = "claude-code", "pi", "codex"
# Of fewer sessions a half is no sample: what is measured is told and not judged.
ENOUGH = 4


@dataclass(frozen=True)
class Bar:
    """What was measured, as a share, and what it must and should be: at most, or at least."""

    name: str
    must: float | None
    aim: float | None
    measured: float | None
    remark: str = ""
    least: bool = False

    def meets(self, limit: float | None) -> bool | None:
        if limit is None or self.measured is None:
            return None
        return self.measured >= limit if self.least else self.measured <= limit


def bars(audits: Sequence[Audited]) -> Iterator[Bar]:
    """All bars, in the order in which they were set."""
    claude = [each for each in audits if each.client == CLAUDE]
    billed = [each for each in audits if each.client in (CLAUDE, PI)]
    codex = [each for each in audits if each.client == CODEX]
    yield from _costs("Claude Code, recorded sizes: session input cost off by", claude)
    written = total(each.recorded.written for each in claude)
    name = "Claude Code: total cache writes off by, rules alone"
    yield Bar(name, 0.30, 0.20, absolute(written.error))
    for client, title in ((CLAUDE, "Claude Code"), (PI, "pi")):
        yield _churn(title, client, audits)
    yield from _rebuilds("Claude Code and pi", billed)
    yield from _named("Claude Code and pi", billed)
    yield from _named("Claude Code alone", claude)
    sizes = [each.rebuilt.prompt_error for each in billed]
    name = "Claude Code and pi, rebuilt sizes: prompt size off by, median of sessions"
    yield Bar(name, 0.04, 0.03, middle(sizes))
    costs = cost_errors(each.rebuilt for each in billed)
    name = "Claude Code and pi, rebuilt sizes: session input cost off by, median"
    yield Bar(name, 0.09, 0.07, middle(costs))
    yield from _codex(codex)


def _costs(name: str, audits: Sequence[Audited]) -> Iterator[Bar]:
    errors = cost_errors(each.recorded for each in audits)
    yield Bar(f"{name}, median", 0.05, 0.03, middle(errors))
    yield Bar(f"{name}, worst", 0.25, 0.15, errors[-1] if errors else None)


def _churn(title: str, client: str, audits: Sequence[Audited]) -> Bar:
    sessions = sessions_of(client, audits)
    name = f"{title}: total cache writes off by, with churn of other sessions, median of halvings"
    errors = halvings(client, sessions)
    if not errors:
        return Bar(name, 0.20, 0.10, None, f"{len(sessions)} sessions")
    spread = f"{len(errors)} halvings, from {errors[0]:+.1%} to {errors[-1]:+.1%}"
    off = median(map(abs, errors))
    if len(sessions) < ENOUGH:
        return Bar(name, None, None, off, f"{spread}; not judged: {len(sessions)} sessions")
    return Bar(name, 0.20, 0.10, off, spread)


def _rebuilds(title: str, audits: Sequence[Audited]) -> Iterator[Bar]:
    sums = sum((each.recorded.rebuilds for each in audits), Rebuilds())
    name = f"{title}: rebuilds that follow from the log"
    told = f"{sums.found} of {sums.follow}; {sums.recorded} in all"
    yield Bar(f"{name}: found", 0.90, 0.97, share(sums.found, sums.follow), told, least=True)
    expected = sums.found + sums.invented
    told = f"{sums.invented} of {expected} that were expected"
    yield Bar(f"{name}: invented", 0.05, 0.02, share(sums.invented, expected), told)


def _named(title: str, audits: Sequence[Audited]) -> Iterator[Bar]:
    found = causes(finding for each in audits for finding in each.findings)
    whole = sum(found.values())
    bare = sum(tokens for (_, ground), tokens in found.items() if ground == "none")
    guessed = sum(tokens for (_, ground), tokens in found.items() if ground == "pattern")
    told = f"unexplained {bare:,} of {whole:,}; by pattern alone {guessed:,}"
    name = f"{title}: write tokens with a named cause"
    yield Bar(name, 0.90, 0.97, share(whole - bare, whole), told, least=True)


def _codex(audits: Sequence[Audited]) -> Iterator[Bar]:
    findings = [finding for each in audits for finding in each.findings]
    errors = [abs(f.forecast.read / f.read - 1) for f in findings if f.read]
    told = f"{len(findings) - len(errors)} calls that read nothing left out" if findings else ""
    yield Bar("Codex: cached tokens off by, median of calls", 0.003, 0.002, middle(errors), told)
    pair = total(each.recorded.read for each in audits)
    yield Bar("Codex: cached tokens off by, in total", 0.08, 0.05, absolute(pair.error))


def cost_errors(tallies: Iterable[Tally]) -> list[float]:
    """By how much the input cost of each session is off; without those that have no price."""
    errors = (each.cost.error for each in tallies if each.cost is not None)
    return sorted(abs(error) for error in errors if error is not None)


def total(pairs: Iterable[Pair]) -> Pair:
    return sum(pairs, Pair(0.0, 0.0))


def middle(values: Sequence[float]) -> float | None:
    return median(values) if values else None


def absolute(error: float | None) -> float | None:
    return None if error is None else abs(error)


def share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def audits_of(folder: Path) -> list[Audited]:
    """The audits of all recordings below a folder."""
    files, _ = find([folder])
    audited = (audit(conversation) for file in files for conversation in read(file))
    return name_by_pattern([each for each in audited if each is not None])


def table(found: Sequence[Bar]) -> str:
    """Set the bars as a table in plain text."""
    heads = ("bar", "must", "aim", "measured", "met", "aim met", "")
    rows = [heads, *(_row(bar) for bar in found)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(heads))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join(lines)


def _row(bar: Bar) -> tuple[str, ...]:
    yes = {True: "yes", False: "NO", None: "-"}
    limits = (_percent(bar.must), _percent(bar.aim), _percent(bar.measured))
    return (bar.name, *limits, yes[bar.meets(bar.must)], yes[bar.meets(bar.aim)], bar.remark)


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.3g} %"


def main(arguments: Sequence[str]) -> int:
    folder = Path(arguments[0] if arguments else FOLDER)
    if not folder.is_dir():
        print(f"skipped: there is no folder {folder} with recordings; name one")
        return 0
    audits = audits_of(folder)
    if not audits:
        print(f"skipped: no session below {folder} has recorded usage")
        return 0
    found = list(bars(audits))
    print(table(found))
    return int(any(bar.meets(bar.must) is False for bar in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
