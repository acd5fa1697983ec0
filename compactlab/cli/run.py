"""``compactlab run``: replay, measure, store, report."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from compactlab.cli.options import own_models
from compactlab.reports.text import counted
from compactlab.sim.errors import UsageError

if TYPE_CHECKING:
    from compactlab.sim.results import Results
    from compactlab.sim.sweep import Experiment


@click.command()
@click.argument("experiment", required=False, type=click.Path(dir_okay=False))
@click.option(
    "--conversations",
    multiple=True,
    metavar="PATH_OR_SCENARIO",
    help="A transcript, a directory of transcripts, a scenario, or suite for all scenarios. "
    "Repeatable. Default: a built-in coding session.",
)
@click.option(
    "--strategies",
    multiple=True,
    metavar="SPEC",
    help="A strategy, e.g. 'sliding_window(keep=20)', or several with + between them. "
    "Repeatable. Default: all built-in ones.",
)
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="NAME",
    help="A model, NAME@none for no cache, NAME@pessimistic for a worse one, NAME+batch at a "
    "multiple of its prices, or 'recorded' (the default for recordings). Repeatable.",
)
@own_models
@click.option(
    "--churn",
    type=click.Path(),
    metavar="FILE",
    help="How often the client changes its prompt unasked, as compactlab audit measured it.",
)
@click.option(
    "--window", type=click.IntRange(1), help="Narrow the context window to so many tokens."
)
@click.option(
    "--summarizer",
    metavar="SPEC",
    help="Who makes the summaries, see list summarizers.  [default: lexrank]",
)
@click.option(
    "--loop",
    metavar="SPEC",
    help="closed: beside the script as it is, what is forgotten is fetched, asked for or used "
    "wrongly, which is simulated; open: the script alone.  [default: closed]",
)
@click.option(
    "--metrics",
    multiple=True,
    metavar="NAME",
    help="A metric or a family of them, to compute nothing else, see list metrics. Repeatable.  "
    "[default: all]",
)
@click.option("--seeds", type=click.IntRange(1), help="Seeds of each conversation.  [default: 1]")
@click.option("--jobs", type=click.IntRange(1), help="Workers.  [default: one a core]")
@click.option(
    "--out",
    type=click.Path(file_okay=False),
    help="Folder of the results.  [default: compactlab-out]",
)
@click.option("--lenient", is_flag=True, default=None, help="Pass over lines that cannot be read.")
@click.option("--dry-run", is_flag=True, help="Say what would run, and stop.")
def run(experiment: str | None, dry_run: bool, **options: Any) -> None:
    """Replay strategies over conversations, and write a store and a report.

    EXPERIMENT is a TOML file with the same settings as the options; what is given as an option
    wins over it.
    """
    from compactlab.api import plan
    from compactlab.cli.experiment import Settings
    from compactlab.cli.progress import Progress

    given = {name: value for name, value in options.items() if value not in (None, ())}
    settings = Settings.load(Path(experiment) if experiment else None, given)
    planned = plan(
        settings.conversations,
        settings.strategies,
        settings.models,
        summarizer=settings.summarizer,
        window=settings.window,
        seeds=settings.seeds,
        lenient=settings.lenient,
        models_file=settings.models_file,
        churn=settings.churn,
        loop=settings.loop,
        metrics=settings.metrics,
    )
    if not planned.sources:
        raise UsageError("there is nothing to replay: no transcript was found")
    if dry_run:
        _describe(planned, settings.out)
        return
    folder = Path(settings.out)
    _check(folder)
    with Progress(planned) as progress:
        results = planned.run(settings.jobs, progress)
    _finish(results, folder)


def _check(folder: Path) -> None:
    """Fail before the work and not after it, if the folder cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".compactlab.tmp"
        probe.write_bytes(b"")
        probe.unlink()
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot write to {str(folder)!r}: {error}") from None


def _finish(results: Results, folder: Path) -> None:
    """Store and report; exit with 1 if something failed, with 2 if nothing could be read."""
    unreadable = [run for run in results.runs if run.status == "unreadable"]
    for bad in unreadable:
        click.echo(f"compactlab: {bad.error}", err=True)
    if unreadable and len(unreadable) == len(results.runs):
        if not any(folder.iterdir()):
            folder.rmdir()
        sys.exit(2)
    from compactlab.reports.catalogue import render
    from compactlab.reports.page import write

    results.save(folder)
    write(results, folder / "report.html")
    click.echo(render(results, "table"))
    click.echo(f"report: {folder / 'report.html'}")
    failed = results.failed
    if failed:
        click.echo(
            f"{len(failed)} of {len(results.runs)} runs failed; they are named above", err=True
        )
        sys.exit(1)


def _describe(planned: Experiment, folder: str) -> None:
    from compactlab.sim.sweep import DEFAULT_MODEL

    models = ", ".join(planned.models) or f"recorded; {DEFAULT_MODEL} for made-up conversations"
    click.echo(f"would run into {folder}, under {models}:")
    for title, names in (
        ("conversation", [source.name for source in planned.sources]),
        ("strategy", [strategy.label for strategy in planned.strategies]),
    ):
        click.echo(counted(len(names), title))
        for name in names:
            click.echo(f"  {name}")
    writer = planned.summarizer.spec if planned.summarizer else "nobody"
    loop = f"open and {planned.loop.spec}" if planned.loop else "open"
    narrowed = f"{planned.window:,} tokens" if planned.window else "the model's own"
    click.echo(f"window {narrowed}; summaries by {writer}")
    click.echo(f"loop {loop}; {counted(len(planned.metrics), 'metric')}")
    if planned.skipped:
        click.echo(f"passed over: {counted(planned.skipped, 'file')} of no known format")
    each = len(planned.sources) * len(planned.strategies) * max(1, len(planned.models))
    click.echo(f"{counted(each, 'run')}, if every source holds one conversation")
