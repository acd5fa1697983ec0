"""``compactlab report``: show a store again."""

from __future__ import annotations

from pathlib import Path

import click

from compactlab.cli.disclosing import say, shown_results
from compactlab.cli.options import redact

_FORMATS = ("table", "md", "csv", "json", "html")


@click.command()
@click.argument("folder", type=click.Path(file_okay=False))
@click.option("--format", "form", type=click.Choice(_FORMATS), default="table", show_default=True)
@redact
def report(folder: str, form: str) -> None:
    """Show the results that are stored in FOLDER."""
    from compactlab.reports.catalogue import render
    from compactlab.sim.results import Results

    text = render(shown_results(Results.load(Path(folder))), form)
    if form in ("table", "md"):
        say(text)
        return
    # The page is the file that the run wrote, byte by byte, whatever a terminal can show.
    click.echo(text.encode() if form == "html" else text, nl=form == "json")
