"""``compactlab report``: show a store again."""

from __future__ import annotations

from pathlib import Path

import click

_FORMATS = ("table", "md", "csv", "json", "html")


@click.command()
@click.argument("folder", type=click.Path(file_okay=False))
@click.option("--format", "form", type=click.Choice(_FORMATS), default="table", show_default=True)
def report(folder: str, form: str) -> None:
    """Show the results that are stored in FOLDER."""
    from compactlab.reports.catalogue import render
    from compactlab.sim.results import Results

    click.echo(render(Results.load(Path(folder)), form), nl=form != "csv")
