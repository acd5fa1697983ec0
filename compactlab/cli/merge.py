"""``compactlab merge``: merge stores."""

from __future__ import annotations

import click

from compactlab.cli.output import say
from compactlab.reports.render.text import counted


@click.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(file_okay=False))
@click.option(
    "-o",
    "--out",
    required=True,
    type=click.Path(file_okay=False),
    help="Folder of the joined store.",
)
def merge(folders: tuple[str, ...], out: str) -> None:
    """Join the stores in FOLDERS, each run once.

    The stores must have the same settings and the same version; sources and strategies may differ.
    What OUT already holds stays and comes first.
    """
    from compactlab.reports.page.page import write
    from compactlab.sim.store.merge import merge as join
    from compactlab.sim.store.results import Results
    from compactlab.sim.store.store import Store

    into = Store(out)
    stores = [Store(folder) for folder in folders]
    for store in stores:
        store.manifest()
    with into.locked():
        join(stores, into)
        results = Results.load(out)
        write(results, into.folder / "report.html")
    sizes = [counted(len(results.runs), "run"), counted(len(results.manifest["sources"]), "source")]
    say(f"{out}: {', '.join(sizes)}")
    if results.missing:
        say(
            f"{counted(results.missing, 'cell')} of the joined experiment are missing: not every "
            "strategy was run on every source",
            err=True,
        )
