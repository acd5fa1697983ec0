"""``compactlab report``: show the results of a store."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from compactlab.cli.options import at_distance, redact, setting_option
from compactlab.cli.output import print_json, say, shown, shown_results
from compactlab.reports.charts.catalogue import CHARTS, FORMS
from compactlab.reports.render.text import listed
from compactlab.sim.core.errors import UsageError

if TYPE_CHECKING:
    from compactlab.sim.store.results import Results

_REPORTS = ("table", "md", "csv", "json", "html", "latex")
_INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "px": 1 / 96}
_LEAST, _MOST = 1.5, 50.0


def _inches(context: click.Context, option: click.Parameter, value: str | None) -> float | None:
    """A length in inches, of the user's text."""
    if value is None:
        return None
    found = re.fullmatch(r"(\d{1,5}(?:\.\d{1,5})?) ?(in|cm|mm|px)", value)
    if not found:
        raise click.BadParameter(
            f"{value!r} is not a length: write a number with in, cm, mm or px", context, option
        )
    inches = float(found[1]) * _INCHES[found[2]]
    if not _LEAST <= inches <= _MOST:
        words = f"{value} is not between {_LEAST:g}in and {_MOST:g}in"
        raise click.BadParameter(words, context, option)
    return inches


@click.command()
@click.argument("folder", type=click.Path(file_okay=False))
@click.option(
    "--format",
    "form",
    type=click.Choice((*_REPORTS, *FORMS)),
    help="The last three are for --charts.  [default: table; svg and png with --charts]",
)
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
    help="Instead, write charts into this folder: all, as SVG and PNG.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="CHART",
    help=f"Draw only this chart: {listed([*CHARTS])}. Repeatable.",
)
@click.option(
    "--width",
    callback=_inches,
    metavar="LENGTH",
    help="The width of charts, such as 3.3in, 84mm, 8.4cm or 800px; their letters stay readable.",
)
@click.option("--no-title", is_flag=True, help="Leave out title and footer of charts.")
@setting_option("distance")
@redact
def report(
    folder: str,
    form: str | None,
    *,
    brief: bool,
    baseline: str | None,
    conversation: str | None,
    distance: int | None,
    **drawing: Any,
) -> None:
    """Show the results of the store in FOLDER."""
    from compactlab.sim.store.results import Results

    _check(form, conversation, brief=brief or baseline is not None, drawing=drawing)
    results = at_distance(shown_results(Results.load(Path(folder))), distance)
    if drawing["charts"]:
        _draw(results, form, conversation, **drawing)
    elif form == "html":
        from compactlab.reports.page.page import page

        # The page is the file of the run, byte for byte, independent of the terminal.
        click.echo(page(results, conversation).encode(), nl=False)
    elif brief or baseline is not None:
        say(_brief(results, form or "table", baseline), styled=True)
    else:
        _show(results, form or "table")


def _check(
    form: str | None, conversation: str | None, *, brief: bool, drawing: dict[str, Any]
) -> None:
    charts = bool(drawing["charts"])
    if not charts and (form in FORMS or any(drawing.values())):
        raise UsageError(
            f"--format {listed([*FORMS])}, --only, --width and --no-title are for --charts DIR"
        )
    if charts and form in _REPORTS:
        raise UsageError(f"--charts writes {listed([*FORMS])}, and no {form}")
    if brief and (form not in (None, "table", "md") or charts):
        raise UsageError("--brief and --baseline are for --format table and md")
    if conversation is not None and form != "html" and not charts:
        raise UsageError("--conversation is for --format html and --charts")


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


def _draw(
    results: Results,
    form: str | None,
    conversation: str | None,
    *,
    charts: str,
    only: Sequence[str],
    width: float | None,
    no_title: bool,
) -> None:
    from compactlab.reports.charts.chart import USUAL, Look
    from compactlab.reports.charts.gallery import save_charts
    from compactlab.reports.page.conversations import must_be_there

    must_be_there(results, conversation)
    look = Look((form,) if form else USUAL.forms, width, titled=not no_title)
    for path in save_charts(results, Path(charts), only=only, look=look, conversation=conversation):
        say(str(path))


def _show(results: Results, form: str) -> None:
    from compactlab.reports.page.page import render

    if form == "latex":
        from compactlab.reports.page.summary import as_latex

        say(as_latex(results).rstrip("\n"))
        return
    text = render(results, form)
    if form in ("table", "md"):
        say(text, styled=True)
    elif form == "json":
        print_json(text)
    else:
        click.echo(text, nl=False)
