"""``compactlab gate`` and ``compactlab baseline``: compare a store with agreed figures."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from compactlab.cli.options import file_option, redact
from compactlab.cli.output import note, print_json, say, shown, shown_results, write_file
from compactlab.reports.render.text import counted, listed
from compactlab.sim.core.errors import CompactlabError, InputError, UsageError

if TYPE_CHECKING:
    from compactlab.reports.gate.baseline import Baseline
    from compactlab.reports.gate.verdict import Verdict


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False))
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, allow_dash=True),
    default="baseline.json",
    show_default=True,
    metavar="FILE",
    help="Output file; - is standard output.",
)
@click.option(
    "--metrics",
    multiple=True,
    metavar="NAME",
    help="Keep this metric or family of metrics instead of the usual ones. Repeatable. See "
    "compactlab list metrics.",
)
@click.option("--allow-failed", is_flag=True, help="Record runs that failed as failed.")
@redact
def baseline(folder: str, out: str, metrics: tuple[str, ...], allow_failed: bool) -> None:
    """Write the figures of the store in DIR as a baseline.

    The baseline is JSON with one line per run, for compactlab gate. Keep it in git, and review its
    changes. An incomplete store is refused.
    """
    from compactlab.reports.gate.baseline import (
        Baseline,
        fit_to_keep,
        gated,
        written,
    )
    from compactlab.sim.metrics import METRICS, metrics_named
    from compactlab.sim.store.results import Results

    asked = metrics_named(metrics)
    results = shown_results(Results.load(Path(folder)))
    wanted = asked or gated(results)
    fit_to_keep(results, [name for name in metrics if name in METRICS], allow_failed=allow_failed)
    snapshot = Baseline.of(results, wanted)
    lacking = [name for name in wanted if name not in snapshot.metrics]
    if not snapshot.metrics:
        raise UsageError("no baseline was written: the store has none of these metrics")
    text = written(snapshot)
    if out == "-":
        print_json(text, nl=False)
    else:
        write_file(Path(out), text)
    summary = f"{counted(snapshot.size, 'run')} of {_contents(snapshot)}"
    if snapshot.failed:
        summary += f"; {len(snapshot.failed):,} of them recorded as failed"
    if snapshot.unreadable:
        summary += f"; {counted(len(snapshot.unreadable), 'source')} not readable"
    if lacking:
        summary += f"; the store has no figures of {', '.join(lacking)}"
    say(f"{'a baseline' if out == '-' else f'wrote {out}'}: {summary}", err=out == "-")


def _contents(snapshot: Baseline) -> str:
    """The contents of a baseline, in words."""
    subjects = snapshot.records
    several = {
        "strategy": len({subject.strategy for subject in subjects}),
        "model": len({subject.model for subject in subjects}),
        "summariser": len({subject.summarizer for subject in subjects}),
        "conversation": len(snapshot.digests),
        "metric": len(snapshot.metrics),
    }
    alone = ("model", "summariser")
    return listed(
        [
            counted(number, noun)
            for noun, number in several.items()
            if number > 1 or noun not in alone
        ]
    )


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False))
@click.option(
    "--baseline",
    type=click.Path(dir_okay=False),
    default="baseline.json",
    show_default=True,
    metavar="FILE",
    help="A file of compactlab baseline.",
)
@file_option(
    "--rules",
    "Rules in TOML, also an experiment with [rules]. Without it, those of [tool.compactlab] in "
    "pyproject.toml; without any, no figure may change. A file with examples: compactlab new gate.",
)
@file_option("--junit", "Write JUnit XML to FILE.")
@file_option("--markdown", "Write Markdown to FILE.")
@file_option("--json", "Write JSON to FILE.")
@click.option(
    "--github/--no-github",
    default=None,
    help="Write annotations and a step summary for GitHub Actions.  "
    "[default: if GITHUB_ACTIONS=true]",
)
@redact
def gate(
    folder: str, baseline: str, rules: str | None, github: bool | None, **files: str | None
) -> None:
    """Judge the store in DIR by a baseline, by rules or exactly.

    A strategy whose settings have changed is compared with its former self, and a note says so.

    Exit codes: 0 all rules hold, 1 a rule is broken, 2 a rule cannot be judged: there is no
    baseline, its provenance differs, runs are missing, or an interval includes the limit.
    """
    from compactlab.reports.gate.outputs import in_short
    from compactlab.reports.render import terminal

    named = {form: Path(file) for form, file in files.items() if file is not None}
    _check_apart(named, {"--baseline": baseline, "--rules": rules})
    annotate = github if github is not None else os.environ.get("GITHUB_ACTIONS") == "true"
    try:
        verdict = _judged(Path(folder), Path(baseline), Path(rules) if rules else None)
    except CompactlabError as error:
        # Overwrite the files of an earlier run, so that nobody takes them for this run's.
        from compactlab.reports.gate.verdict import Verdict

        try:
            _publish(shown(Verdict(obstacles=(str(error),))), named, github=annotate)
        except UsageError as other:
            raise UsageError(f"{error}; {other}") from None
        raise
    try:
        say(terminal.write(in_short(verdict)), styled=True)
    finally:  # also if standard output is closed
        _publish(verdict, named, github=annotate)
    sys.exit(verdict.code)


def _check_apart(files: dict[str, Path], read: dict[str, str | None]) -> None:
    """Check that no output overwrites an input or another output."""
    taken = {Path(name).absolute(): option for option, name in read.items() if name}
    for form, path in files.items():
        other = taken.setdefault(path.absolute(), f"--{form}")
        if other != f"--{form}":
            raise UsageError(f"--{form} would overwrite the file of {other}: {path}")


def _judged(folder: Path, baseline: Path, rules: Path | None) -> Verdict:
    from compactlab.cli.gate_rules import read_rules, rules_in
    from compactlab.reports.gate.baseline import read
    from compactlab.reports.gate.gate import gate as judge
    from compactlab.request.toml_file import PLACE, Project
    from compactlab.sim.store.results import Results

    demands = None if rules is None else read_rules(rules)
    if rules is None and (project := Project.here()).rules:
        demands = rules_in(project.rules, str(project.path), PLACE)
        note(project.line("rules"))
    results = shown_results(Results.load(folder))
    try:
        before, absence = shown(read(baseline)), ""
    except InputError as error:
        before, absence = None, str(error)
    return shown(judge(results, before, demands, absence))


def _publish(verdict: Verdict, files: dict[str, Path], *, github: bool) -> None:
    """Write the requested files, each completely or not at all.

    If one cannot be written, the others still are: no file of an earlier gate must remain as this
    one's.
    """
    from compactlab.reports.gate.outputs import junit, report
    from compactlab.reports.render.write import WRITERS

    todo = [partial(_annotate, verdict)] if github else []
    for form, path in files.items():
        full = junit(verdict) if form == "junit" else f"{WRITERS[form](report(verdict))}\n"
        todo.append(partial(write_file, path, full))
    wrong = []
    for write in todo:
        try:
            write()
        except (UsageError, OSError) as error:
            wrong.append(str(error))
    if wrong:
        raise UsageError("; ".join(wrong))


def _annotate(verdict: Verdict) -> None:
    """Annotate on GitHub: commands on standard output, and an entry in the job summary."""
    from compactlab.reports.gate.outputs import commands, report, summary
    from compactlab.reports.render import markdown

    for command in commands(verdict):
        click.echo(command)
    file = os.environ.get("GITHUB_STEP_SUMMARY")
    if file:
        try:
            with Path(file).open("ab") as end:
                end.write(f"{summary(markdown.write(report(verdict)))}\n".encode())
        except (OSError, ValueError) as error:
            raise UsageError(f"cannot write {file!r}: {error}") from None
