"""The verdict of a gate: whether each rule holds for each strategy, and the outcome of all."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from compactlab.reports.analysis.comparison import RECALL
from compactlab.reports.gate.record import HEADLINE, NEED, Subject, brief
from compactlab.reports.gate.rules import Demand, Outcome, same
from compactlab.reports.render.text import clean, counted, lag_from, shorten
from compactlab.sim.metrics import FAMILIES, METRICS
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import Run

# Up to this many facts are listed.
LISTED = 5
_LONGEST, _COMMAND = 100, 500
_MEMORY = {m.name for family in FAMILIES if family.name == "memory" for m in family.metrics}
_LAGS = {name: lag for lag, name in RECALL.items()}


class Miss(NamedTuple):
    """A needed fact that prompts no longer held."""

    conversation: str
    type: str
    fact: str  # what it states, or its id if unknown
    message: str  # number (from 1) and id of the message that states it; "" if unknown
    call: int  # the first call that missed it, from 1 on
    times: int  # how many calls missed it
    lag: int | None = None  # distance at the first miss, its step's lower end

    def line(self, *, several: bool) -> str:
        """One line: the fact, where it was stated and needed; ``several`` adds the conversation."""
        where = f"{shorten(clean(self.conversation), _LONGEST)}: " if several else ""
        what = shorten(clean(f"{self.type} {self.fact}"), _LONGEST)
        stated = (
            f"said in message {shorten(clean(self.message), _LONGEST)}" if self.message else "said"
        )
        more = f", and {counted(self.times - 1, 'time')} more" if self.times > 1 else ""
        lag = f" (lag {lag_from(self.lag)})" if self.lag is not None else ""
        return f"{where}{what}, {stated}, needed at call {self.call:,}{lag} and gone{more}"


@dataclass(frozen=True)
class Misses:
    """The misses of some runs."""

    needs: int  # how often calls needed a fact
    missed: int  # how often it was missing
    count: int  # how many facts were missed
    facts: tuple[Miss, ...]  # the most often missed ones
    explain: str = ""  # the command that shows a run of the first fact, call by call

    def lines(self, *, several: bool) -> Iterator[str]:
        """A headline, one line per fact, and the number of further ones."""
        if not self.needs:
            return
        yield (
            f"forgotten: {counted(self.missed, 'need')} of {self.needs:,}, "
            f"of {counted(self.count, 'fact')}{':' if self.facts else ''}"
        )
        for miss in self.facts:
            yield f"  {miss.line(several=several)}"
        if self.count > len(self.facts):
            yield f"  and {counted(self.count - len(self.facts), 'fact')} more"


def is_memory(metric: str) -> bool:
    """Whether losing facts makes a metric worse."""
    return metric in _MEMORY


def misses(
    results: Results,
    type: str = "",
    most: int = LISTED,
    *,
    runs: Iterable[Run] | None = None,
    metric: str = "",
) -> Misses:
    """The misses of all or some runs, for all types of facts or one.

    Parameters
    ----------
    results
        The results of an experiment.
    type
        A type of fact; "" for all.
    most
        How many facts are listed.
    runs
        Some of its runs.
    metric
        The metric that fell: facts missed at its distance come first.
    """
    needs = 0
    by_fact: dict[tuple[str, str, str], tuple[Miss, Run]] = {}
    for run in results.runs if runs is None else runs:
        for key, needed, miss in _needed(run, type):
            needs += needed
            if miss.times:
                # All replays of a conversation share the fact.
                both, first = by_fact.get(key, (miss._replace(times=0), run))
                call, lag = min((both.call, both.lag), (miss.call, miss.lag), key=lambda c: c[0])
                times = both.times + miss.times
                by_fact[key] = both._replace(call=call, lag=lag, times=times), first
    least = _LAGS.get(metric, 0)
    # Sorting is stable: ties keep the order of conversations.
    rows = sorted(by_fact.values(), key=lambda row: ((row[0].lag or 0) < least, -row[0].times))
    return Misses(
        needs,
        sum(miss.times for miss, _ in rows),
        len(rows),
        tuple(miss for miss, _ in rows[:most]),
        _explain(rows[0][1], results) if rows else "",
    )


def _needed(run: Run, type: str) -> Iterator[tuple[tuple[str, str, str], int, Miss]]:
    """For each fact of a run: its key, the number of needs, and its misses."""
    facts = run.rows.get("facts")
    if facts is None or not len(facts):
        return
    names = ("fact", "type", "stated_in", "stated_at", "statement", "missed_lag")
    counts = ("needs", "needs_met", "first_missed")
    for fact, kind, stated, at, text, lag, needed, met, call in zip(
        *(facts[name] for name in (*names, *counts)), strict=True
    ):
        if type in ("", kind):
            message = f"{at:,} ({stated})" if at else stated
            known = int(lag) if lag else None
            miss = Miss(run.conversation, kind, text or fact, message, call, needed - met, known)
            yield (run.scenario, run.conversation, fact), needed, miss


def _explain(run: Run, results: Results) -> str:
    """The command that shows a run; "" for recordings, whose path the store does not have."""
    scenario = run.source.partition("(")[0].removesuffix(f"-{run.seed}") == run.scenario
    source = run.source.removesuffix(f"-{run.seed}")
    arguments = [source if scenario else "TRANSCRIPT", "--strategies", run.label or run.strategy]
    arguments += ["--model", run.model] if run.model not in ("", "recorded") else []
    arguments += ["--window", str(run.window)] if run.window else []
    writer = results.manifest.get("summarizers", {}).get(run.summarizer, {}).get("label", "")
    arguments += ["--summarizer", writer] if writer not in ("", "calibrated") else []
    arguments += ["--seed", str(run.seed)] if run.seed else []
    command = f"compactlab explain {' '.join(shlex.quote(clean(each)) for each in arguments)}"
    command += "" if scenario else f"  # TRANSCRIPT: that of {clean(run.source)}"
    return command if len(command) <= _COMMAND else ""  # a truncated command is useless


_ORDER = (
    Outcome.REGRESSED,
    Outcome.CHANGED,
    Outcome.UNJUDGED,
    Outcome.INCONCLUSIVE,
    Outcome.HOLDS,
)
# The order of changed metrics: memory and cost before those that follow from them.
_FIRST = (HEADLINE, "cost_usd", NEED, "rejected_calls", "structural_validity")

Follows = Literal["", "baseline", "strategy"]
Direction = Literal["worse", "", "better"]
_DIRECTIONS: tuple[Direction, ...] = ("worse", "", "better")


@dataclass(frozen=True)
class Move:
    """A conversation with its old and new figure."""

    conversation: str
    before: float | None  # mean over replays; None without a value
    after: float | None


@dataclass(frozen=True)
class Span:
    """The interval of a figure, from the differences of conversations."""

    low: float | None = None  # 95 % interval, in the metric's unit
    high: float | None = None
    method: str = ""
    conversations: int = 0
    detectable: float | None = None  # smallest detectable change, in the metric's unit
    missing: str = ""  # why there is no interval


@dataclass(frozen=True)
class Finding:
    """The result of one rule for one strategy, model, summariser and type of fact."""

    demand: Demand
    subject: Subject | None  # None: the rule covers no run
    outcome: Outcome
    reason: str = ""
    type: str = ""  # type of fact; "": all
    before: float | None = None  # as in reports
    after: float | None = None
    span: Span | None = None  # if it was judged by an interval
    moved: tuple[Move, ...] = ()  # the worst first
    follows: Follows = ""  # the cause that it follows from and that is shown once
    lost: Misses | None = None  # facts lost with it, listed once per strategy

    @property
    def holds(self) -> bool:
        return self.outcome is Outcome.HOLDS

    @property
    def direction(self) -> Direction:
        """Whether its figure has become worse or better; "" if unknown.

        Examples
        --------
        >>> from compactlab.reports.gate.rules import Rule
        >>> demand = Demand(Rule.parse("cost_usd", "exact"))
        >>> Finding(demand, None, Outcome.REGRESSED, before=2.0, after=1.0).direction
        'better'
        """
        if self.before is None or self.after is None or same(self.before, self.after):
            return ""
        better = METRICS[self.demand.rule.metric].better
        if better == "neither":
            return ""
        return "worse" if (self.after > self.before) == (better == "lower") else "better"

    @property
    def valueless(self) -> bool:
        """Whether it passes because there is no value that could fail."""
        return self.holds and self.before is None and self.after is None

    @property
    def name(self) -> str:
        """The rule in words: metric, type and limit, if it has one.

        Examples
        --------
        >>> from compactlab.reports.gate.rules import Rule
        >>> Finding(Demand(Rule.parse("calls", "+2%")), None, Outcome.HOLDS).name
        'calls +2%'
        """
        of = f" of {brief(self.type)}" if self.type else ""
        asked = f" {self.demand.rule.text}" if self.demand.ruled else ""
        return f"{brief(self.demand.rule.metric)}{of}{asked}"


@dataclass(frozen=True)
class Verdict:
    """The result of a gate."""

    findings: tuple[Finding, ...] = ()
    obstacles: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()  # metrics that baselines usually have, and this one lacks

    @property
    def code(self) -> int:
        """The exit code: 0 if all holds, 1 if anything regressed or changed, 2 if not judged."""
        outcomes = {finding.outcome for finding in self.findings}
        if outcomes & {Outcome.REGRESSED, Outcome.CHANGED}:
            return 1
        return 0 if outcomes == {Outcome.HOLDS} and not self.obstacles else 2

    @property
    def word(self) -> str:
        """The outcome in a word or two."""
        changed = self.code == 1 and not self.count(Outcome.REGRESSED)
        return "changed" if changed else ("holds", "regressed", "cannot judge")[self.code]

    @property
    def valueless(self) -> tuple[str, ...]:
        """The metrics without a value in any run, whose rules therefore check nothing."""
        known = {f.demand.rule.metric for f in self.findings if not f.valueless}
        empty = dict.fromkeys(f.demand.rule.metric for f in self.findings if f.valueless)
        return tuple(name for name in empty if name not in known)

    @cached_property
    def summarizers(self) -> int:
        """How many summarisers there are."""
        return len({f.subject.summarizer for f in self.findings if f.subject})

    def count(self, outcome: Outcome) -> int:
        """How many findings have an outcome."""
        return sum(finding.outcome is outcome for finding in self.findings)

    @property
    def failed(self) -> list[Finding]:
        """The findings that do not pass: regressions first, then what cannot be judged."""
        return in_order(finding for finding in self.findings if not finding.holds)

    @property
    def shown(self) -> list[Finding]:
        """The failed findings, without those that are only counted."""
        folded = {id(finding) for each in self.folded for finding in each}
        return [finding for finding in self.failed if id(finding) not in folded]

    @property
    def folded(self) -> list[list[Finding]]:
        """Findings that follow from a cause shown elsewhere, grouped by it."""
        groups: dict[tuple[str, Subject | None], list[Finding]] = {}
        for finding in self.findings:
            if finding.follows:
                whose = finding.subject if finding.follows == "strategy" else None
                groups.setdefault((finding.reason, whose), []).append(finding)
        return [group for group in groups.values() if len(group) > 1]


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Findings, the most urgent first; of changes, the worse first; else in their order."""
    return sorted(findings, key=_urgency)


def _urgency(finding: Finding) -> tuple[int, int, int]:
    metric = finding.demand.rule.metric
    rank = _FIRST.index(metric) if metric in _FIRST and not finding.type else len(_FIRST)
    if finding.outcome not in (Outcome.REGRESSED, Outcome.CHANGED):
        return _ORDER.index(finding.outcome), 0, 0
    return _ORDER.index(finding.outcome), _DIRECTIONS.index(finding.direction), rank
