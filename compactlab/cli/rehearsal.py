"""A dry run: what would run, how many calls, how long it would take and how large it would be."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from compactlab.cli.progress import lasting
from compactlab.reports.text import counted
from compactlab.sim.run import parcel
from compactlab.sim.shard import DEFAULT_MODEL, Task

if TYPE_CHECKING:
    from compactlab.sim.store import Store
    from compactlab.sim.sweep import Experiment

# Tasks are tried until so many seconds have gone, three at least and so many at most.
_SECONDS, _LEAST, _MOST = 2.0, 3, 40
_LISTED = 50


@dataclass
class _Tried:
    """What some tasks took."""

    tasks: int = 0
    seconds: float = 0.0
    calls: int = 0
    runs: int = 0
    bytes: int = 0


def rehearse(planned: Experiment, store: Store, jobs: int) -> None:
    """Tell what an experiment would do; a few of its runs are tried, and nothing is written.

    Parameters
    ----------
    planned
        The experiment.
    store
        Where it would go; what is there already is left out.
    jobs
        How many workers it would have.
    """
    _what(planned, str(store.folder))
    todo = [task for shard in planned.missing(store) for task in shard.tasks]
    cells = sum(len(task.conditions) for task in todo)
    every = len(planned.sources) * len(planned.conditions)
    for line in standing(every - cells, every, planned.others(store)):
        click.echo(line)
    if not todo:
        click.echo("nothing would run")
        return
    tried = _try(todo)
    share = cells / tried.tasks
    calls, runs = (
        counted(round(n * share), what) for n, what in ((tried.calls, "call"), (tried.runs, "run"))
    )
    workers = min(jobs, cells)
    click.echo(
        f"about {calls} in {runs}, {lasting(tried.seconds * share / workers)} on "
        f"{counted(workers, 'worker')}, {_size(tried.bytes * share)}: "
        f"reckoned from {counted(tried.tasks, 'cell')} that were tried"
    )


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


def _try(todo: Sequence[Task]) -> _Tried:
    """Do some of the cells, evenly spread over all, and see what they take."""
    cells = [(task, n) for task in todo for n in range(len(task.conditions))]
    step = max(1, len(cells) // _MOST)
    # Odd steps, so that the same strategy is not tried each time.
    picked = cells[:: step | 1][:_MOST]
    tried = _Tried()
    for task, n in picked:
        began = time.perf_counter()
        runs = list(Task(task.source, (task.conditions[n],)).runs())
        files = parcel(runs, task.conditions[n].setting.tables)
        tried.seconds += time.perf_counter() - began
        tried.tasks += 1
        tried.calls += sum(len(run.calls) for run in runs)
        tried.runs += len(runs)
        tried.bytes += sum(map(len, files.values()))
        if tried.seconds > _SECONDS and tried.tasks >= _LEAST:
            break
    return tried


def _what(planned: Experiment, folder: str) -> None:
    setting = planned.setting
    models = ", ".join(planned.models) or f"recorded; {DEFAULT_MODEL} for made-up conversations"
    click.echo(f"would run into {folder}, under {models}:")
    for title, names in (
        ("conversation", [source.name for source in planned.sources]),
        ("strategy", [strategy.label for strategy in planned.strategies]),
    ):
        click.echo(counted(len(names), title))
        for name in names[:_LISTED]:
            click.echo(f"  {name}")
        if len(names) > _LISTED:
            click.echo(f"  and {len(names) - _LISTED:,} more")
    writer = setting.summarizer.spec if setting.summarizer else "nobody"
    loop = f"open and {setting.loop.spec}" if setting.loop else "open"
    narrowed = f"{setting.window:,} tokens" if setting.window else "the model's own"
    click.echo(f"window {narrowed}; summaries by {writer}")
    click.echo(f"loop {loop}; {counted(len(setting.metrics), 'metric')}")
    click.echo(f"tables: runs, {', '.join(setting.tables)}")
    if planned.skipped:
        click.echo(f"passed over: {counted(planned.skipped, 'file')} of no known format")
    each = len(planned.sources) * len(planned.conditions)
    click.echo(f"{counted(each, 'run')}, if every source holds one conversation")


def _size(bytes: float) -> str:
    """A size in words.

    Examples
    --------
    >>> _size(999_000), _size(2_500_000), _size(3e9)
    ('1.0 MB', '2.5 MB', '3.0 GB')
    """
    return f"{bytes / 1e6:.1f} MB" if bytes < 1e9 else f"{bytes / 1e9:.1f} GB"
