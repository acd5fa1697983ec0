"""``compactlab run``: replay, measure, store, report."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from compactlab.cli import STOPPED
from compactlab.cli.options import nothing_found, redact, setting_option, setting_options
from compactlab.cli.output import (
    be_quiet,
    complain,
    note,
    print_json,
    redact_from_here,
    redactor,
    say,
)
from compactlab.reports.render.text import counted, enumerated
from compactlab.request.settings import FORMATS
from compactlab.sim.core.errors import UsageError

if TYPE_CHECKING:
    from compactlab.llm.asker import Asker, Mode
    from compactlab.request.toml_file import Project
    from compactlab.sim.experiment.shard import Shard
    from compactlab.sim.experiment.sweep import Experiment
    from compactlab.sim.store.results import Results
    from compactlab.sim.store.store import Store


_PAGE = "report.html"
# Suffixes of transcripts, which experiment files cannot have.
_TRANSCRIPTS = (".json", ".jsonl")


_EXAMPLES = """\b
Examples:
  compactlab run
  compactlab run --conversations ~/.claude/projects -o mine
  compactlab run --strategies claude_code --strategies 'sliding_window(keep=9)'
  compactlab run --conversations suite --model claude-sonnet-4-5 --model gpt-5
  compactlab new strategy my_idea
  compactlab run --strategies claude_code --strategies my_idea.py:MyIdea
  compactlab new experiment
  compactlab run experiment.toml --dry-run
"""


@click.command(epilog=_EXAMPLES)
@click.argument("experiment", required=False, type=click.Path())
@setting_options("conversations", "strategies", from_file=True)
@click.option(
    "--all", "every", is_flag=True, help="Replay all built-in strategies, most of which are rules."
)
@setting_options(
    *("models", "models_file", "churn", "window", "summarizer", "answers"), from_file=True
)
@setting_options("ask", "budget")
@setting_options(
    *("controls", "loop", "metrics", "distance", "seeds", "jobs", "out", "strict", "tables"),
    *("timeout", "fail_fast"),
    from_file=True,
)
@click.option(
    "--retry",
    is_flag=True,
    help="Run again the runs that failed and the sources that could not be read.",
)
@click.option(
    "--allow-code",
    is_flag=True,
    help="Let EXPERIMENT start code: strategies in files, and programs by exec. Read them first.",
)
@redact
@setting_option("dask", from_file=True)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Print the planned runs with an estimate of their time, and stop.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="Format of the output: the verdict, or as JSON all that compactlab report --format json "
    "prints.  [default: table]",
)
@click.option("-q", "--quiet", is_flag=True, help="Print only errors on standard error.")
@click.option("--open", "opened", is_flag=True, help="Open the page in a browser, if there is one.")
def run(
    experiment: str | None,
    *,
    form: str | None,
    quiet: bool,
    opened: bool,
    dry_run: bool,
    retry: bool,
    allow_code: bool,
    every: bool,
    ask: Mode,
    budget: float | None,
    **options: Any,
) -> None:
    """Replay strategies over conversations, and write a report.

    EXPERIMENT is a TOML file with the same settings as the options; options win over it. Existing
    results in the folder are not run again: a stopped run continues, and of an added strategy only
    its own runs are new. A table [tool.compactlab] in pyproject.toml may set window, models,
    built-in strategies and format; options and EXPERIMENT win over it.
    """
    from compactlab.cli.dry_run import rehearse
    from compactlab.cli.progress import Progress
    from compactlab.request.names import asker_of
    from compactlab.sim.experiment.workers import Workers
    from compactlab.sim.store.store import Store
    from compactlab.strategies.catalogue import ALL

    if quiet:
        be_quiet()
    _check_kind(experiment)
    if every:
        options["strategies"] = (ALL, *options["strategies"])
    settings, project = _settings(experiment, options, allow_code=allow_code)
    # A dry run sends no requests, so it needs no key.
    mode = "replay" if dry_run and ask == "record" else ask
    asker = asker_of(settings.answers, mode, budget, settings.models_file)
    planned = _planned(settings, asker)
    store = Store(settings.out)
    if store.exists:
        store.manifest()
    store.claim()
    if dry_run:
        rehearse(planned, store, settings.jobs, settings.timeout)
        return
    form = form or project.format or "table"
    with _stoppable(store), store.locked():
        if asker and asker.mode == "record":
            planned = _asked(planned, asker, settings)
        todo = _missing(planned, store, settings, retry=retry)
        if todo is None:
            sys.exit(_nothing(store, planned, form, opened=opened))
        before, held = store.manifest() if store.exists else None, set(store.shards())
        workers = Workers(min(settings.jobs, max(1, len(todo))), settings.dask or "", note)
        with Progress(todo) as progress:
            planned.run_into(store, workers, progress, todo=todo, fail_fast=settings.fail_fast)
        _finish(_readable(store, before, held), store, form, opened=opened)


def _settings(
    experiment: str | None, options: dict[str, Any], *, allow_code: bool
) -> tuple[Any, Project]:
    """The settings of a file, overridden by options, and the project below both."""
    from compactlab.request.file import ExperimentSettings
    from compactlab.request.toml_file import Project

    given = {name: value for name, value in options.items() if value not in (None, ())}
    file = Path(experiment) if experiment else None
    project = Project.here()
    settings = ExperimentSettings.load(file, given, allow_code=allow_code, project=project)
    if settings.redact:
        redact_from_here()
    if used := [*settings.of_project, *["format"] * bool(project.format)]:
        note(project.line(*used))
    return settings, project


def _asked(planned: Experiment, asker: Asker, settings: Any) -> Experiment:
    """Request missing answers from language models, and print their cost."""
    from compactlab.cli.progress import Progress, accounted
    from compactlab.sim.experiment.workers import Workers

    with accounted(asker), Progress(planned.asking) as progress:
        workers = Workers(settings.jobs, settings.dask or "", note)
        return planned.recorded(workers, progress)


def _planned(settings: Any, asker: Asker | None) -> Experiment:
    """The requested experiment; raises an error if there is nothing to replay."""
    from compactlab.request.names import plan

    asked = {name: getattr(settings, name) for name in type(settings).model_fields}
    asked |= {"redact": redactor() is not None}
    planned = plan(asker=asker, bounds=True, **asked)
    if not planned.sources:
        paths = [each if isinstance(each, str) else each.name for each in settings.conversations]
        reason = nothing_found(paths, planned.skipped)
        raise UsageError(f"there is nothing to replay: {reason}")
    return planned


def _check_models(planned: Experiment, timeout: float | None) -> None:
    """Refuse recordings that do not say which model they used, before all their runs fail."""
    if files := planned.without_model(timeout):
        raise UsageError(
            f"{enumerated(files, 3)}: nothing says which model was used; name one: --model"
        )


def _check_kind(experiment: str | None) -> None:
    """Refuse transcripts given as experiment files."""
    if experiment is None:
        return
    kind = "folder" if Path(experiment).is_dir() else "transcript"
    if kind == "folder" or Path(experiment).suffix in _TRANSCRIPTS:
        raise UsageError(
            f"{experiment} is not an experiment file; a {kind} is replayed by "
            f"compactlab run --conversations {experiment}"
        )


@contextmanager
def _stoppable(store: Store) -> Iterator[None]:
    """Stop with a message on Ctrl-C and on the system's termination signals."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        say(
            f"stopped; finished runs are in {store.folder}: run the command again to continue",
            err=True,
        )
        sys.exit(STOPPED)
    finally:
        signal.signal(signal.SIGTERM, before)


def _missing(
    planned: Experiment, store: Store, settings: Any, *, retry: bool
) -> list[Shard] | None:
    """The shards to run; None if the results and their page are there.

    Raises an error if all runs would fail.
    """
    from compactlab.cli.dry_run import standing
    from compactlab.sim.store.store import FAILED

    if retry:
        store.drop(set(store.cells(FAILED).values()))
    todo = planned.missing(store, settings.timeout)
    cells = sum(len(shard.cells) for shard in todo)
    every = len(planned.sources) * len(planned.conditions)
    if not todo and planned.is_described_by(store) and (store.folder / _PAGE).exists():
        return None
    for line in standing(every - cells, every, planned.others(store)):
        note(line)
    if todo:
        _check_models(planned, settings.timeout)
    return todo


def _nothing(store: Store, planned: Experiment, form: str, *, opened: bool) -> int:
    """Print that all results exist; return the exit code of the run that made them."""
    from compactlab.sim.store.results import Results, read_runs
    from compactlab.sim.store.store import FAILED

    cells = len(planned.sources) * len(planned.conditions)
    runs = read_runs(store, {**store.manifest(), "metrics": []})
    failed = sum(run.status in FAILED for run in runs)
    there = "is there" if cells == 1 else "are there"
    show = say if form == "table" else note
    show(f"nothing to run: {counted(cells, 'cell')} {there}")
    show(f"compactlab report {store.folder} shows them; report: {store.folder / _PAGE}")
    if form != "table":
        _print(Results.load(store.folder), form)
    if failed:
        say(f"{counted(failed, 'run')} had failed; --retry runs them again", err=True)
    if opened:
        _open(store.folder / _PAGE)
    return 1 if failed else 0


def _readable(store: Store, before: dict[str, Any] | None, held: set[str]) -> Results:
    """The results; print unreadable sources; if all are, restore the store and exit with 2."""
    from compactlab.sim.store.results import Results

    results = Results.load(store.folder)
    unreadable = [run for run in results.runs if run.status == "unreadable"]
    for bad in unreadable:
        complain(bad.error)
    if not unreadable or len(unreadable) < len(results.runs):
        return results
    if before is None:
        store.clear()
    else:
        store.drop(set(store.shards()) - held)
        store.describe(before)
    sys.exit(2)


def _print(results: Results, form: str) -> None:
    """Print the verdict; as JSON, all that ``compactlab report`` gives."""
    from compactlab.reports.page import brief
    from compactlab.reports.page.page import as_json

    if form == "json":
        print_json(as_json(results))
    else:
        write = brief.brief_markdown if form == "md" else brief.brief
        say(write(results), styled=True)


def _open(page: Path) -> None:
    """Open a page in a browser with its own window; without one, print its path."""
    import webbrowser

    with suppress(Exception):  # of a browser; the run has succeeded
        browser = webbrowser.get()
        # The others take over the terminal.
        if type(browser) is not webbrowser.GenericBrowser and browser.open(page.resolve().as_uri()):
            return
    note(f"no browser was opened; the page is {page}")


def _finish(results: Results, store: Store, form: str, *, opened: bool) -> None:
    """Print the report; exit with 1 if something failed."""
    from compactlab.reports.page.page import write
    from compactlab.reports.page.table import troubles

    page = store.folder / _PAGE
    write(results, page)
    _print(results, form)
    show = say if form == "table" else note
    if form == "table" and (text := troubles(results)):
        say(f"\n{text}", styled=True)
    show(f"\nall strategies: compactlab report {store.folder}\nreport: {page}")
    if opened:
        _open(page)
    failed = results.failed
    if failed:
        beside = sum(run.status != "ok" for run in results.bounds)
        more = f" (and {beside} of bounds)" if beside else ""
        say(
            f"{len(failed)} of {len(results.runs)} runs failed{more}; they are named above",
            err=True,
        )
    if results.missing:
        say(f"{counted(results.missing, 'cell')} of the experiment have not been run", err=True)
    if failed or results.missing:
        sys.exit(1)
