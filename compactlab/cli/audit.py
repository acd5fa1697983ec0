"""``compactlab audit``: what recorded sessions cost, why, and what we would have predicted."""

from __future__ import annotations

import os
import sys
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

import click

from compactlab.cli.disclosing import complain, say, shown
from compactlab.cli.options import Count, own_models, redact
from compactlab.cli.writing import write_aside
from compactlab.sim.errors import UsageError

if TYPE_CHECKING:
    from compactlab.reports.audit.ledger import Ledger


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@own_models
@redact
@click.option("--json", "as_json", is_flag=True, help="All figures, of every call, as JSON.")
@click.option("--html", type=click.Path(dir_okay=False), metavar="FILE", help="Write a page.")
@click.option(
    "--churn-out",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write how much the client churns, for --churn; of several clients, a file each.",
)
@click.option(
    "--worst",
    type=Count(0),
    default=5,
    show_default=True,
    metavar="N",
    help="How many of the calls that are furthest off are told.",
)
@click.option("--lenient", is_flag=True, help="Pass over lines that cannot be read.")
def audit(
    paths: tuple[str, ...],
    *,
    models_file: str | None,
    as_json: bool,
    html: str | None,
    churn_out: str | None,
    worst: int,
    lenient: bool,
) -> None:
    """Say why recorded sessions cost what they did, e.g. compactlab audit ~/.claude/projects.

    PATH is a transcript or a folder of them: of Claude Code, pi, Codex, or whatever else has
    recorded usage. What the cache was expected to do is held against what it did; every token
    that was not read from it gets a cause; and what the client changed unasked is measured.
    """
    from compactlab.cli.auditor import Auditor
    from compactlab.naming import known_models
    from compactlab.reports.audit.machine import audit_machine
    from compactlab.reports.audit.table import audit_table

    for name in filter(None, (html, churn_out)):
        _check(Path(name))
    auditor = Auditor(known_models(models_file), lenient)
    ledger = shown(auditor.ledger(paths))
    if as_json:
        click.echo(audit_machine(ledger, worst))
    else:
        say(audit_table(ledger, worst), styled=True)
    if html:
        from compactlab.reports.audit.page import audit_page

        write_aside(Path(html), audit_page(ledger, worst).encode())
    if churn_out:
        _write_churn(ledger, Path(churn_out))
    for failure in ledger.failures:
        complain(failure)
    if ledger.failures:
        sys.exit(2 if auditor.misnamed else 1)


def _check(path: Path) -> None:
    """Fail before the work and not after it, if a file cannot be written."""
    if not path.parent.is_dir():
        raise UsageError(f"cannot write {str(path)!r}: there is no such folder")
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"cannot write {str(path)!r}: the folder is not writable")


def _write_churn(ledger: Ledger, path: Path) -> None:
    """A file holds one client; of several, each gets a file with its name, as files may have it."""
    from compactlab.reports.charts.stem import safe
    from compactlab.sim.churn import write_churn

    alone = len(ledger.churns) == 1
    taken: set[str] = set()
    for client, churn in ledger.churns.items():
        called = safe(client) or "other"
        numbered = (f"{called}-{number}" for number in count(2))
        name = next(each for each in chain([called], numbered) if each not in taken)
        taken.add(name)
        named = path if alone else path.with_stem(f"{path.stem}-{name}")
        write_aside(named, write_churn(churn))
