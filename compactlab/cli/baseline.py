"""``compactlab baseline``: keep the figures that one has agreed on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from compactlab.cli.disclosing import say, shown_results
from compactlab.cli.options import redact
from compactlab.cli.writing import write_file
from compactlab.reports.text import counted, listed
from compactlab.sim.errors import UsageError

if TYPE_CHECKING:
    from compactlab.reports.gate.baseline import Baseline


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False))
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, allow_dash=True),
    default="baseline.json",
    show_default=True,
    metavar="FILE",
    help="Where to; - is standard output.",
)
@click.option(
    "--metrics",
    multiple=True,
    metavar="NAME",
    help="A metric, or a family of them, to keep instead of the usual ones; may be repeated. "
    "See compactlab list metrics.",
)
@click.option("--allow-failed", is_flag=True, help="Record runs that failed as failed.")
@redact
def baseline(folder: str, out: str, metrics: tuple[str, ...], allow_failed: bool) -> None:
    """Write the figures of the store in DIR as a baseline, for compactlab gate.

    It is JSON with a line a run, made to be kept in git and reviewed. A store that is not whole is
    refused.
    """
    from compactlab.reports.gate.baseline import GATED, Baseline, fit_to_keep, metrics_named
    from compactlab.reports.gate.file import written
    from compactlab.sim.metrics import METRICS
    from compactlab.sim.results import Results

    wanted = metrics_named(metrics) if metrics else GATED
    results = shown_results(Results.load(Path(folder)))
    fit_to_keep(results, [name for name in metrics if name in METRICS], allow_failed=allow_failed)
    kept = Baseline.of(results, wanted)
    lacking = [name for name in wanted if name not in kept.metrics]
    if not kept.metrics:
        raise UsageError("no baseline was written: the store has none of these metrics")
    text = written(kept)
    if out == "-":
        click.echo(text, nl=False)
    else:
        write_file(Path(out), text)
    told = f"{counted(kept.size, 'run')} of {_told(kept)}"
    if kept.failed:
        told += f"; {len(kept.failed):,} of them recorded as failed"
    if kept.unreadable:
        told += f"; {counted(len(kept.unreadable), 'source')} not readable"
    if lacking:
        told += f"; the store has no figures of {', '.join(lacking)}"
    say(f"{'a baseline' if out == '-' else f'wrote {out}'}: {told}", err=out == "-")


def _told(kept: Baseline) -> str:
    """What a baseline holds, in words."""
    subjects = kept.records
    several = {
        "strategy": len({subject.strategy for subject in subjects}),
        "model": len({subject.model for subject in subjects}),
        "summariser": len({subject.summarizer for subject in subjects}),
        "conversation": len(kept.digests),
        "metric": len(kept.metrics),
    }
    alone = ("model", "summariser")
    return listed(
        [
            counted(number, noun)
            for noun, number in several.items()
            if number > 1 or noun not in alone
        ]
    )
