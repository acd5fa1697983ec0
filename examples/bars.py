"""Cross-validate the bill's forecast over recorded sessions, by client and repository.

Usage: python examples/bars.py [FOLDER...]. A folder holds recordings of Claude Code, pi and Codex,
a folder inside for each repository. What is fitted (churn, how much sessions differ, what rules
leave open) is fitted without the repository of a session; of a client with one repository, without
the session. Rules are code: nothing of them is fitted here, and docs/validation.md says on which
repositories each was made.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import NamedTuple

from compactlab.reports.audit.churning import BillForecast, churn_of, forecast_bill
from compactlab.reports.audit.diagnosis import REASONS, agreed, agreement
from compactlab.reports.audit.ledger import Audited, audit, name_by_pattern
from compactlab.reports.audit.tally import Pair, Rebuilds
from compactlab.scenarios.readers.transcript import find, read
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import ModelError
from compactlab.sim.core.stream import stream
from compactlab.sim.metrics.cost import recorded_input_usd
from compactlab.sim.metrics.run_data import RunData
from compactlab.sim.replay.replay import record
from compactlab.strategies.catalogue import find_strategy

FOLDERS = ("../shared/recorded", "../shared/recorded-more")
CLIENTS = {"claude-code": "Claude Code", "codex": "Codex", "pi": "pi"}
# A figure of fewer cases is told with its interval, and judged by nothing.
ENOUGH = 30
_DRAWS = 2_000


@dataclass(frozen=True)
class Held:
    """A session, and its bill as forecast without its repository, or without itself."""

    repository: str
    session: str
    audited: Audited
    bill: BillForecast | None
    replay: Pair | None  # USD of its prompts: replayed as recorded, and by its log

    @property
    def version(self) -> str:
        """The client's version, without its last number."""
        calls = (finding.forecast.exchange.call for finding in self.audited.findings)
        told = next((call.version for call in calls if call.version), "")
        return told.rpartition(" ")[2].rpartition(".")[0] or "?"


class Recorded(NamedTuple):
    """A recording: its repository, its name, its audit, and what its replay costs."""

    repository: str
    session: str
    audited: Audited
    replay: Pair | None


@dataclass(frozen=True)
class Bar:
    """A figure as a share, its interval over sessions, how many cases it has, and its limits."""

    name: str
    value: float | None
    interval: tuple[float, float] | None
    cases: int
    least: float | None = None
    most: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether it is within its limits; None where nothing is judged."""
        if self.value is None or self.cases < ENOUGH or self.least is self.most is None:
            return None
        low = -1e9 if self.least is None else self.least
        high = 1e9 if self.most is None else self.most
        return low <= self.value <= high


Figure = Callable[[Sequence[Held]], float | None]


def held_out(sessions: Sequence[Recorded]) -> Iterator[Held]:
    """Forecast the bill of each session of one client, with churn from the others."""
    alone = len({repository for repository, *_ in sessions}) == 1
    for repository, session, audited, replay in sessions:
        others = [
            other.findings
            for where, which, other, _ in sessions
            if (which != session if alone else where != repository)
        ]
        bill = forecast_bill(session, audited.findings, churn_of(audited.client, others))
        yield Held(repository, session, audited, bill, replay)


def bars(sessions: Sequence[Held]) -> Iterator[Bar]:
    """All figures of the sessions of one client."""
    billed = [each for each in sessions if each.bill]
    some = len(billed)
    yield _bar("session cost off by, rules alone: median", billed, _median(_rules), some, 0.035)
    yield _bar("session cost off by, with chance: median", billed, _median(_expected), some)
    yield _bar("session cost off by, rules alone: worst", billed, _worst(_rules), some, 0.18)
    yield _bar("session cost off by, with chance: worst", billed, _worst(_expected), some)
    name = "uncached tokens in all"
    yield _bar(f"{name}, rules alone", sessions, _uncached(chance=False), len(sessions))
    many = len(billed)
    yield _bar(f"{name}, with chance", billed, _uncached(chance=True), many, 0.15, -0.15)
    sums = _rebuilds(sessions)
    name = "losses that follow from the log"
    yield _bar(f"{name}: found", sessions, _found, sums.follow, None, 0.93)
    yield _bar(f"{name}: invented", sessions, _invented, sums.found + sums.invented, 0.04)
    _, said = agreed(_pairs(sessions))
    yield _bar("cause as the provider names it", sessions, _agreed, said, None, 0.80)
    yield _bar("lost tokens whose cause the log tells", sessions, _logged, len(sessions))
    yield _bar("interval of 90 % holds the bill", billed, _coverage, some, 0.95, 0.85)
    # A replay takes the sizes of prompts from the log itself, and knows nothing of what was lost.
    again = [each for each in sessions if each.replay]
    name = "as_recorded off the log's own bill of prompts"
    for how, figure in (("median", median), ("worst", max)):
        yield _bar(f"{name}: {how}", again, _replayed(figure), len(again))
    yield _bar(f"{name}: in all", again, _replayed_in_all, len(again))


def _bar(
    name: str, sessions: Sequence[Held], figure: Figure, cases: int, *limits: float | None
) -> Bar:
    """A figure, with what it must be at most, and at least."""
    most, least = (*limits, None, None)[:2]
    value = figure(sessions) if cases else None
    if value is None:
        return Bar(name, None, None, cases, least, most)
    rng, drawn = stream(0, name, "bars"), []
    for _ in range(_DRAWS):
        again = figure(rng.choices(sessions, k=len(sessions)))
        if again is not None:
            drawn.append(again)
    drawn.sort()
    interval = drawn[int(0.025 * len(drawn))], drawn[int(0.975 * len(drawn)) - 1]
    return Bar(name, value, interval, cases, least, most)


def _replayed(figure: Callable[[list[float]], float]) -> Figure:
    return lambda sessions: figure([abs(p.error or 0.0) for s in sessions if (p := s.replay)])


def _replayed_in_all(sessions: Sequence[Held]) -> float | None:
    return sum((each.replay for each in sessions if each.replay), Pair(0.0, 0.0)).error


def _rules(bill: BillForecast) -> float:
    return bill.rules


def _expected(bill: BillForecast) -> float:
    return bill.expected


def _errors(sessions: Iterable[Held], pick: Callable[[BillForecast], float]) -> list[float]:
    bills = (each.bill for each in sessions if each.bill)
    return [abs(pick(bill) / bill.recorded - 1) for bill in bills]


def _median(pick: Callable[[BillForecast], float]) -> Figure:
    return lambda sessions: median(_errors(sessions, pick))


def _worst(pick: Callable[[BillForecast], float]) -> Figure:
    return lambda sessions: max(_errors(sessions, pick))


def _uncached(*, chance: bool) -> Figure:
    def figure(sessions: Sequence[Held]) -> float | None:
        total = Pair(0.0, 0.0)
        for each in sessions:
            written = each.audited.recorded.written
            expected = each.bill.tokens if chance and each.bill else written.expected
            total += Pair(expected, written.recorded)
        return total.error

    return figure


def _rebuilds(sessions: Iterable[Held]) -> Rebuilds:
    return sum((each.audited.recorded.rebuilds for each in sessions), Rebuilds())


def _found(sessions: Sequence[Held]) -> float | None:
    sums = _rebuilds(sessions)
    return sums.found / sums.follow if sums.follow else None


def _invented(sessions: Sequence[Held]) -> float | None:
    sums = _rebuilds(sessions)
    expected = sums.found + sums.invented
    return sums.invented / expected if expected else None


def _pairs(sessions: Iterable[Held]) -> dict[tuple[str, str], int]:
    return agreement(finding for each in sessions for finding in each.audited.findings)


def _agreed(sessions: Sequence[Held]) -> float | None:
    right, of = agreed(_pairs(sessions))
    return right / of if of else None


def _logged(sessions: Sequence[Held]) -> float | None:
    lost = [finding for each in sessions for finding in each.audited.findings if finding.lost]
    whole = sum(finding.lost for finding in lost)
    return sum(finding.lost for finding in lost if finding.follows) / whole if whole else None


def _coverage(sessions: Sequence[Held]) -> float | None:
    return sum(each.bill.held for each in sessions if each.bill) / len(sessions)


def replay_of(conversation: Conversation) -> Pair | None:
    """What the prompts of a recording cost replayed, and by its log; None without prices."""
    try:
        data = RunData(record(conversation, find_strategy("as_recorded")), conversation)
        logged, bill = recorded_input_usd(data), data.bill
    except ModelError:
        return None
    return None if logged is None else Pair(bill.input + bill.read + bill.write, logged)


def audits_of(folders: Iterable[Path]) -> list[Recorded]:
    """The audits of all recordings below some folders, each with its repository and its name."""
    found = []
    for folder in folders:
        for file in find([folder])[0]:
            for conversation in read(file):
                audited = audit(conversation)
                if audited is not None:
                    replay = replay_of(conversation)
                    found.append(Recorded(file.parent.name, file.stem, audited, replay))
    named = name_by_pattern([each.audited for each in found])
    return [each._replace(audited=one) for each, one in zip(found, named, strict=True)]


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Set rows as a table in plain text."""
    lines = [tuple(heads), *map(tuple, rows)]
    widths = [max(len(line[index]) for line in lines) for index in range(len(heads))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _row(bar: Bar) -> tuple[str, ...]:
    met = {True: "yes", False: "NO", None: "-"}[bar.met]
    interval = "-" if bar.interval is None else "{} to {}".format(*map(_percent, bar.interval))
    limits = [
        f"{word} {_percent(limit)}"
        for word, limit in (("at least", bar.least), ("at most", bar.most))
        if limit is not None
    ]
    return bar.name, _percent(bar.value), interval, str(bar.cases), ", ".join(limits) or "-", met


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


def _by(sessions: Sequence[Held], key: Callable[[Held], str]) -> Iterator[tuple[str, ...]]:
    for name in sorted({key(each) for each in sessions}):
        own = [each for each in sessions if key(each) == name]
        billed = [each for each in own if each.bill]
        sums = _rebuilds(own)
        errors = _errors(billed, _rules)
        yield (
            name,
            str(len(own)),
            _percent(median(errors) if errors else None),
            _percent(max(errors, default=None)),
            _percent(_uncached(chance=False)(own)),
            _percent(_uncached(chance=True)(billed) if billed else None),
            f"{sums.found} of {sums.follow}",
            f"{sums.invented} of {sums.found + sums.invented}",
            f"{sum(each.bill.held for each in billed if each.bill)} of {len(billed)}",
        )


_PARTS = (
    *("sessions", "cost: median", "worst", "uncached: rules", "with chance"),
    *("found", "invented", "held"),
)


def told(title: str, sessions: Sequence[Held], found: Sequence[Bar]) -> Iterator[str]:
    """All of one client, in words and tables."""
    repositories = {each.repository for each in sessions}
    left = "repository" if len(repositories) > 1 else "session"
    yield f"{title}: {len(sessions)} sessions, leaving out one {left} at a time\n"
    heads = ("figure", "value", "95 % over sessions", "cases", "limit", "met")
    yield table(heads, map(_row, found)) + "\n"
    yield table(("repository", *_PARTS), _by(sessions, lambda each: each.repository)) + "\n"
    yield table(("version", *_PARTS), _by(sessions, lambda each: each.version)) + "\n"
    pairs = _pairs(sessions)
    if pairs:
        rows = [
            (said, guess, str(count), _verdict(said, guess))
            for (said, guess), count in pairs.items()
        ]
        yield table(("the provider says", "rules say", "calls", ""), rows) + "\n"


def _verdict(said: str, guess: str) -> str:
    if said not in REASONS:
        return "names no cause"
    return "agree" if guess in REASONS[said] else "differ"


def main(arguments: Sequence[str]) -> int:
    folders = [Path(each) for each in arguments or FOLDERS]
    there = [folder for folder in folders if folder.is_dir()]
    if not there:
        print(f"skipped: there is no folder {folders[0]} with recordings; name one")
        return 0
    audits = audits_of(there)
    if not audits:
        print(f"skipped: no session below {there[0]} has recorded usage")
        return 0
    failed = False
    for client, title in CLIENTS.items():
        sessions = [*held_out([each for each in audits if each[2].client == client])]
        if sessions:
            found = [*bars(sessions)]
            failed |= any(bar.met is False for bar in found)
            print("\n".join(told(title, sessions, found)))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
