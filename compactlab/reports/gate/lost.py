"""Facts that were lost: which, said where, needed when, and the command that shows how."""

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

# So many facts are told.
LISTED = 5
_LONGEST, _COMMAND = 100, 500
_MEMORY = {m.name for family in FAMILIES if family.name == "memory" for m in family.metrics}
_LAGS = {name: lag for lag, name in RECALL.items()}


class Miss(NamedTuple):
    """A fact that calls needed and their prompts no longer held."""

    conversation: str
    type: str
    fact: str  # what it states; its id where the store does not tell
    message: str  # number, from 1 on, and id of the one that states it; "" if not known
    call: int  # the first that needed it in vain, from 1 on
    times: int  # how many calls did
    lag: int | None = None  # of the first need, as the lower end of its step; None: not known

    def line(self, *, several: bool) -> str:
        """Itself in a line: where, if there are several conversations, what, said and needed."""
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
    """What was missed in some runs."""

    needs: int  # how often calls needed a fact
    missed: int  # how often in vain
    count: int  # how many facts were missed
    facts: tuple[Miss, ...]  # some of them, the most often missed first
    explain: str = ""  # the command that shows a run of the first one, call by call

    def lines(self, *, several: bool) -> Iterator[str]:
        """A headline, a line a fact, and how many more there are."""
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
    """Whether a metric becomes worse where facts are lost."""
    return metric in _MEMORY


def misses(
    results: Results,
    type: str = "",
    most: int = LISTED,
    *,
    runs: Iterable[Run] | None = None,
    metric: str = "",
) -> Misses:
    """What was missed in all runs or in some, of all types of facts or of one.

    Parameters
    ----------
    results
        What an experiment found.
    type
        A type of fact; "" for all.
    most
        How many facts are named.
    runs
        Some of its runs.
    metric
        What fell: facts that were missed at its lag are named before others.
    """
    needs = 0
    by_fact: dict[tuple[str, str, str], tuple[Miss, Run]] = {}
    for run in results.runs if runs is None else runs:
        for key, needed, miss in _needed(run, type):
            needs += needed
            if miss.times:
                # In each replay of a conversation it is the same fact.
                both, first = by_fact.get(key, (miss._replace(times=0), run))
                call, lag = min((both.call, both.lag), (miss.call, miss.lag), key=lambda c: c[0])
                times = both.times + miss.times
                by_fact[key] = both._replace(call=call, lag=lag, times=times), first
    least = _LAGS.get(metric, 0)
    # Of equal ones those of the first conversation, in its order: sorting keeps it.
    rows = sorted(by_fact.values(), key=lambda row: ((row[0].lag or 0) < least, -row[0].times))
    return Misses(
        needs,
        sum(miss.times for miss, _ in rows),
        len(rows),
        tuple(miss for miss, _ in rows[:most]),
        _explain(rows[0][1], results) if rows else "",
    )


def _needed(run: Run, type: str) -> Iterator[tuple[tuple[str, str, str], int, Miss]]:
    """Of each fact of a run what it is known by, how often it was needed, and its misses."""
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
    """The command that shows a run, or ""; where a recording lies the store does not know."""
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
    return command if len(command) <= _COMMAND else ""  # nobody could use a part of it
