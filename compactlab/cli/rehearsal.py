"""A dry run: what would run, how many calls, how long it would take and how large it would be."""

from __future__ import annotations

import time
from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING

from compactlab.cli.disclosing import say
from compactlab.cli.progress import lasting
from compactlab.reports.render.text import counted, listed
from compactlab.sim.core.isolation import TOO_LONG
from compactlab.sim.experiment.run import Run, parcel
from compactlab.sim.experiment.shard import DEFAULT_MODEL, Shard

if TYPE_CHECKING:
    from compactlab.sim.experiment.store import Store
    from compactlab.sim.experiment.sweep import Experiment

# Cells are tried until so many seconds have gone, three at least and so many at most; one that
# takes longer than the last figure is broken off.
_SECONDS, _LEAST, _MOST, _PATIENCE = 3.0, 3, 40, 10.0
_LISTED = 50
_GOLDEN = (5**0.5 - 1) / 2


@dataclass
class _Tried:
    """What some cells took."""

    cells: int = 0
    work: int = 0
    seconds: float = 0.0
    broken_off: int = 0
    runs: list[Run] = field(default_factory=list)


def rehearse(planned: Experiment, store: Store, jobs: int, timeout: float | None = None) -> None:
    """Print what an experiment would do; a few of its runs are tried, nothing is written."""
    _what(planned, str(store.folder))
    todo = planned.missing(store)
    cells = sum(len(shard.cells) for shard in todo)
    every = len(planned.sources) * len(planned.conditions)
    for line in standing(every - cells, every, planned.others(store)):
        say(line)
    if not todo:
        say("nothing would run")
        return
    tried = _try(todo, timeout)
    if text := _troubles(tried, planned):
        say(f"\n{text}\n", styled=True)
    say(_estimate(tried, todo, jobs, planned.setting.tables))


def _troubles(tried: _Tried, planned: Experiment) -> str:
    """What failed of what was tried, with its errors; "" if nothing did."""
    from compactlab.reports.page.table import troubles
    from compactlab.sim.experiment.results import Results

    names = {strategy.spec: strategy.label for strategy in planned.strategies}
    every = Results(tried.runs, {"strategies": names})
    # What was broken off may have come to its end.
    failed = [run for run in every.failed if not run.error.startswith(TOO_LONG)]
    if not failed:
        return ""
    return f"tried: {counted(len(every.runs), 'run')}\n{troubles(replace(every, runs=failed))}"


def _estimate(tried: _Tried, todo: Sequence[Shard], jobs: int, tables: Sequence[str]) -> str:
    """What all of it would be, if it is as what was tried."""
    cells = sum(len(shard.cells) for shard in todo)
    share = sum(shard.work for shard in todo) / tried.work
    calls = round(sum(len(run.calls) for run in tried.runs) * share)
    runs = round(len(tried.runs) * cells / tried.cells)
    size = sum(map(len, parcel(tried.runs, tables).values())) * share
    workers = min(jobs, len(todo))
    # The longest shard is done by one.
    seconds = tried.seconds * max(share / workers, todo[0].work / tried.work)
    at_least = "at least " if tried.broken_off else ""
    estimate = (
        f"about {counted(calls, 'call')} in {counted(runs, 'run')}, {at_least}{lasting(seconds)} "
        f"on {counted(workers, 'worker')}, {_size(size)}: computed from "
        f"the {counted(tried.cells, 'cell')} tried"
    )
    return f"{estimate}, {tried.broken_off} of them broken off" if tried.broken_off else estimate


def standing(held: int, every: int, others: int) -> Iterator[str]:
    r"""What a store holds of an experiment, and what else.

    Examples
    --------
    >>> print(*standing(3, 5, 1), sep="\n")
    3 of 5 cells are there already
    left out: 1 cell of other strategies, sources, settings or code
    """
    if held:
        yield f"{held:,} of {counted(every, 'cell')} are there already"
    if others:
        yield f"left out: {counted(others, 'cell')} of other strategies, sources, settings or code"


def _try(todo: Sequence[Shard], timeout: float | None) -> _Tried:
    """Do some of the cells, evenly spread over all the work, and see what they take."""
    cells = [shard for each in todo for shard in each.apart()]
    reached = list(accumulate(shard.work for shard in cells))
    tried = _Tried()
    patience = min(timeout or _PATIENCE, _PATIENCE)
    done: set[int] = set()
    for place in _spread(min(_MOST, len(cells))):
        number = bisect(reached, place * reached[-1])
        while number in done:  # a long one is met more than once: its neighbour, then
            number = (number + 1) % len(cells)
        done.add(number)
        shard = replace(cells[number], timeout=patience)
        began = time.perf_counter()
        runs = shard.runs()
        tried.seconds += time.perf_counter() - began
        tried.cells += 1
        tried.work += shard.work
        tried.broken_off += any(run.error.startswith(TOO_LONG) for run in runs)
        tried.runs += runs
        if tried.seconds > _SECONDS and tried.cells >= _LEAST:
            break
    return tried


def _spread(count: int) -> Iterator[float]:
    """So many places between 0 and 1, any beginning of which is spread evenly, too.

    Examples
    --------
    >>> [round(place, 2) for place in _spread(4)]
    [0.62, 0.24, 0.85, 0.47]
    """
    # Multiples of the golden section lie as evenly as any.
    return ((n * _GOLDEN) % 1 for n in range(1, count + 1))


def _what(planned: Experiment, folder: str) -> None:
    setting = planned.setting
    models = ", ".join(planned.models) or f"recorded; {DEFAULT_MODEL} for synthetic conversations"
    say(f"would run into {folder}, under {models}:")
    for title, names in (
        ("conversation", [source.name for source in planned.sources]),
        ("strategy", [strategy.label for strategy in planned.strategies]),
    ):
        say(counted(len(names), title))
        for name in names[:_LISTED]:
            say(f"  {name}")
        if len(names) > _LISTED:
            say(f"  and {len(names) - _LISTED:,} more")
    writers = listed([writer.spec for writer in planned.summarizers]) or "nobody"
    loop = f"open and {setting.loop.spec}" if setting.loop else "open"
    narrowed = f"{setting.window:,} tokens" if setting.window else "the model's own"
    say(f"window {narrowed}; summaries by {writers}")
    say(f"loop {loop}; {counted(len(setting.metrics), 'metric')}")
    say(f"tables: runs, {', '.join(setting.tables)}")
    if planned.skipped:
        say(f"skipped: {counted(planned.skipped, 'file')} of unknown format")
    each = len(planned.sources) * len(planned.conditions)
    say(f"{counted(each, 'run')}, if every source holds one conversation")


def _size(bytes: float) -> str:
    """A size in words.

    Examples
    --------
    >>> _size(999_000), _size(2_500_000), _size(3e9)
    ('1.0 MB', '2.5 MB', '3.0 GB')
    """
    return f"{bytes / 1e6:.1f} MB" if bytes < 1e9 else f"{bytes / 1e9:.1f} GB"
