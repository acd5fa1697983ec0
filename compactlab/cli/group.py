"""The group of all commands."""

from __future__ import annotations

import click

from compactlab import __version__
from compactlab.cli.audit import audit
from compactlab.cli.calibrate import calibrate
from compactlab.cli.compare import compare
from compactlab.cli.disclosing import renaming_notes
from compactlab.cli.explain import explain
from compactlab.cli.fit import fit
from compactlab.cli.gate import baseline, gate
from compactlab.cli.inspect import inspect
from compactlab.cli.list import list_
from compactlab.cli.merge import merge
from compactlab.cli.new import new
from compactlab.cli.query import query
from compactlab.cli.report import report
from compactlab.cli.run import run
from compactlab.cli.schema import schema
from compactlab.cli.score import score


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="compactlab", message="%(prog)s %(version)s")
def cli() -> None:
    """Replay context-compaction strategies of LLM agents over conversations, and measure the cost,
    the prompt cache and the memory of each.

    Exit codes: 0 success, 1 something failed and is named, 2 wrong usage or input, 70 an error in
    compactlab itself, 130 interrupted, 141 output closed by the reader.
    """  # noqa: D205
    click.get_current_context().with_resource(renaming_notes())


for command in (
    run,
    report,
    compare,
    explain,
    baseline,
    gate,
    audit,
    score,
    inspect,
    fit,
    calibrate,
    list_,
    new,
    schema,
    merge,
    query,
):
    cli.add_command(command)
