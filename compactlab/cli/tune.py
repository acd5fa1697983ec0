"""``compactlab tune``: find the size at which to compact, from the user's own sessions."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from compactlab.cli import STOPPED
from compactlab.cli.options import (
    Count,
    client_option,
    format_option,
    named_or_usual,
    nothing_found,
    one_window,
    redact,
    setting_option,
    setting_options,
)
from compactlab.cli.output import complain, print_json, redactor, say, shown, write_file
from compactlab.sim.core.errors import UsageError

if TYPE_CHECKING:
    from compactlab.cli.progress import Progress
    from compactlab.reports.tune.report import TuningResult
    from compactlab.reports.tune.search import Search
    from compactlab.reports.tune.tuned import Target
    from compactlab.sim.experiment.shard import Shard
    from compactlab.sim.experiment.sweep import Experiment
    from compactlab.sim.replay.strategy import Strategy

PAGE, DATA = "tune.html", "tune.json"
_CLIENT = "claude_code"


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH...]")
@client_option
@click.option(
    "--strategies",
    "-s",
    multiple=True,
    metavar="SPEC",
    help="A built-in strategy to tune, e.g. codex. Repeatable, or several with commas.  "
    f"[default: {_CLIENT}]",
)
@click.option(
    "--over",
    multiple=True,
    metavar="FIELD[=VALUE,...]",
    help="A field of the strategy to tune; with values, only these are tried. Repeatable: in "
    "order, each at the best values of the previous ones.  [default: trigger]",
)
@click.option(
    "--recall",
    type=click.FloatRange(0, 1),
    default=0.8,
    show_default=True,
    metavar="SHARE",
    help="Minimum recall of a setting at the distance, if facts are labelled.",
)
@setting_option("distance")
@click.option(
    "--margin",
    type=click.FloatRange(0, 1),
    default=0.02,
    show_default=True,
    metavar="SHARE",
    help="Relative extra cost with which a setting still counts as near the cheapest.",
)
@click.option(
    "--points",
    type=Count(2),
    default=12,
    show_default=True,
    metavar="N",
    help="Maximum number of values per strategy and field.",
)
@click.option(
    "--sessions",
    type=Count(1),
    default=40,
    show_default=True,
    metavar="N",
    help="Maximum number of sessions per window: the longest are replayed.",
)
@click.option(
    "--race",
    is_flag=True,
    help="The strategies are alternatives: those that cost significantly more are not refined.",
)
@click.option(
    "--since",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DATE",
    help="Only sessions with a call from this day on (UTC).",
)
@click.option(
    "--project",
    default="",
    metavar="NAME",
    help="Only sessions of one project: its folder or its name.",
)
@click.option("--model", default="", metavar="NAME", help="Replay all calls with this model.")
@setting_option("models_file")
@one_window
@setting_option("summarizer", multiple=False, default="calibrated", absent="")
@setting_options("seeds", "jobs", "controls", "timeout")
@setting_option("out", default="compactlab-tune")
@redact
@format_option("table", "json")
@click.option("--dry-run", is_flag=True, help="Print the runs of the first round, and stop.")
@setting_option("strict")
def tune(paths: tuple[str, ...], **options: Any) -> None:
    """Find the size to compact at, and the setting to paste.

    PATH is a transcript, a folder of transcripts or a scenario; without PATH, the default folders
    of the installed clients. Sessions are replayed under several triggers, then under more of them
    around the cheapest, with a simulated agent that recovers missing facts. The report has the
    curve of cost, cost with recovery and missed needs; the cheapest setting with its interval; its
    cost on held-out sessions; and the lines to paste.

    \b
    compactlab tune
    compactlab tune ~/.codex/sessions -s codex
    compactlab tune logs -s claude_code,codex,pi
    compactlab tune logs --over trigger=80000,120000,160000
    compactlab tune logs --over trigger --over files=0,5,10
    compactlab tune 'coding_agent(tokens=300000)' --seeds 12 --recall 0.9 --window 100000
    """  # noqa: D301
    from compactlab.reports.tune.search import check
    from compactlab.reports.tune.tuned import Target
    from compactlab.reports.tune.tuner import tune_all
    from compactlab.request.names import planned_strategy

    search, strategies = _search(options), _strategies(options["strategies"])
    target = Target(options["recall"], options["distance"], options["margin"])
    named = [*map(planned_strategy, strategies)]
    check(named, search, target)
    planned = _planned(paths, options)
    if options["dry_run"]:
        _rehearse(planned, named, search, target, options)
        return
    from compactlab.cli.progress import Bar

    with _stoppable(options["out"]), Bar(len(planned.sources)) as bar:
        found = tune_all(
            planned,
            named,
            search,
            target,
            options["out"],
            narrowed=options["window"],
            workers=_workers(options["jobs"]),
            say=partial(say, err=True),
            watch=_watch,
            step=lambda number: bar.show(number, "sessions read"),
            timeout=options["timeout"],
        )
    _finish(found, Path(options["out"]), options["form"])


@contextmanager
def _stoppable(out: str) -> Iterator[None]:
    """Stop with a message on Ctrl-C."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"stopped; finished runs are in {out}: run the command again to continue", err=True)
        sys.exit(STOPPED)


def _search(options: dict[str, Any]) -> Search:
    from compactlab.reports.tune.search import Axis, Search

    axes = tuple(map(Axis.parsed, options["over"])) or Search().over
    since = options["since"]
    return Search(
        axes,
        min(Search().first, options["points"]),
        options["points"],
        options["race"],
        options["sessions"],
        since.replace(tzinfo=UTC).timestamp() if isinstance(since, datetime) else 0.0,
        options["project"],
    )


def _strategies(given: Sequence[str]) -> list[str]:
    """Specs; an option may hold several, with commas outside of parentheses."""
    specs: list[str] = []
    for text in given or (_CLIENT,):
        depth, piece = 0, ""
        for sign in f"{text},":
            depth += (sign == "(") - (sign == ")")
            if sign == "," and not depth:
                specs.append(piece.strip())
                piece = ""
            else:
                piece += sign
    return [spec for spec in specs if spec]


def _planned(paths: tuple[str, ...], options: dict[str, Any]) -> Experiment:
    from compactlab.reports.tune.tuner import METRICS, TABLES
    from compactlab.request.names import plan

    named = named_or_usual(paths, options["client"])
    shared = ("summarizer", "window", "seeds", "strict", "models_file", "controls")
    planned = plan(
        named,
        "keep_all",
        [options["model"]] if options["model"] else (),
        loop="closed",
        metrics=METRICS,
        tables=TABLES,
        redact=redactor() is not None,
        **{name: options[name] for name in shared},
    )
    if not planned.sources:
        raise UsageError(f"there is nothing to tune: {nothing_found(named, planned.skipped)}")
    return planned


def _workers(jobs: int | None) -> Any:
    from compactlab.sim.experiment.workers import Workers

    return Workers(jobs or os.cpu_count() or 1, "", partial(say, err=True))


def _watch(todo: Sequence[Shard]) -> Progress:
    """Show the progress of a round."""
    from compactlab.cli.progress import Progress

    return Progress(todo)


def _rehearse(
    planned: Experiment,
    strategies: Sequence[Strategy],
    search: Search,
    target: Target,
    options: dict[str, Any],
) -> None:
    """Print the runs of the first round under each window, and their time."""
    from compactlab.cli.dry_run import rehearse
    from compactlab.reports.tune.search import AT_ONCE
    from compactlab.reports.tune.survey import selections, survey
    from compactlab.reports.tune.tuner import Tuner
    from compactlab.sim.store.store import Store

    surveyed, _failures = survey(planned, search, options["window"], lambda number: None)
    for selection in selections(surveyed, search):
        folder = Path(options["out"]) / str(selection.window)
        tuner = Tuner(planned, strategies, selection, search, target, folder)
        jobs = options["jobs"] or os.cpu_count() or 1
        rehearse(tuner.first(), Store(folder), jobs, options["timeout"])
        more = 0 if search.named else search.points - AT_ONCE
        runs = more * len(strategies) * len(selection.chosen)
        if more:
            say(f"then up to {more} more settings of each strategy: {runs:,} runs at most\n")


def _finish(found: TuningResult, out: Path, form: str) -> None:
    """Print the report, write the page and the figures, and report unreadable sources."""
    from compactlab.reports.charts.palette import COLOURS
    from compactlab.reports.render import html, terminal
    from compactlab.reports.render.document import Document
    from compactlab.reports.render.write import write_json
    from compactlab.reports.tune.report import SCRIPTS, page, report

    # Redact the rendered values: the result holds arrays, which contain no text.
    document, drawn = (shown(Document(made(found).blocks)) for made in (report, page))
    figures = write_json(Document((), data=partial(shown, found.data())), indent=1)
    write_file(out / DATA, figures)
    write_file(out / PAGE, html.write(drawn, COLOURS, SCRIPTS).encode())
    if form == "json":
        print_json(figures)
    else:
        say(terminal.write(document), styled=True)
        say(f"\npage: {out / PAGE}\nfigures: {out / DATA}", err=True)
    for failure in found.failures:
        complain(failure)
    if found.failures:
        sys.exit(1)
