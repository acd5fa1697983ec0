"""Lost facts: where they were stated and needed, and the command that shows how they were lost."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from compactlab.reports.analysis.comparison import RECALL
from compactlab.reports.render.text import clean, counted, lag_from, shorten
from compactlab.sim.metrics import FAMILIES
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
