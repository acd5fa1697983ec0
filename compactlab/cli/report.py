"""``compactlab report``: show the results of a store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from compactlab.cli.options import at_distance, format_option, redact, setting_option
from compactlab.cli.output import print_json, say, shown, shown_results
from compactlab.sim.core.errors import UsageError

if TYPE_CHECKING:
    from compactlab.sim.store.results import Results


@click.command()
@click.argument("folder", type=click.Path(file_okay=False))
@format_option("table", "md", "csv", "json", "html")
@click.option("--brief", is_flag=True, help="Show only the verdict (formats table and md).")
@click.option(
    "--baseline",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Show what has changed against this baseline, then the verdict (formats table and md).",
)
@click.option(
    "--conversation",
    metavar="ID",
    help="The conversation that the page shows first and in print.  [default: the largest]",
)
@click.option(
    "--charts",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Instead, write all charts into this folder, as SVG and PNG.",
)
@setting_option("distance")
@redact
def report(
    folder: str,
    form: str,
    *,
    brief: bool,
    baseline: str | None,
    conversation: str | None,
    charts: str | None,
    distance: int | None,
) -> None:
    """Show the results of the store in FOLDER."""
    from compactlab.sim.store.results import Results

    _check(form, conversation, brief=brief or baseline is not None, charts=charts)
    results = at_distance(shown_results(Results.load(Path(folder))), distance)
    if charts:
        _draw(results, Path(charts))
    elif form == "html":
        from compactlab.reports.page.page import page

        # The page is the file of the run, byte for byte, independent of the terminal.
        click.echo(page(results, conversation).encode(), nl=False)
    elif brief or baseline is not None:
        say(_brief(results, form, baseline), styled=True)
    else:
        _show(results, form)


def _check(form: str, conversation: str | None, *, brief: bool, charts: str | None) -> None:
    if brief and (form not in ("table", "md") or charts):
        raise UsageError("--brief and --baseline are for --format table and md")
    if conversation is not None and (form != "html" or charts):
        raise UsageError("--conversation is for --format html")


def _brief(results: Results, form: str, baseline: str | None) -> str:
    from compactlab.reports.gate.baseline import read
    from compactlab.reports.gate.changes import report as changed
    from compactlab.reports.page import brief
    from compactlab.reports.render.write import WRITERS

    write = brief.brief_markdown if form == "md" else brief.brief
    if baseline is None:
        return write(results)
    before = shown(read(Path(baseline)))
    return f"{WRITERS[form](changed(results, before))}\n\n{write(results)}"


def _draw(results: Results, folder: Path) -> None:
    from compactlab.reports.charts.gallery import save_charts

    for path in save_charts(results, folder):
        say(str(path))


def _show(results: Results, form: str) -> None:
    from compactlab.reports.page.catalogue import render

    text = render(results, form)
    if form in ("table", "md"):
        say(text, styled=True)
    elif form == "json":
        print_json(text)
    else:
        click.echo(text, nl=False)
