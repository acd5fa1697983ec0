"""A dry run: what would run, with estimates of calls, time and size."""

from __future__ import annotations

import math
import time
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, count
from typing import TYPE_CHECKING, Any

from compactlab.cli.output import say
from compactlab.cli.progress import lasting
from compactlab.reports.render.text import counted, listed
from compactlab.sim.core.isolation import TOO_LONG
from compactlab.sim.core.tokens import encoding
from compactlab.sim.experiment.shard import DEFAULT_MODEL, OutOfTime, Shard, deadline, forget
from compactlab.sim.store.run import Run, shard_files

if TYPE_CHECKING:
    from compactlab.sim.experiment.conditions import Condition
    from compactlab.sim.experiment.shard import Task
    from compactlab.sim.experiment.sweep import Experiment
    from compactlab.sim.store.store import Store
    from compactlab.strategies.summarizers.llm import Expected

_LISTED = 50
_GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True)
class Budget:
    """The limits of the trial. They affect the printed estimates, but no result."""

    seconds: float = 0.5  # no further cell is tried after this time and ``least`` cells
    least: int = 1
    share: float = 0.1  # share of all work, which no further cell may exceed
    cells: int = 40  # at most
    runs: int = 40  # maximum per cell, whose source may hold any number of conversations
    patience: float = 10.0  # maximum seconds for one run, and for reading its conversation
    whole: float = 30.0  # seconds after which a cell is stopped and no other is started
    clock: Callable[[], float] = time.perf_counter


BUDGET = Budget()
_LONGER = 10  # factor on the time if language models would be called, because their cost matters


@dataclass
class _Tried:
    """The measurements of the tried cells."""

    cells: int = 0
    work: int = 0
    seconds: float = 0.0
    reading: float = 0.0  # of these, seconds for reading or generating conversations
    broken_off: int = 0
    runs: list[Run] = field(default_factory=list)


def rehearse(planned: Experiment, store: Store, jobs: int, timeout: float | None = None) -> None:
    """Print the plan of an experiment, with a trial of a few runs; nothing is written."""
    _what(planned, str(store.folder))
    todo = planned.missing(store)
    cells = sum(len(shard.cells) for shard in todo)
    every = len(planned.sources) * len(planned.conditions)
    for line in standing(every - cells, every, planned.others(store)):
        say(line)
    if not todo:
        say("nothing would run")
        return
    todo, stand_ins = _offline(todo)
    forget()  # answers that summarisers cached before, which would not be counted
    encoding("o200k_base")  # not counted as the first run's time
    budget = replace(BUDGET, seconds=_LONGER * BUDGET.seconds) if stand_ins else BUDGET
    whole, opened = _work(todo), [_with(shard, controls=(), loop=None) for shard in todo]
    # Closed loops send more requests to models, so these are replayed, but in total no longer than
    # open ones. Otherwise they do not count: if nothing is missed, they add nothing.
    certain = _work(_with(shard, loop=None) for shard in todo)
    limit = _work(opened) if stand_ins else budget.share * certain
    lighter = [_with(shard, controls=()) for shard in todo] if stand_ins else opened
    tried = _try(lighter, timeout, budget, limit)
    if text := _troubles(tried, planned):
        say(f"\n{text}\n", styled=True)
    say(_estimate(tried, lighter, jobs, planned.setting.tables, whole / _work(lighter)))
    for each in stand_ins:
        say(_asking(each, tried, _work(lighter) / tried.work))


def _work(shards: Iterable[Shard]) -> int:
    return sum(shard.work for shard in shards)


def _with(shard: Shard, **changes: Any) -> Shard:
    """The same runs with other settings, such as without null summarisers."""

    def changed(condition: Condition) -> Condition:
        return replace(condition, setting=replace(condition.setting, **changes))

    tasks = (replace(t, conditions=tuple(map(changed, t.conditions))) for t in shard.tasks)
    return replace(shard, tasks=tuple(tasks))


def _offline(todo: Sequence[Shard]) -> tuple[list[Shard], list[Expected]]:
    """The same work offline: for models, a stand-in writes summaries and counts the requests.

    Counts from separate processes, which run plug-in strategies, are lost.
    """
    from compactlab.strategies.summarizers.catalogue import find_summarizer
    from compactlab.strategies.summarizers.llm import Expected, Llm

    swapped: dict[str, Expected] = {}

    def offline(condition: Condition) -> Condition:
        writer = condition.summarizer
        if not isinstance(writer, Llm):
            return condition
        instead = swapped.setdefault(writer.spec, Expected(writer, find_summarizer()))
        return replace(condition, summarizer=instead)

    def within(task: Task) -> Task:
        return replace(task, conditions=tuple(map(offline, task.conditions)))

    shards = [replace(shard, tasks=tuple(map(within, shard.tasks))) for shard in todo]
    return shards, list(swapped.values())


def _asking(writer: Expected, tried: _Tried, share: float) -> str:
    """The number of requests to a model, and their price."""
    asked = counted(round(len(writer.noted) * share), "request")
    if not writer.noted:
        cells = counted(tried.cells, "cell")
        return f"{writer.label} would ask for nothing that is not recorded, in the {cells} tried"
    prices = [price for price in writer.noted.values() if price is not None]
    told = "at a price that is not known"
    if prices:
        likely, most = (sum(each) * share for each in zip(*prices, strict=True))
        told = f"for about {likely:.2f} USD, and {most:.2f} USD if every answer has full length"
    return (
        f"{writer.label} would ask {asked} that nobody has recorded, {told}: computed with "
        f"summaries by {writer.stand_in.label}"
    )


def _troubles(tried: _Tried, planned: Experiment) -> str:
    """The failures of the trial, with their errors; "" without any."""
    from compactlab.reports.page.table import troubles
    from compactlab.sim.store.results import Results

    names = {strategy.spec: strategy.label for strategy in planned.strategies}
    every = Results(tried.runs, {"strategies": names})
    # Stopped runs might have succeeded.
    failed = [run for run in every.failed if not run.error.startswith(TOO_LONG)]
    if not failed:
        return ""
    return f"tried: {counted(len(every.runs), 'run')}\n{troubles(replace(every, runs=failed))}"


def _estimate(
    tried: _Tried, todo: Sequence[Shard], jobs: int, tables: Sequence[str], longer: float = 1.0
) -> str:
    """An estimate for all the work, in proportion to the trial.

    ``longer`` is the ratio of the work of whole runs to that of the tried replays.
    """
    cells = sum(len(shard.cells) for shard in todo)
    share = _work(todo) / tried.work
    calls = round(sum(len(run.calls) for run in tried.runs) * share)
    runs = round(len(tried.runs) * cells / tried.cells)
    size = sum(map(len, shard_files(tried.runs, tables).values())) * share
    workers = min(jobs, len(todo))
    # One worker runs the longest shard.
    every, longest = (_seconds(tried, shards, longer) for shards in (todo, todo[:1]))
    seconds = max(every / workers, longest)
    at_least = "at least " if tried.broken_off else ""
    estimate = (
        f"about {counted(calls, 'call')} in {counted(runs, 'run')}, {at_least}{lasting(seconds)} "
        f"on {counted(workers, 'worker')}, {_size(size)}: computed from "
        f"the {counted(tried.cells, 'cell')} tried"
    )
    return f"{estimate}, {tried.broken_off} of them broken off" if tried.broken_off else estimate


def _seconds(tried: _Tried, shards: Sequence[Shard], longer: float) -> float:
    """The seconds of one worker for shards; it reads a source once for all its conditions."""
    sources = {task.source.key: task.weight for shard in shards for task in shard.tasks}
    replaying = (tried.seconds - tried.reading) * _work(shards) * longer
    return (replaying + tried.reading * sum(sources.values())) / tried.work


def standing(held: int, every: int, others: int) -> Iterator[str]:
    r"""The completeness of a store for an experiment, and its other contents.

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


def _try(
    todo: Sequence[Shard], timeout: float | None, budget: Budget, limit: float = math.inf
) -> _Tried:
    """Run some of the cells, evenly spread over all the work, and measure them.

    ``least`` are run, and further ones only while all have no more work than the limit.
    """
    cells = [shard for each in todo for shard in each.apart()]
    reached = list(accumulate(shard.work for shard in cells))
    budget = replace(budget, patience=min(timeout or budget.patience, budget.patience))
    tried = _Tried()
    done: set[int] = set()
    for place in _spread(min(budget.cells, len(cells))):
        number = bisect(reached, place * reached[-1])
        while number in done:  # long cells are drawn several times: take a neighbour
            number = (number + 1) % len(cells)
        if tried.cells >= budget.least and tried.work + cells[number].work > limit:
            break
        done.add(number)
        tried.cells += 1
        tried.work += cells[number].work
        tried.broken_off += not _is_done(cells[number], tried, budget)
        enough = budget.seconds if tried.cells >= budget.least else budget.whole
        if tried.seconds > enough:
            break
    return tried


def _is_done(cell: Shard, tried: _Tried, budget: Budget) -> bool:
    """Run a cell within the budget, run by run; return whether it is complete."""
    whole = True
    for task in cell.tasks:
        disclosure = task.disclosure
        rows = task.prepared(disclosure, budget.patience)
        for number in count():
            began = budget.clock()
            try:
                # Reading or generating a conversation takes time, too.
                with deadline(budget.patience):
                    row = next(rows, None)
            except OutOfTime:
                forget()
                spent = budget.clock() - began
                tried.seconds, tried.reading = tried.seconds + spent, tried.reading + spent
                return False
            if row is None:
                break
            if number >= budget.runs or tried.seconds > budget.whole:
                return False
            tried.reading += budget.clock() - began
            run, work = row
            if work is not None:
                run = work(timeout=budget.patience)
                whole = whole and not run.error.startswith(TOO_LONG)
                run = disclosure.of(run) if disclosure is not None else run
            tried.seconds += budget.clock() - began
            tried.runs.append(run)
    return whole


def _spread(count: int) -> Iterator[float]:
    """A low-discrepancy sequence between 0 and 1: every prefix of it is spread evenly.

    Examples
    --------
    >>> [round(place, 2) for place in _spread(4)]
    [0.62, 0.24, 0.85, 0.47]
    """
    # Multiples of the golden ratio are spread as evenly as possible.
    return ((n * _GOLDEN) % 1 for n in range(1, count + 1))


def _what(planned: Experiment, folder: str) -> None:
    setting = planned.setting
    models = ", ".join(planned.models) or f"recorded; {DEFAULT_MODEL} for synthetic conversations"
    say(f"would run into {folder}, under {models}:")
    for title, names in (
        ("conversation", [source.name for source in planned.sources]),
        ("strategy", [strategy.label for strategy in planned.strategies]),
        ("bound", [bound.label for bound in planned.bounds]),
    ):
        say(counted(len(names), title))
        for name in names[:_LISTED]:
            say(f"  {name}")
        if len(names) > _LISTED:
            say(f"  and {len(names) - _LISTED:,} more")
    writers = listed([writer.spec for writer in planned.summarizers]) or "nobody"
    loop = f"open and {setting.loop.spec}" if setting.loop else "open"
    sizes = [f"{each.window:,}" for each in planned.settings if each.window]
    narrowed = f"{listed(sizes)} tokens" if sizes else "the model's own"
    say(f"window {narrowed}; summaries by {writers}")
    say(f"loop {loop}; {counted(len(setting.metrics), 'metric')}")
    say(f"tables: runs, {', '.join(setting.tables)}")
    if planned.skipped:
        say(f"skipped: {counted(planned.skipped, 'file')} of unknown format")
    each = len(planned.sources) * len(planned.conditions)
    say(f"{counted(each, 'run')}, if every source has one conversation")


def _size(bytes: float) -> str:
    """A size in words.

    Examples
    --------
    >>> _size(999_000), _size(2_500_000), _size(3e9)
    ('1.0 MB', '2.5 MB', '3.0 GB')
    """
    return f"{bytes / 1e6:.1f} MB" if bytes < 1e9 else f"{bytes / 1e9:.1f} GB"
