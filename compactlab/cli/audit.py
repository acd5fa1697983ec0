"""``compactlab audit``: what recorded sessions cost, why, and what the cache model predicts."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

import click

from compactlab.cli.disclosing import complain, print_json, say, shown, write_aside
from compactlab.cli.options import (
    Count,
    client_option,
    file_option,
    lenient_option,
    named_or_usual,
    nothing_found,
    own_models,
    redact,
)
from compactlab.reports.render.text import clean, enumerated
from compactlab.sim.core.errors import CompactlabError, InputError, UsageError

if TYPE_CHECKING:
    from compactlab.reports.audit.audit import Audited
    from compactlab.reports.audit.ledger import AuditedFile, Ledger
    from compactlab.reports.audit.sizes import Key
    from compactlab.sim.core.conversation import Conversation
    from compactlab.sim.experiment.sources import Source
    from compactlab.sim.models.model import Catalogue


class Auditor:
    """Reads and audits transcripts."""

    def __init__(self, catalogue: Catalogue, lenient: bool = False, since: float = 0.0) -> None:
        self._catalogue, self._lenient, self._since = catalogue, lenient, since
        self._counted: set[Key] = set()
        self._passed: Counter[str] = Counter()
        self._unknown: Counter[str] = Counter()
        self._failures: list[CompactlabError | str] = []
        self.misnamed = False

    def ledger(self, paths: Iterable[str]) -> Ledger:
        """Audit everything below some paths."""
        from compactlab.cli.progress import Bar
        from compactlab.reports.audit.ledger import Ledger

        paths = list(paths)
        sources = self._sources(paths)
        entries: list[AuditedFile] = []
        with Bar(len(sources)) as bar:
            for number, source in enumerate(sources, 1):
                entries += self._entries(source)
                bar.show(number, f"{sum(each.audited.recorded.calls for each in entries):,} calls")
        failures = [str(failure) for failure in self._failures]
        if not entries:
            reasons = ["there is nothing to audit", *self._reasons(), *failures]
            if not sources and not failures:
                reasons[0] += f": {nothing_found(paths, 0)}"
            raise UsageError("\n  ".join(reasons))
        return Ledger.of(entries, dict(self._passed), failures, dict(self._unknown))

    def _sources(self, paths: Iterable[str]) -> list[Source]:
        """What can be read of what was named."""
        from compactlab.scenarios.catalogue import sources

        good = []
        for path in paths:
            try:
                if not Path(path).exists():
                    raise InputError("there is no such file or folder", path)
                if not Path(path).is_dir():
                    sources([path])
                good.append(path)
            except (CompactlabError, OSError, ValueError) as fault:
                self._failures.append(fault if isinstance(fault, CompactlabError) else str(fault))
                self.misnamed = True
        inputs, skipped = sources(good, lenient=self._lenient)
        self._passed.update({"no_known_format": skipped} if skipped else {})
        return inputs

    def _entries(self, source: Source) -> list[AuditedFile]:
        """The audits of a file; what is wrong with it costs itself alone."""
        from compactlab.reports.audit.ledger import AuditedFile
        from compactlab.scenarios.readers.transcript import NoCallsError
        from compactlab.sim.core.blocks import forget_blocks
        from compactlab.sim.core.isolation import described
        from compactlab.sim.core.tokens import forget_counts

        entries = []
        try:
            for conversation in source.load():
                audited = self._audit(source.named(conversation))
                if audited is not None:
                    entries.append(AuditedFile(conversation.source, audited))
        except NoCallsError:
            self._passed["no_usage"] += 1
        except CompactlabError as fault:
            self._failures.append(fault)
        except Exception as error:
            self._failures.append(f"{source.name}: {described(error)}")
        finally:
            forget_blocks()
            forget_counts()
        return entries

    def _audit(self, conversation: Conversation) -> Audited | None:
        from compactlab.reports.audit.audit import audit

        if conversation.skipped:
            self._passed["unreadable_lines"] += conversation.skipped
        audited = audit(conversation, self._catalogue.find, self._counted, self._since)
        if audited is None:
            self._passed[self._why_not(conversation)] += 1
            return None
        self._counted.update(audited.keys)
        return audited.bare()

    def _why_not(self, conversation: Conversation) -> str:
        from compactlab.reports.audit.sizes import exchanges

        calls = list(exchanges(conversation))
        if not calls:
            return "no_usage"
        if all(each.key in self._counted for each in calls):
            return "counted_elsewhere"
        if all(each.time < self._since for each in calls):
            return "too_old"
        self._unknown.update(each.call.model for each in calls)
        return "unknown_model"

    def _reasons(self) -> list[str]:
        from compactlab.reports.audit.causes import passed_over

        reasons = passed_over(self._passed)
        if self._unknown:
            names = enumerated([clean(name) or "(not named)" for name in self._unknown], 5)
            reasons.append(f"write {names} into a file with prices and name it with --models")
        return reasons


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH...]")
@client_option
@click.option(
    "--since",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DATE",
    help="Count only calls from this day on (UTC), e.g. 2026-11-01.",
)
@own_models
@redact
@click.option("--json", "as_json", is_flag=True, help="Print all figures, of every call, as JSON.")
@file_option("--html", "Write an HTML page to FILE.")
@file_option(
    "--churn-out",
    "Write the measured churn to FILE, for --churn of other commands. Several clients: one file "
    "per client.",
)
@click.option(
    "--worst",
    type=Count(0),
    default=5,
    show_default=True,
    metavar="N",
    help="Show the N calls with the largest errors.",
)
@lenient_option
def audit(
    paths: tuple[str, ...],
    *,
    client: str | None,
    since: datetime | None,
    models_file: str | None,
    as_json: bool,
    html: str | None,
    churn_out: str | None,
    worst: int,
    lenient: bool,
) -> None:
    """Explain what recorded sessions cost and why, e.g. compactlab audit ~/.claude/projects.

    PATH is a transcript or a folder of transcripts: of Claude Code, pi, Codex, or any other format
    with recorded usage. Without PATH, the folders of the clients that are here are read
    (CLAUDE_CONFIG_DIR, CODEX_HOME, PI_CODING_AGENT_DIR, KIMI_CODE_HOME, HERMES_HOME, or the usual
    ones).

    The audit says what was spent, compares what the cache was expected to do with what it did,
    gives every cache-miss token a cause, and measures how often the client changed its prompt
    unasked (churn).
    """
    from compactlab.naming import known_models
    from compactlab.reports.audit.report import page, report
    from compactlab.reports.render import json, terminal

    for name in filter(None, (html, churn_out)):
        _check(Path(name))
    start = since.replace(tzinfo=UTC).timestamp() if since else 0.0
    auditor = Auditor(known_models(models_file), lenient, start)
    ledger = shown(auditor.ledger(named_or_usual(paths, client)))
    if as_json:
        print_json(json.write(report(ledger, worst), indent=1))
    else:
        say(terminal.write(report(ledger, worst)), styled=True)
    if html:
        from compactlab.reports.charts.drawing import COLOURS
        from compactlab.reports.render import html as pages

        write_aside(Path(html), pages.write(page(ledger, worst), COLOURS).encode())
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
    from compactlab.reports.charts.chart import safe
    from compactlab.sim.replay.client import write_churn

    alone = len(ledger.churns) == 1
    taken: set[str] = set()
    for client, churn in ledger.churns.items():
        called = safe(client) or "other"
        numbered = (f"{called}-{number}" for number in count(2))
        name = next(each for each in chain([called], numbered) if each not in taken)
        taken.add(name)
        named = path if alone else path.with_stem(f"{path.stem}-{name}")
        write_aside(named, write_churn(churn))
